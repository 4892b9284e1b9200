"""Decoder and encoder of the records that group coordinators write to `__consumer_offsets`."""

from __future__ import annotations

from typing import Any, NamedTuple

from assignor.errors import WireError
from assignor.reference.bytes import Reader
from assignor.reference.offsets.decode import read_struct
from assignor.reference.offsets.encode import encode_record
from assignor.reference.offsets.protocol import consumer_protocol
from assignor.reference.offsets.schema import TYPES, RecordLayout

__all__ = ["Record", "coordinator_partition", "decode_record", "encode_record"]


class Record(NamedTuple):
    """Decoded record; `value` is None for a tombstone. Key and value are empty if `status` is unknown_type."""

    type: int
    name: str | None
    status: str
    key: dict[str, Any]
    version: int | None
    value: dict[str, Any] | None
    consumer_protocol: list[dict[str, Any]] | None


def decode_record(key: bytes | None, value: bytes | None) -> Record:
    """Decode a record; an unknown type is not an error."""
    if key is None:
        raise WireError("null is not allowed", 0, "key")
    reader = Reader(key)
    number = reader.integer("h", "key.type")
    record_type = TYPES.get(number)
    if record_type is None or record_type.layout is None:
        name = None if record_type is None else record_type.name
        return Record(number, name, "unknown_type", {}, None, None, None)
    fields = read_struct(reader, record_type.layout.key, 0, "key")
    if value is None:
        return Record(number, record_type.name, "decoded", fields, None, None, None)
    version, content = decode_value(record_type.layout, value)
    return Record(number, record_type.name, "decoded", fields, version, content, consumer_protocol(number, content))


def decode_value(layout: RecordLayout, value: bytes) -> tuple[int, dict[str, Any]]:
    """Return the version and the fields of a value."""
    version = Reader(value).integer("h", "value.version")
    if version < 0:
        raise WireError(f"version {version} is negative", 0, "value.version")
    if version > layout.newest:
        reason = f"unknown version {version} (the newest known version is {layout.newest})"
        raise WireError(reason, 0, "value.version")
    reader = Reader(value, compact=version >= layout.flexible)
    reader.position = 2
    return version, read_struct(reader, layout.value, version, "value")


def coordinator_partition(group: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets` for a group: abs(String.hashCode) modulo the number of partitions.

    As in Kafka's Utils.abs, the absolute value of Integer.MIN_VALUE is 0.
    """
    units = group.encode("utf-16-be")
    code = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + 256 * high + low) % 2**32
    return (0 if code == 2**31 else min(code, 2**32 - code)) % partitions
