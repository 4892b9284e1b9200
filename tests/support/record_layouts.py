"""Layouts of the records in `__consumer_offsets`, read from Kafka's own message definitions.

`tests/data/record_definitions.json` has the definitions of keys and values of kafka-group-coordinator 4.3.1, one a
line, without comments. `tests/offsets/test_oracle.py` compares them with those in Kafka's jar.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = dict[str, Any]

DEFINITIONS = Path(__file__).parents[1] / "data" / "record_definitions.json"

INTEGERS = {"int8": ("b", 1), "int16": ("h", 2), "uint16": ("H", 2), "int32": ("i", 4), "int64": ("q", 8)}
"""Layout (as in the module struct) and size in bytes of each kind of integer."""

NEWEST = 32_767
"""Largest version."""


@dataclass(frozen=True)
class Field:
    """Field: its name in Kafka's JSON, its kind, and the versions `since` to `until` that have it.

    A field with a `tag` is written in the section of tagged fields, unless its value is `default`.
    """

    name: str
    kind: FieldType
    since: int
    until: int
    nullable: bool
    tag: int | None
    default: Any

    def is_in(self, version: int) -> bool:
        """Return True if the version has the field."""
        return self.since <= version <= self.until


@dataclass(frozen=True)
class Struct:
    """Structure: consecutive fields."""

    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Array:
    """Array of elements of one kind."""

    element: FieldType


FieldType = str | Struct | Array
"""Kind of a field: a structure, an array, a name in INTEGERS, or string, bytes or uuid."""


@dataclass(frozen=True)
class Layout:
    """Record type: its name, the key's fields after the type, and the value's fields after the version.

    `newest` is the newest version of the value, `flexible` the first one with compact lengths and tagged fields.
    """

    name: str
    key: tuple[Field, ...]
    value: tuple[Field, ...]
    newest: int
    flexible: int


def read_layouts() -> dict[int, Layout]:
    """Return the layouts by type, the int16 at the start of the key."""
    with DEFINITIONS.open(encoding="utf-8") as lines:
        definitions: list[Row] = [json.loads(line) for line in lines]
    keys, values = (
        {each["apiKey"]: each for each in definitions if each["type"] == f"coordinator-{part}"}
        for part in ("key", "value")
    )
    found = {}
    for number, value in sorted(values.items()):
        _, newest = versions(value["validVersions"])
        flexible, _ = versions(value["flexibleVersions"])
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", value["name"].removesuffix("Value")).upper()
        found[number] = Layout(name, read_fields(keys[number]), read_fields(value), newest, flexible)
    return found


def read_fields(definition: Row) -> tuple[Field, ...]:
    """Return the fields of a message."""
    named = {each["name"]: each["fields"] for each in definition.get("commonStructs", ())}
    return tuple(read_field(each, named) for each in definition["fields"])


def read_field(given: Row, named: Row) -> Field:
    """Return a field; `named` has the fields of structures that the message names."""
    name = given["name"]
    since, until = versions(given.get("versions") or given["taggedVersions"])
    # Kafka's generator reads `"default": null` as the empty array or structure.
    default = given.get("default") or (0 if given["type"] in INTEGERS else [])
    return Field(
        name[0].lower() + name[1:],
        read_kind(given["type"], given, named),
        since,
        until,
        nullable="nullableVersions" in given,
        tag=given.get("tag"),
        default="A" * 22 if given["type"] == "uuid" else default,
    )


def read_kind(text: str, given: Row, named: Row) -> FieldType:
    """Return the kind of a field."""
    if text.startswith("[]"):
        return Array(read_kind(text[2:], given, named))
    if text in INTEGERS or text in ("string", "bytes", "uuid"):
        return text
    return Struct(tuple(read_field(each, named) for each in given.get("fields") or named[text]))


def versions(text: str) -> tuple[int, int]:
    """Return the first and the last version of a range such as `0-4`, `3+` or `none`."""
    if text == "none":
        return NEWEST + 1, NEWEST
    first, _, last = text.rstrip("+").partition("-")
    return int(first), NEWEST if text.endswith("+") else int(last or first)


LAYOUTS = read_layouts()
"""Layouts of all record types that Kafka 4.3.1 writes."""
