"""Hypothesis strategies for records of all types and versions, by Kafka's message definitions.

Records are in the form that `decode_record` returns: tagged fields differ from their default.
"""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

from assignor.offsets import Record
from tests.support.record_layouts import INTEGERS, LAYOUTS, Array, Field, FieldType, Struct

VERSIONS = [(number, version) for number, layout in LAYOUTS.items() for version in range(layout.newest + 1)]
"""All types and versions that can be encoded."""

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(["consumer", "range", "é" * 70, "\U0001f600", "\0"]),
)


def records(number: int, version: int) -> st.SearchStrategy[Record]:
    """Return a strategy for records of a type with a value of a version."""
    layout = LAYOUTS[number]
    return st.builds(
        lambda key, value: Record(number, layout.name, key, version, value),
        structures(layout.key, 0),
        structures(layout.value, version),
    )


def structures(fields: tuple[Field, ...], version: int) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for the fields of a version, including some of its tagged fields."""
    present = [field for field in fields if field.is_in(version)]
    drawn = {field.name: values(field, version) for field in present if field.tag is None}
    tagged = {field.name: values(field, version) for field in present if field.tag is not None}
    return st.fixed_dictionaries(drawn, optional=tagged)


def values(field: Field, version: int) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a field."""
    content = contents(field.kind, version)
    if field.nullable:
        content = st.one_of(st.none(), content)
    if field.tag is None:
        return content
    return content.filter(lambda value: value is None or not is_default(value, field.default))


def contents(kind: FieldType, version: int) -> st.SearchStrategy[Any]:
    """Return a strategy for values that are not null."""
    if isinstance(kind, Struct):
        return structures(kind.fields, version)
    if isinstance(kind, Array):
        return st.lists(contents(kind.element, version), max_size=3)
    if kind == "string":
        return TEXTS
    if kind == "bytes":
        return st.one_of(st.binary(max_size=8), st.just(bytes(200)))
    if kind == "uuid":
        uuids = st.one_of(st.binary(min_size=16, max_size=16), st.sampled_from([bytes(16), b"\xff" * 16]))
        return uuids.map(lambda uuid: base64.urlsafe_b64encode(uuid).decode().rstrip("="))
    bits = 8 * INTEGERS[kind][1]
    least, most = (0, 2**bits - 1) if kind == "uint16" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return st.one_of(st.sampled_from([least, most, 0]), st.integers(least, most))


def is_default(value: Any, default: Any) -> bool:
    """Return True if the value of a tagged field is the default, which is not written.

    The default of a nullable field is the empty array or structure, not null: Kafka's message generator reads
    `"default": null` in this way. A null is therefore written, and Kafka's JSON converters print it.
    """
    if isinstance(value, dict):
        return all(content in (0, []) for content in value.values())
    return bool(value == default)
