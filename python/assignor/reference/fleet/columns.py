"""Arrow columns of fleets: conversion of input columns to rows, and the types of input and answers.

Types are checked field by field, so that errors name the field that is missing or has another type. Spark uses two
types of text (`string` and `large_string`) and two types of lists (`list` and `large_list`); all are allowed. A text
column may have Arrow's null type, and members with the same topics may share their list in a dictionary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.errors import IllegalArgumentError, WrongTypeError

if TYPE_CHECKING:
    from assignor.columns import ArrowArray
    from assignor.reference.fleet.reading import Row

TOPICS = {"topic": "text", "partitions": "int", "racks?": [["text"]], "topic_id?": "text"}
CLUSTERS = [{"cluster": "text", "topics": [TOPICS]}]
"""Type of the clusters column: a string names a scalar type, `[...]` is a list, `{...}` is a struct.

Fields that end in `?` are optional.
"""

GROUPS = {
    "members": [
        {
            "member_id": "text",
            "group_instance_id?": "text",
            "rack?": "text",
            "topics?": ["text"],
            "pattern?": "text",
            "dialect?": "text",
            "assignor?": "text",
            "group_protocol?": "text",
            "generation?": "int",
        }
    ],
    "cluster": "text",
    "group_id": "text",
    "current?": [{"member_id": "text", "topic": "text", "start": "int", "count": "int"}],
}
"""Type of the groups column."""

ASSIGNMENT = [{"member_id": "text", "topic": "text", "start": "int", "count": "int"}]
RESOLVED = [
    {
        "member_id": "text",
        "group_instance_id": "text",
        "rack": "text",
        "topics": ["text"],
        "assignor": "text",
        "group_protocol": "text",
        "generation": "int",
        "unknown_topics": ["text"],
    }
]
MOVES = [{"topic": "text", "start": "int", "count": "int", "from_member": "text", "to_member": "text"}]
BALANCE = {
    "group_protocol": "text",
    "computed_as": "text",
    "members": "int",
    "unnamed_members": "int",
    "unsubscribed_members": "int",
    "topics": "int",
    "unknown_topics": "int",
    "partitions": "int",
    "unowned": "int",
    "idle_members": "int",
    "least_loaded": "int",
    "most_loaded": "int",
    "co_partition_breaks": "int",
    "rack_misses": "int",
    "most_loaded_member": "text",
    "mean_load": "double",
    "record_bytes": "bigint",
}
PROBLEMS = ["text"]
OUTCOMES = [{"scenario": "text", "rebalances": "bigint", "moved": "bigint", **BALANCE}]
"""Types of the answer columns, which have a row per group."""


def rows(given: ArrowArray, wanted: Any, what: str) -> list[Any]:
    """Return the rows of a column.

    Raises:
        WrongTypeError: The column has another type than `wanted`; the message names the field.
        IllegalArgumentError: A text is not valid UTF-8.
    """
    import pyarrow as pa

    array = given if isinstance(given, pa.Array) else pa.array(given)
    check(array.type, wanted, what)
    try:
        found: list[Any] = array.to_pylist()
    except UnicodeDecodeError as error:
        text = error.object.decode(errors="replace")
        raise IllegalArgumentError(f"{what}: text that is not UTF-8: '{text}'") from None
    return found


def check(found: Any, wanted: Any, what: str) -> None:
    """Raise an error if a type is not the one wanted."""
    from pyarrow import types

    if isinstance(wanted, dict):
        if not types.is_struct(found):
            raise _type_error(what, "structs", found)
        for field, kind in wanted.items():
            name = field.removesuffix("?")
            place = found.get_field_index(name)
            if place >= 0:
                check(found.field(place).type, kind, name)
            elif name == field:
                raise WrongTypeError(f"{what} must have a field {name}")
    elif isinstance(wanted, list):
        if types.is_dictionary(found) and what == "topics" and wanted == ["text"]:
            found = found.value_type
        if not (types.is_list(found) or types.is_large_list(found)):
            raise _type_error(what, "lists", found)
        check(found.value_type, wanted[0], what)
    else:
        fits = {
            "text": types.is_string(found) or types.is_large_string(found) or types.is_null(found),
            "int": types.is_int32(found),
        }
        if not fits[wanted]:
            raise _type_error(what, wanted, found)


def _type_error(what: str, wanted: str, found: Any) -> WrongTypeError:
    return WrongTypeError(f"{what} must be {wanted}, not {found}")


def column(answers: list[Any], kind: Any) -> list[Any]:
    """Return a list with the column of answers; an empty list if there are no answers."""
    import pyarrow as pa

    return [pa.array(answers, _arrow(kind))] if answers else []


def _arrow(kind: Any) -> Any:
    import pyarrow as pa

    if isinstance(kind, dict):
        return pa.struct([(name, _arrow(each)) for name, each in kind.items()])
    if isinstance(kind, list):
        return pa.list_(pa.field("element", _arrow(kind[0])))
    return {"text": pa.string(), "int": pa.int32(), "bigint": pa.int64(), "double": pa.float64()}[kind]


def all_rows(lists: list[list[Row | None] | None]) -> list[Row]:
    """Return the rows of all lists; a null row becomes an empty dict."""
    return [row or {} for rows in lists for row in rows or ()]
