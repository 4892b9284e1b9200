"""Command `assignor decode`: records of `__consumer_offsets` as JSON, one object per record and line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignor.cli.inputs import STDIN, decode_base64, parse_json, place_of, read_text
from assignor.cli.selection import add_groups
from assignor.cli.sources import PATHS_HELP, opened
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.terminal import notice, print_json
from assignor.validation import read_int

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    import pyarrow as pa

    from assignor.sources.dump_text import Dump

_PLACE = {"partition": 32, "offset": 64, "timestamp": 64}
"""Optional fields of a line, and their numbers of bits."""

_TEXTS = ("key", "value", "consumer_protocol")
_BATCH_LINES = 10_000
_INPUT = (
    "the folder of a recording, data directories and log segments of brokers, text of kafka-dump-log.sh "
    "--offsets-decoder, or lines of JSON with the keys "
    '"key" and "value" in base64'
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Decode records of the topic __consumer_offsets and print one JSON object per record and line, with type, "
        "type_name, group_id, version, status, key, value, consumer_protocol and error. key and value have the form "
        "of Kafka's own JSON."
    )
    command.add_argument(
        "inputs",
        nargs="+",
        metavar="INPUT",
        help='file with a JSON object per line, {"key": BASE64, "value": BASE64 or null}, and optionally partition, '
        "offset and timestamp; text of kafka-dump-log.sh --offsets-decoder; - for either on standard input; or the "
        f"{PATHS_HELP}",
    )
    add_groups(command)


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    with dependency("pyarrow"):
        import pyarrow as pa
    from assignor.cluster.name_patterns import NamePatterns
    from assignor.offsets import decode_batch

    chosen = NamePatterns(options.group) if options.group else None
    seen: set[str | None] = set()
    for batch in _batches(options.inputs):
        decoded = pa.record_batch(decode_batch(batch["key"], batch["value"]))
        places = [
            {name: row[name] for name in _PLACE if name in row}
            for row in batch.drop_columns(["key", "value"]).to_pylist()
        ]
        for place, row in zip(places, decoded.to_pylist(), strict=True):
            seen.add(row["group_id"])
            if chosen is None or chosen.matches(row["group_id"]):
                print_json(_record_object(place, row))
    if chosen is not None:
        for pattern in chosen.unmatched(filter(None, seen)):
            notice(f"no record is of group {pattern!r}")
    return 0


def _record_object(place: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON object of a record. Null fields are left out, except the value of a tombstone."""
    row = {**place, **row}
    is_tombstone = row.pop("tombstone")
    for name in _TEXTS:
        text = row.pop(f"{name}_json")
        row[name] = None if text is None else json.loads(text)
    return {name: value for name, value in row.items() if value is not None or (name == "value" and is_tombstone)}


def _batches(paths: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the records of files with lines, or of a recording."""
    if not any(map(_is_source, paths)):
        for path in paths:
            yield from _of_lines(path)
        return
    from assignor.cluster.records import in_log_order

    with opened(paths) as recording:
        for note in recording.notes:
            notice(f"{note}.")
        yield from in_log_order(recording)


def _is_source(path: str) -> bool:
    """Return True for a folder, a log segment, and a file whose first bytes say that it has no lines of JSON."""
    from assignor.sources.dump_text import is_dump_file
    from assignor.sources.file_kinds import EMPTY, TEXT, UNKNOWN, kind_of
    from assignor.sources.segment_names import belongs_to_segment

    if path == STDIN or is_dump_file(Path(path)):
        return False
    try:
        return (
            Path(path).is_dir()
            or belongs_to_segment(Path(path).name)
            or kind_of(Path(path)) not in (EMPTY, TEXT, UNKNOWN)
        )
    except (OSError, ValueError):
        return False  # the reader of lines reports it


def _of_lines(path: str) -> Iterator[pa.RecordBatch]:
    """Yield the records of a file with lines of JSON or with text of kafka-dump-log.sh."""
    with dependency("pyarrow"):
        import pyarrow as pa

    from assignor.cluster.records import SCHEMA
    from assignor.sources.dump_text import FIRST_BYTES, Dump, is_dump, is_dump_file, read_dump

    if path != STDIN and is_dump_file(Path(path)):
        yield from _of_dump(read_dump(path))
        return
    place, text = place_of(path), read_text(path)
    if path == STDIN and is_dump(text[:FIRST_BYTES].encode(errors="replace")):
        yield from _of_dump(Dump(text.split("\n"), place))
        return
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    for start in range(0, len(lines), _BATCH_LINES):
        rows = [_record(line, f"{place}, line {number}") for number, line in lines[start : start + _BATCH_LINES]]
        yield pa.RecordBatch.from_pylist(rows, SCHEMA)


def _of_dump(dump: Dump) -> Iterator[pa.RecordBatch]:
    yield from dump
    for note in dump.notes:
        notice(f"{note}.")


def _record(line: str, place: str) -> dict[str, Any]:
    try:
        found = parse_json(line, place, of="a record", is_line=True)
    except IllegalArgumentError as error:
        raise IllegalArgumentError(f"{error}; the command takes {_INPUT}") from error
    if not isinstance(found, dict) or not {"key", "value"} <= set(found):
        raise IllegalArgumentError(f'{place} must be an object with the keys "key" and "value" in base64')
    for name, bits in _PLACE.items():
        if found.get(name) is not None:
            read_int(found[name], f"{place}: {name}", bits=bits)
    bytes_of = {name: decode_base64(found[name], f"{place}: {name}") for name in ("key", "value")}
    return {**{name: found[name] for name in _PLACE if name in found}, **bytes_of}
