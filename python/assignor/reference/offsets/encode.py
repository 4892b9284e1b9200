"""Encoder of structures, the inverse of `decode`: it writes the same bytes as Kafka's generated writers.

Fields that the version lacks are left out, because all of these fields are "ignorable" in Kafka. Tagged fields at their
default are left out too.
"""

from __future__ import annotations

import struct
from typing import Any

from assignor.errors import WireError
from assignor.reference.bytes import write_bytes, write_count, write_string, write_varint
from assignor.reference.offsets.decode import is_default
from assignor.reference.offsets.parse import parse_integer, parse_struct
from assignor.reference.offsets.schema import INTEGERS, TYPES, Array, Field, FieldType, RecordLayout, Struct

__all__ = ["encode_record"]

ABSENT, PRESENT = b"\xff", b"\1"
"""Prefix byte of a nullable structure."""


def encode_record(record_type: object, key: object, version: object, value: object) -> tuple[bytes, bytes | None]:
    """Encode the key and the value of a record; None is the value of a tombstone, whose version is ignored.

    All values are parsed before anything is encoded.
    """
    number = parse_integer(record_type, "int16", "key.type")
    layout = known_layout(number)
    fields = parse_struct(key, layout.key, "key")
    if value is None:
        return struct.pack(">h", number) + write_struct(fields, layout.key, 0, "key", compact=False), None
    read = parse_integer(version, "int16", "value.version")
    content = parse_struct(value, layout.value, "value")
    head = struct.pack(">h", number) + write_struct(fields, layout.key, 0, "key", compact=False)
    check_version(layout, read)
    body = write_struct(content, layout.value, read, "value", compact=read >= layout.flexible)
    return head, struct.pack(">h", read) + body


def known_layout(number: int) -> RecordLayout:
    """Return the layout of a record type.

    Raises:
        WireError: The layout of the type is not known.
    """
    record_type = TYPES.get(number)
    if record_type is None or record_type.layout is None:
        name = "" if record_type is None else f" ({record_type.name})"
        raise WireError(f"the layout of type {number}{name} is not known", None, "key.type")
    return record_type.layout


def check_version(layout: RecordLayout, version: int) -> None:
    """Raise a WireError if the layout does not have the version."""
    if version < 0:
        raise WireError(f"version {version} is negative", None, "value.version")
    if version > layout.newest:
        reason = f"unknown version {version} (the newest known version is {layout.newest})"
        raise WireError(reason, None, "value.version")


def write_struct(values: dict[str, Any], fields: tuple[Field, ...], version: int, path: str, *, compact: bool) -> bytes:
    """Encode the fields of a structure, then its tagged fields if the message is flexible (has compact lengths)."""
    data = b""
    present = [field for field in fields if field.is_in(version)]
    for field in present:
        if field.tag is None:
            if field.name not in values:
                reason = f"a field that version {version} requires is missing"
                raise WireError(reason, None, f"{path}.{field.name}")
            data += write_field(values[field.name], field, version, f"{path}.{field.name}", compact=compact)
    if not compact:
        return data
    return data + write_tagged(values, [field for field in present if field.tag is not None], version, path)


def write_field(value: Any, field: Field, version: int, path: str, *, compact: bool) -> bytes:
    """Encode an untagged field; a nullable structure has an int8 prefix."""
    if field.nullable and isinstance(field.kind, Struct):
        return ABSENT if value is None else PRESENT + write(value, field.kind, version, path, compact=compact)
    return write(value, field.kind, version, path, compact=compact)


def write(value: Any, kind: FieldType, version: int, path: str, *, compact: bool) -> bytes:
    """Encode a value; only a string may be None here."""
    if isinstance(kind, Struct):
        return write_struct(value, kind.fields, version, path, compact=compact)
    if isinstance(kind, Array):
        data = write_count(len(value), path, compact=compact)
        for index, item in enumerate(value):
            data += write(item, kind.element, version, f"{path}[{index}]", compact=compact)
        return data
    if kind == "string":
        return write_string(value, path, compact=compact)
    if kind == "bytes":
        return write_bytes(value, path, compact=compact)
    if kind == "uuid":
        return bytes(value)
    return struct.pack(f">{INTEGERS[kind][0]}", value)


def write_tagged(values: dict[str, Any], fields: list[Field], version: int, path: str) -> bytes:
    """Encode the section of tagged fields, without fields at their default."""
    sections = []
    for field in sorted(fields, key=lambda field: field.tag or 0):
        if field.name in values:
            value = values[field.name]
            content = write_tagged_field(value, field, version, f"{path}.{field.name}")
            if not is_default(value, UNSET_UUID if field.kind == "uuid" else field.default):
                sections.append(write_varint(field.tag or 0) + write_varint(len(content)) + content)
    return write_varint(len(sections)) + b"".join(sections)


UNSET_UUID = bytes(16)


def write_tagged_field(value: Any, field: Field, version: int, path: str) -> bytes:
    """Encode the content of a tagged field; the presence of a nullable structure is a varint here (KIP-893)."""
    if value is None:
        return write_varint(0)
    presence = write_varint(1) if field.nullable and isinstance(field.kind, Struct) else b""
    return presence + write(value, field.kind, version, path, compact=True)
