"""Bytes of `__cluster_metadata`: records of the current versions, and segments and snapshots of them."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tests.support.segment_bytes import CONTROL, batch, record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

NO_TAGS = b"\0"


def uvarint(number: int) -> bytes:
    """Return an unsigned varint."""
    found = bytearray()
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def text(content: str | None) -> bytes:
    """Return a compact string."""
    data = None if content is None else content.encode()
    return uvarint(0) if data is None else uvarint(len(data) + 1) + data


def ids(brokers: Sequence[int]) -> bytes:
    """Return a compact array of int32."""
    return uvarint(len(brokers) + 1) + b"".join(struct.pack(">i", broker) for broker in brokers)


def _value(kind: int, version: int, body: bytes) -> bytes:
    return bytes([1, kind, version]) + body


def topic_id(number: int) -> bytes:
    """Return the id of a topic."""
    return number.to_bytes(16, "big")


def topic(number: int, name: str) -> bytes:
    """Return a TopicRecord."""
    return _value(2, 0, text(name) + topic_id(number) + NO_TAGS)


def topic_removed(number: int) -> bytes:
    """Return a RemoveTopicRecord."""
    return _value(9, 0, topic_id(number) + NO_TAGS)


def partition(number: int, id: int, replicas: Sequence[int], leader: int | None = None) -> bytes:
    """Return a PartitionRecord; the leader is the first replica unless it is given."""
    leader = replicas[0] if leader is None else leader
    places = struct.pack(">i", id) + topic_id(number)
    return _value(3, 0, places + ids(replicas) * 2 + ids([]) * 2 + struct.pack(">iii", leader, 0, 0) + NO_TAGS)


def partition_changed(
    number: int,
    id: int,
    *,
    leader: int | None = None,
    replicas: Sequence[int] | None = None,
    isr: Sequence[int] | None = None,
) -> bytes:
    """Return a PartitionChangeRecord."""
    tags = {
        0: None if isr is None else ids(isr),
        1: None if leader is None else struct.pack(">i", leader),
        2: None if replicas is None else ids(replicas),
    }
    known = [(tag, data) for tag, data in tags.items() if data is not None]
    section = uvarint(len(known)) + b"".join(uvarint(tag) + uvarint(len(data)) + data for tag, data in known)
    return _value(5, 0, struct.pack(">i", id) + topic_id(number) + section)


def broker(id: int, rack: str | None, *, is_fenced: bool = False, epoch: int = 1) -> bytes:
    """Return a RegisterBrokerRecord without endpoints and features."""
    places = struct.pack(">i", id) + bytes(16) + struct.pack(">q", epoch) + b"\1\1"
    return _value(0, 0, places + text(rack) + bytes([is_fenced]) + NO_TAGS)


def fencing(id: int, *, is_fenced: bool, epoch: int = 1) -> bytes:
    """Return a BrokerRegistrationChangeRecord."""
    change = b"\1\0\1" + (b"\1" if is_fenced else b"\xff")
    return _value(17, 0, struct.pack(">iq", id, epoch) + change)


def broker_removed(id: int, epoch: int = 1) -> bytes:
    """Return an UnregisterBrokerRecord."""
    return _value(1, 0, struct.pack(">iq", id, epoch) + NO_TAGS)


BEGIN, END, ABORT = (_value(kind, 0, NO_TAGS) for kind in (23, 24, 25))
"""Records of a transaction."""


def segment(values: Iterable[tuple[int, bytes]], *, base: int = 0) -> bytes:
    """Return a segment with a batch for each value, given with its time in milliseconds."""
    return b"".join(batch(base + place, record(0, None, value), 1, at=at) for place, (at, value) in enumerate(values))


def snapshot(values: Sequence[bytes], *, at: int) -> bytes:
    """Return a snapshot of the state at a time."""
    header = record(0, struct.pack(">hh", 0, 3), struct.pack(">hq", 0, at) + NO_TAGS)
    footer = record(0, struct.pack(">hh", 0, 4), struct.pack(">h", 0) + NO_TAGS)
    content = b"".join(record(place, None, value) for place, value in enumerate(values))
    end = 1 + len(values)
    return (
        batch(0, header, 1, attributes=CONTROL)
        + batch(1, content, len(values))
        + batch(end, footer, 1, attributes=CONTROL)
    )


def write(folder: Path, *, base: int = 0, values: Iterable[tuple[int, bytes]]) -> Path:
    """Write a segment to the folder of a log, and return the folder."""
    folder.mkdir(exist_ok=True)
    (folder / f"{base:020}.log").write_bytes(segment(values, base=base))
    return folder
