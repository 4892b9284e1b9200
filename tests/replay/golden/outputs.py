"""Outputs of the commands on a recording, as bytes: what they print, and the Parquet tables of a report as text.

A table is its schema, a line per column, and a line of JSON per row. The decoded records of a large recording are only
a digest per column and group.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from assignor.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPECTED = Path(__file__).parent / "expected"
"""Folder with a folder of stored outputs per recording."""

COMMANDS = {
    "report_json": "report --json --out out",
    "report_text": "report --out out",
    "replay_json": "replay --json",
    "replay_text": "replay",
}
"""Options of the commands by the names of their outputs. The second report replaces the tables of the first."""

MOST_BYTES = 10_000_000
"""Highest number of bytes of the column `value_json` of records that are stored as rows."""


def outputs(recording: Path, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of each output on a recording.

    Args:
        recording: The recording.
        folder: Existing folder in which the commands run, so that they print no absolute path.
    """
    for name, words in COMMANDS.items():
        with contextlib.chdir(folder):
            yield name, printed([*words.split(), "--engine", "local", str(recording)])
    yield "file_report_json", (folder / "out" / "report.json").read_bytes()
    for table in sorted(path for path in (folder / "out").iterdir() if path.is_dir()):
        yield f"table_{table.name}", table_text(pq.read_table(table)).encode()


def printed(words: list[str]) -> bytes:
    """Run a command in this process and return the bytes that it prints on standard output."""
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        found = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
        with contextlib.redirect_stdout(found):
            code = main(words)
    assert code == 0, f"assignor {' '.join(words)} ended with {code}: {errors.getvalue()}"
    found.flush()
    assert isinstance(found.buffer, io.BytesIO)
    return found.buffer.getvalue()


def table_text(table: pa.Table) -> str:
    """Return a table as text."""
    schema = [f"{field.name}: {field.type}{'' if field.nullable else ' not null'}" for field in table.schema]
    is_large = "value_json" in table.schema.names and table["value_json"].nbytes > MOST_BYTES
    rows = digests(table) if is_large else table.to_pylist()
    if "event" in table.schema.names:  # only the events of one group have an order
        rows = sorted(rows, key=lambda row: row["group"])
    return "".join(f"{line}\n" for line in (*schema, "", *(json.dumps(row, default=bytes.hex) for row in rows)))


def digests(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield a row for each group and column of a table, with the SHA-256 of the values in the order of the rows."""
    groups = table["group_id"].to_pylist()
    for name in table.column_names:
        found: dict[str | None, Any] = {}
        for group, value in zip(groups, table[name].to_pylist(), strict=True):
            found.setdefault(group, hashlib.sha256()).update(repr(value).encode() + b"\n")
        for group, digest in found.items():
            yield {"column": name, "group": group, "rows": groups.count(group), "sha256": digest.hexdigest()}


def expected(recording: str, name: str) -> bytes:
    """Return a stored output; empty if it is not stored."""
    path = EXPECTED / recording / f"{name}.gz"
    return gzip.decompress(path.read_bytes()) if path.exists() else b""


def write_expected(recording: str, found: dict[str, bytes]) -> None:
    """Store the outputs on a recording in place of earlier ones."""
    folder = EXPECTED / recording
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, content in found.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))


def first_difference(before: bytes, after: bytes) -> str | None:
    """Return the first lines that differ, from a few characters before the difference; None if the bytes are equal."""
    lines = zip_longest(before.splitlines(keepends=True), after.splitlines(keepends=True), fillvalue=b"")
    for number, (old, new) in enumerate(lines, 1):
        if old != new:
            pairs = enumerate(zip(old, new, strict=False))
            place = next((place for place, (one, other) in pairs if one != other), min(len(old), len(new)))
            start = max(place - 60, 0)
            shown = (line[start : start + 200].decode(errors="replace") for line in (old, new))
            return "line {}, byte {}: {!r} was stored, {!r} was found".format(number, start, *shown)
    return None
