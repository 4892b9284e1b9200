"""Encoder of `__consumer_offsets` records and the blobs inside them, for logs in tests.

The layouts are those of Kafka's message definitions. A missing field is zero, empty or null; a missing tagged field is
left out.
"""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.support.record_layouts import INTEGERS, LAYOUTS, Array, Field, FieldType, Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class LogRecord(NamedTuple):
    """Record of the log; a value of None is a tombstone."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def write_record(
    number: int, key: Mapping[str, Any], value: Mapping[str, Any] | None = None, version: int | None = None
) -> tuple[bytes, bytes | None]:
    """Return key and value of a record. Without a value it is a tombstone; the default version is the newest."""
    layout = LAYOUTS[number]
    head = struct.pack(">h", number) + write_struct(layout.key, key, 0, compact=False)
    if value is None:
        return head, None
    version = layout.newest if version is None else version
    body = write_struct(layout.value, value, version, compact=version >= layout.flexible)
    return head, struct.pack(">h", version) + body


def write_struct(fields: tuple[Field, ...], values: Mapping[str, Any], version: int, *, compact: bool) -> bytes:
    """Encode the fields in order, then the given tagged fields."""
    present = [field for field in fields if field.is_in(version)]
    unknown = values.keys() - {field.name for field in present}
    assert not unknown, f"no such fields: {unknown}"
    data = b"".join(write_field(f, values.get(f.name), version, compact=compact) for f in present if f.tag is None)
    if not compact:
        return data
    tagged = {field.tag: field for field in present if field.tag is not None and field.name in values}
    sections = []
    for tag, field in sorted(tagged.items()):
        value = values[field.name]
        content = b"\0" if value is None else write_field(field, value, version, compact=True)
        sections.append(varint(tag) + varint(len(content)) + content)
    return data + varint(len(sections)) + b"".join(sections)


def write_field(field: Field, value: Any, version: int, *, compact: bool) -> bytes:
    """Encode a field; a nullable structure has a leading byte."""
    if field.nullable and isinstance(field.kind, Struct):
        return b"\xff" if value is None else b"\1" + write(field.kind, value, version, compact=compact)
    if field.nullable and value is None:
        return b"\0" if compact else b"\xff\xff"
    return write(field.kind, value, version, compact=compact)


def write(kind: FieldType, value: Any, version: int, *, compact: bool) -> bytes:
    """Encode a value that is not null; None means zero or empty."""
    if isinstance(kind, Struct):
        return write_struct(kind.fields, value or {}, version, compact=compact)
    if isinstance(kind, Array):
        items = value or ()
        count = varint(len(items) + 1) if compact else struct.pack(">i", len(items))
        return count + b"".join(write(kind.element, item, version, compact=compact) for item in items)
    if kind == "uuid":
        return base64.urlsafe_b64decode(f"{value or 'A' * 22}==")
    if kind in INTEGERS:
        return struct.pack(f">{INTEGERS[kind][0]}", value or 0)
    data = (value or "").encode() if kind == "string" else value or b""
    if compact:
        return varint(len(data) + 1) + data
    return struct.pack(">h" if kind == "string" else ">i", len(data)) + data


def varint(number: int) -> bytes:
    """Return an unsigned varint."""
    data = b""
    while number >= 0x80:
        data += bytes([number & 0x7F | 0x80])
        number >>= 7
    return data + bytes([number])


def subscription(
    *topics: str,
    version: int = 3,
    body: int | None = None,
    rack: str | None = None,
    owned: Mapping[str, Sequence[int]] | None = None,
    generation: int = -1,
    user_data: bytes | None = None,
) -> bytes:
    """Return a ConsumerProtocol subscription; `body` is the version of the body if it differs from the header's."""
    data = struct.pack(">hi", version, len(topics)) + b"".join(map(text, topics))
    data += struct.pack(">i", -1) if user_data is None else struct.pack(">i", len(user_data)) + user_data
    claims = struct.pack(">i", len(owned or {})) + b"".join(partitions(*entry) for entry in (owned or {}).items())
    appended = (claims, struct.pack(">i", generation), b"\xff\xff" if rack is None else text(rack))
    return data + b"".join(appended[: version if body is None else body])


def assignment(*entries: tuple[str, Sequence[int]], version: int = 3) -> bytes:
    """Return a ConsumerProtocol assignment of topics with partition ids; a topic may occur more than once."""
    data = struct.pack(">hi", version, len(entries))
    return data + b"".join(partitions(*entry) for entry in entries) + struct.pack(">i", -1)


def partitions(topic: str, ids: Sequence[int]) -> bytes:
    """Return a topic with partition ids."""
    return text(topic) + struct.pack(f">i{len(ids)}i", len(ids), *ids)


def text(name: str) -> bytes:
    """Return a string with an int16 length."""
    return struct.pack(">h", len(name.encode())) + name.encode()
