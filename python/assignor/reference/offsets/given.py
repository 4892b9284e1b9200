"""A record's fields as somebody hands them over: what `decode_record` gives, checked by the tables of its type.

Of subclasses the built-in content counts: none of their methods is called.
"""

from __future__ import annotations

import base64
import operator
from typing import Any

from assignor.errors import WireError
from assignor.reference.offsets.schema import INTEGERS, Array, Field, Kind, Struct
from assignor.validation import is_int, shown, wrong_type

__all__ = ["given_integer", "given_struct"]


def given_struct(given: object, fields: tuple[Field, ...], path: str) -> dict[str, Any]:
    """The fields of a dict in the order of their table; those that it lacks are not there."""
    if not isinstance(given, dict):
        raise wrong_type(path, "a dict", given)
    known = {field.name: field for field in fields}
    found = {}
    for name, content in list(dict.items(given)):
        if not isinstance(name, str):
            raise wrong_type(f"{path}: a field's name", "a str", name)
        field = known.get(str.__str__(name))
        if field is None:
            raise WireError(f"there is no field {shown(name)}", None, path)
        if field.name in found:
            raise WireError(f"the field {shown(name)} is there twice", None, path)
        found[field.name] = given_field(content, field, f"{path}.{field.name}")
    return {name: found[name] for name in known if name in found}


def given_field(given: object, field: Field, path: str) -> Any:
    """A value, or None where that is one."""
    return None if field.nullable and given is None else given_value(given, field.kind, path)


def given_value(given: object, kind: Kind, path: str) -> Any:
    """A value that cannot be None; a uuid as its bytes."""
    if isinstance(kind, Struct):
        return given_struct(given, kind.fields, path)
    if isinstance(kind, Array):
        items = given_items(given, path)
        return [given_value(item, kind.element, f"{path}[{index}]") for index, item in enumerate(items)]
    if kind == "string":
        return given_text(given, path)
    if kind == "bytes":
        return given_bytes(given, path)
    if kind == "uuid":
        return given_uuid(given, path)
    return given_integer(given, kind, path)


def given_items(given: object, path: str) -> list[object]:
    """The elements of a list or tuple."""
    if isinstance(given, list):
        return list.copy(given)
    if isinstance(given, tuple):
        return list(tuple.__iter__(given))
    raise wrong_type(path, "a list", given)


def given_text(given: object, path: str) -> str:
    """A `str` that Kafka's UTF-8 can carry."""
    if not isinstance(given, str):
        raise wrong_type(path, "a str", given)
    try:
        return str.encode(given).decode()
    except UnicodeEncodeError:
        raise WireError(f"{shown(given)} has a lone surrogate, which UTF-8 cannot carry", None, path) from None


def given_bytes(given: object, path: str) -> bytes:
    """A byte array."""
    if isinstance(given, bytes):
        return bytes.__getitem__(given, slice(None))
    if isinstance(given, bytearray | memoryview):
        return bytes(given)
    raise wrong_type(path, "bytes", given)


def given_uuid(given: object, path: str) -> bytes:
    """The bytes of the uuid that Kafka shows as this text, and as no other."""
    text = given_text(given, path)
    try:
        data = base64.urlsafe_b64decode(f"{text}==")
    except ValueError:  # also binascii.Error
        data = b""
    if len(data) != 16 or base64.urlsafe_b64encode(data).decode() != f"{text}==":
        reason = f"{shown(given)} is no uuid as Kafka shows it, 22 characters of URL-safe base64"
        raise WireError(reason, None, path)
    return data


def given_integer(given: object, kind: str, path: str) -> int:
    """An integer of that kind."""
    if not is_int(given):
        raise wrong_type(path, "an int", given)
    number = int.__index__(operator.index(given))  # type: ignore[arg-type]  # it has `__index__`
    bits = 8 * INTEGERS[kind][1]
    least, most = (0, 2**bits - 1) if kind == "uint16" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if not least <= number <= most:
        raise WireError(f"{shown(given)} is not between {least} and {most}", None, path)
    return number
