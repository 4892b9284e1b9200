"""Segments of a log as bytes: record batches of version 2, uncompressed."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ABORT, COMMIT = 0, 1
"""Types of the control records that end a transaction."""

_TRANSACTIONAL, _CONTROL = 0x10, 0x20


class Entry(NamedTuple):
    """Record of a batch; its offset is that of the batch plus `delta`."""

    key: bytes | None
    value: bytes | None = None
    timestamp: int = 1_000
    delta: int = 0


def batch(
    offset: int,
    *entries: Entry,
    epoch: int = 0,
    producer: int = -1,
    is_transactional: bool = False,
    attributes: int = 0,
) -> bytes:
    """Return a batch that begins at an offset; entries without `delta` follow each other."""
    first = entries[0].timestamp if entries else -1
    deltas = [entry.delta or number for number, entry in enumerate(entries)]
    records = b"".join(_record(entry, delta, first) for entry, delta in zip(entries, deltas, strict=True))
    flags = attributes | (_TRANSACTIONAL if is_transactional else 0)
    latest = max((entry.timestamp for entry in entries), default=-1)
    checked = struct.pack(
        ">hiqqqhii",
        flags,
        max(deltas, default=0),
        first,
        latest,
        producer,
        0 if producer >= 0 else -1,
        -1,
        len(entries),
    )
    checked += records
    return struct.pack(">qiibI", offset, len(checked) + 9, epoch, 2, crc32c(checked)) + checked


def marker(offset: int, producer: int, kind: int, *, epoch: int = 0) -> bytes:
    """Return the batch with the marker that ends a transaction."""
    entry = Entry(struct.pack(">hh", 0, kind), struct.pack(">hi", 0, 0))
    return batch(offset, entry, epoch=epoch, producer=producer, is_transactional=True, attributes=_CONTROL)


def write_segment(folder: Path, base: int, *batches: bytes, ending: str = "log") -> Path:
    """Write a segment, and create its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{base:020}.{ending}"
    path.write_bytes(b"".join(batches))
    return path


def meta_properties(cluster: str, broker: int, *, version: int = 1, line_end: str = "\n") -> str:
    """Return the text of `meta.properties`."""
    lines = ["#", "#Tue Jan 02 03:04:05 UTC 2024", f"version={version}", f"cluster.id={cluster}"]
    return line_end.join([*lines, f"{'node' if version else 'broker'}.id={broker}", ""])


def crc32c(data: bytes) -> int:
    """Return the CRC-32C of bytes."""
    found = 0xFFFFFFFF
    for byte in data:
        found = _TABLE[(found ^ byte) & 0xFF] ^ (found >> 8)
    return found ^ 0xFFFFFFFF


def _record(entry: Entry, delta: int, first: int) -> bytes:
    fields: Sequence[bytes] = (
        *(b"\0", _varint(entry.timestamp - first), _varint(delta)),
        *(_varint(-1) if part is None else _varint(len(part)) + part for part in (entry.key, entry.value)),
        _varint(0),
    )
    body = b"".join(fields)
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    left = (number << 1) ^ (number >> 63)
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes(found) + bytes([left])


def _table_entry(number: int) -> int:
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    return number


_TABLE = [_table_entry(number) for number in range(256)]
