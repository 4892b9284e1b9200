"""Files of a recording: the tables, the log of the brokers, and what the clients said."""

from __future__ import annotations

import getpass
import gzip
import json
import re
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assignor.cluster import Recording
from assignor.cluster.records import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.broker.applications.driver import Driver

ROOT = Path(__file__).resolve().parents[3]

_GROUPS = re.compile(
    r"\[GroupCoordinator |\[GroupMetadataManager|GroupMetadataManager\)|GroupCoordinatorS|OffsetMetadataManager\)"
    r"|CoordinatorRuntime\)"
)
_END_OFFSET_MS = 15_000
"""Time between two sets of end offsets that are kept."""


def write_recording(recorded: Path, topics: Iterable[pa.RecordBatch], logs: Iterable[Path], folder: Path) -> None:
    """Write the tables and the log of the brokers.

    Args:
        recorded: Recording that `assignor record` wrote.
        topics: Further snapshots of the topics.
        logs: Log of each broker, from broker 1 on.
        folder: Folder for the files.

    Raises:
        ValueError: A file that was written has a name of this machine.
    """
    folder.mkdir(parents=True, exist_ok=True)
    recording = Recording.open(recorded)
    records = pq.read_table(recorded / "records.parquet").select(SCHEMA.names)
    records = records.sort_by([("partition", "ascending"), ("offset", "ascending")])
    snapshots = pa.concat_tables([recording.topics(), *(pa.Table.from_batches([each]) for each in topics)])
    snapshots = snapshots.sort_by([("t", "ascending"), ("topic", "ascending"), ("partition", "ascending")])
    log = "".join(_log_lines(logs))
    _write(records, folder / "records.parquet")
    _write(snapshots, folder / "topics.parquet")
    _write(_thinned(pq.read_table(recorded / "end_offsets.parquet")), folder / "end_offsets.parquet")
    aborted = json.dumps([list(each) for each in recording.aborted])
    (folder / "aborted.json").write_text(f"{aborted}\n", encoding="utf-8")
    (folder / "coordinator.log.gz").write_bytes(gzip.compress(log.encode(), mtime=0))
    _check_neutral(log.encode(), records, snapshots)


def write_expected(driver: Driver, folder: Path) -> None:
    """Write what was done, and what the clients said they own."""
    folder.mkdir(parents=True, exist_ok=True)
    text = ",\n".join(json.dumps(each) for each in driver.actions)
    settled = ",\n".join(json.dumps(each) for each in driver.settled)
    content = f'{{"actions": [\n{text}\n],\n"settled": [\n{settled}\n]}}\n'
    (folder / "expected.json").write_text(content, encoding="utf-8")
    _check_neutral(content.encode())


def _write(table: pa.Table, path: Path) -> None:
    pq.write_table(table.replace_schema_metadata(), path, compression="zstd", compression_level=9)


def _thinned(ends: pa.Table) -> pa.Table:
    """Return the end offsets of the first time in each span, and of the last time."""
    times = sorted(set(ends["at"].to_pylist()))
    kept: list[Any] = []
    for time in times:
        if not kept or time - kept[-1] >= _END_OFFSET_MS or time == times[-1]:
            kept.append(time)
    return ends.filter(pc.is_in(ends["at"], pa.array(kept, ends.schema.field("at").type)))


def _log_lines(logs: Iterable[Path]) -> list[str]:
    """Return the lines about groups of all brokers, in the order of time."""
    lines = [
        (line[:25], broker, line)
        for broker, path in enumerate(logs, 1)
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        if line.startswith("[2") and _GROUPS.search(line)
    ]
    return [f"broker={broker} {line}\n" for _, broker, line in sorted(lines, key=lambda each: each[:2])]


def _check_neutral(text: bytes, *tables: pa.Table) -> None:
    """Check that nothing names this machine, its user or its files."""
    values = [value for table in tables for row in table.to_pylist() for value in row.values()]
    found = b"\n".join(
        [
            text,
            *(
                value.encode() if isinstance(value, str) else value
                for value in values
                if isinstance(value, str | bytes)
            ),
        ]
    )
    paths = {str(Path.home()), str(ROOT), tempfile.gettempdir()} - {"/"}
    words = {re.escape(path.encode()) for path in paths}
    # Short names also occur in ids, so they are looked for as words.
    words |= {
        rb"(?<![\w-])%b(?![\w-])" % re.escape(name.encode()) for name in (socket.gethostname(), getpass.getuser())
    }
    for word in sorted(words):
        if match := re.search(word, found):
            raise ValueError(f"the files name this machine: {found[max(0, match.start() - 40) : match.end() + 40]!r}")
