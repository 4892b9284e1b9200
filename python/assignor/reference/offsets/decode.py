"""Decoder of structures: it reads bytes into a dict by the tables of `schema`."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from assignor.errors import WireError
from assignor.reference.offsets.schema import INTEGERS, Array, Field, FieldType, Struct

if TYPE_CHECKING:
    from assignor.reference.bytes import Reader

__all__ = ["read_struct"]


def read_struct(reader: Reader, fields: tuple[Field, ...], version: int, path: str) -> dict[str, Any]:
    """Read the fields of a structure, then its tagged fields if the message is flexible (has compact lengths)."""
    values = {}
    for field in fields:
        if field.tag is None and field.is_in(version):
            values[field.name] = read_field(reader, field, version, f"{path}.{field.name}")
    if reader.compact:
        values.update(read_tagged(reader, fields, version, path))
    return values


def read_field(reader: Reader, field: Field, version: int, path: str) -> Any:
    """Read an untagged field; a nullable structure has an int8 prefix that is negative for null."""
    if field.nullable and field.kind == "string":
        return reader.nullable_string(path)
    if field.nullable and isinstance(field.kind, Struct) and reader.integer("b", path) < 0:
        return None
    return read(reader, field.kind, version, path)


def read(reader: Reader, kind: FieldType, version: int, path: str) -> Any:
    """Read a value that cannot be null."""
    if isinstance(kind, Struct):
        return read_struct(reader, kind.fields, version, path)
    if isinstance(kind, Array):
        count = reader.count(least(reader, kind.element, version), path)
        return [read(reader, kind.element, version, f"{path}[{index}]") for index in range(count)]
    if kind == "string":
        return reader.string(path)
    if kind == "bytes":
        return reader.bytes(path)
    if kind == "uuid":
        return base64.urlsafe_b64encode(reader.take(16, path)).decode().rstrip("=")
    return reader.integer(INTEGERS[kind][0], path)


def least(reader: Reader, kind: FieldType, version: int, nullable: bool = False) -> int:
    """Return the minimum size in bytes of a value."""
    if isinstance(kind, Struct):
        if nullable:
            return 1
        untagged = [field for field in kind.fields if field.tag is None and field.is_in(version)]
        return sum(least(reader, field.kind, version, field.nullable) for field in untagged) + reader.compact
    if kind == "uuid":
        return 16
    if kind == "string":
        return 1 if reader.compact else 2
    if kind == "bytes" or isinstance(kind, Array):
        return 1 if reader.compact else 4
    return INTEGERS[kind][1]


def read_tagged(reader: Reader, fields: tuple[Field, ...], version: int, path: str) -> dict[str, Any]:
    """Read the section of tagged fields; return those that differ from their default.

    As in Kafka's generated readers, unknown fields are skipped, the last of repeated fields counts, and the encoded
    size of a known field is ignored.
    """
    known = {field.tag: field for field in fields if field.tag is not None and field.is_in(version)}
    found: dict[int, tuple[Any, bool]] = {}
    for _ in range(reader.varint(f"{path}.taggedFields")):
        tag = reader.varint(f"{path}.taggedFields")
        start = reader.position
        size = reader.varint(f"{path}.taggedFields")
        if tag in known:
            found[tag] = read_tagged_field(reader, known[tag], version, f"{path}.{known[tag].name}")
        elif size < 0:
            raise WireError(f"a size of {size} is negative", start, f"{path}.taggedFields")
        else:
            reader.take(size, f"{path}.taggedFields")
    return {known[tag].name: value for tag, (value, is_set) in sorted(found.items()) if is_set}


def read_tagged_field(reader: Reader, field: Field, version: int, path: str) -> tuple[Any, bool]:
    """Read a tagged field; return its value, and True if that differs from the default.

    The presence of a nullable structure is a varint here, but an int8 in an untagged field (KIP-893).
    """
    if field.nullable and isinstance(field.kind, Struct):
        if reader.varint(path) <= 0:
            return None, True
        start = reader.position
        value = read(reader, field.kind, version, path)
        # A structure with unknown tagged fields is longer, and differs from the default.
        longer = reader.position - start > least(reader, field.kind, version)
        return value, longer or not is_default(value, field.default)
    if field.nullable and isinstance(field.kind, Array):
        count = reader.nullable_count(least(reader, field.kind.element, version), path)
        if count is None:
            return None, True
        items = [read(reader, field.kind.element, version, f"{path}[{index}]") for index in range(count)]
        return items, not is_default(items, field.default)
    value = read(reader, field.kind, version, path)
    return value, not is_default(value, field.default)


def is_default(value: Any, default: Any) -> bool:
    """Return True if the value of a tagged field is the default, which is not written.

    The default of a nullable field is the empty array or structure, not null: Kafka's message generator reads
    `"default": null` in this way. A null is therefore written, and Kafka's JSON converters print it.
    """
    if isinstance(value, dict):
        return all(content in (0, []) for content in value.values())
    return bool(value == default)
