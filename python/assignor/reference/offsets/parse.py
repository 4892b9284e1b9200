"""Parser of the field values of a record: it checks values in the form that `decode_record` returns.

Subclasses of dict, list, str, bytes and int are read by the methods of the built-in type; overridden methods are not
called.
"""

from __future__ import annotations

import base64
import operator
from typing import Any

from assignor.errors import WireError
from assignor.reference.offsets.schema import INTEGERS, Array, Field, FieldType, Struct
from assignor.validation import is_int, shown, wrong_type

__all__ = ["parse_integer", "parse_struct"]


def parse_struct(value: object, fields: tuple[Field, ...], path: str) -> dict[str, Any]:
    """Parse the fields of a dict, in the order of `fields`; missing fields are allowed."""
    if not isinstance(value, dict):
        raise wrong_type(path, "a dict", value)
    known = {field.name: field for field in fields}
    found = {}
    for name, content in list(dict.items(value)):
        if not isinstance(name, str):
            raise wrong_type(f"{path}: a field's name", "a str", name)
        field = known.get(str.__str__(name))
        if field is None:
            raise WireError(f"unknown field {shown(name)}", None, path)
        if field.name in found:
            raise WireError(f"the field {shown(name)} occurs twice", None, path)
        found[field.name] = parse_field(content, field, f"{path}.{field.name}")
    return {name: found[name] for name in known if name in found}


def parse_field(value: object, field: Field, path: str) -> Any:
    """Parse the value of a field, or None if the field is nullable."""
    return None if field.nullable and value is None else parse_value(value, field.kind, path)


def parse_value(value: object, kind: FieldType, path: str) -> Any:
    """Parse a value that cannot be None; a uuid becomes its bytes."""
    if isinstance(kind, Struct):
        return parse_struct(value, kind.fields, path)
    if isinstance(kind, Array):
        items = parse_items(value, path)
        return [parse_value(item, kind.element, f"{path}[{index}]") for index, item in enumerate(items)]
    if kind == "string":
        return parse_text(value, path)
    if kind == "bytes":
        return parse_bytes(value, path)
    if kind == "uuid":
        return parse_uuid(value, path)
    return parse_integer(value, kind, path)


def parse_items(value: object, path: str) -> list[object]:
    """Return the elements of a list or tuple."""
    if isinstance(value, list):
        return list.copy(value)
    if isinstance(value, tuple):
        return list(tuple.__iter__(value))
    raise wrong_type(path, "a list", value)


def parse_text(value: object, path: str) -> str:
    """Parse a `str` that UTF-8 can encode."""
    if not isinstance(value, str):
        raise wrong_type(path, "a str", value)
    try:
        return str.encode(value).decode()
    except UnicodeEncodeError:
        raise WireError(f"{shown(value)} has a lone surrogate, which UTF-8 cannot encode", None, path) from None


def parse_bytes(value: object, path: str) -> bytes:
    """Parse a byte array."""
    if isinstance(value, bytes):
        return bytes.__getitem__(value, slice(None))
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise wrong_type(path, "bytes", value)


def parse_uuid(value: object, path: str) -> bytes:
    """Parse a uuid in the text form that Kafka prints."""
    text = parse_text(value, path)
    try:
        data = base64.urlsafe_b64decode(f"{text}==")
    except ValueError:  # also binascii.Error
        data = b""
    if len(data) != 16 or base64.urlsafe_b64encode(data).decode() != f"{text}==":
        reason = f"{shown(value)} is not a uuid in Kafka's form, 22 characters of URL-safe base64"
        raise WireError(reason, None, path)
    return data


def parse_integer(value: object, kind: str, path: str) -> int:
    """Parse an integer of a kind that `INTEGERS` lists."""
    if not is_int(value):
        raise wrong_type(path, "an int", value)
    number = int.__index__(operator.index(value))  # type: ignore[arg-type]  # it has `__index__`
    bits = 8 * INTEGERS[kind][1]
    least, most = (0, 2**bits - 1) if kind == "uint16" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if not least <= number <= most:
        raise WireError(f"{shown(value)} is not between {least} and {most}", None, path)
    return number
