"""The columns of fleets in Arrow: rows out of those that are given, and the types of the answers.

Types are checked field by field, so that what is missing or of another type is named; text and lists may be of either
of the two kinds that Spark has, and a column of text may be all null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.errors import IllegalArgumentError, WrongTypeError

if TYPE_CHECKING:
    from assignor.columns import ArrowArray
    from assignor.reference.fleet.reading import Row

TOPICS = {"topic": "text", "partitions": "int", "racks?": [["text"]], "topic_id?": "text"}
CLUSTERS = [{"cluster": "text", "topics": [TOPICS]}]
"""What the clusters are: a name is a kind of number or text, `[...]` lists, `{...}` structs; `?` may be missing."""

GROUPS = {
    "members": [
        {
            "member_id": "text",
            "group_instance_id?": "text",
            "rack?": "text",
            "topics?": ["text"],
            "has_topics?": "boolean",
            "pattern?": "text",
            "dialect?": "text",
            "subscription?": "bigint",
            "assignor?": "text",
            "group_protocol?": "text",
            "generation?": "int",
        }
    ],
    "cluster": "text",
    "group_id": "text",
    "subscriptions?": [{"subscription": "bigint", "topics": ["text"]}],
    "current?": [{"member_id": "text", "topic": "text", "start": "int", "count": "int"}],
}
"""What groups are, in the same way."""

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
"""What answers are, a row per group."""


def rows(given: ArrowArray, wanted: Any, what: str) -> list[Any]:
    """The rows of a column.

    Raises:
        WrongTypeError: It is of another type than wanted; the message names what of it.
        IllegalArgumentError: Text in it is not UTF-8.
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
    """Refuses a type that is not the one wanted."""
    from pyarrow import types

    if isinstance(wanted, dict):
        if not types.is_struct(found):
            raise _refused(what, "structs", found)
        for field, kind in wanted.items():
            name = field.removesuffix("?")
            place = found.get_field_index(name)
            if place >= 0:
                check(found.field(place).type, kind, name)
            elif name == field:
                raise WrongTypeError(f"{what} must have a field {name}")
    elif isinstance(wanted, list):
        if not (types.is_list(found) or types.is_large_list(found)):
            raise _refused(what, "lists", found)
        check(found.value_type, wanted[0], what)
    else:
        fits = {
            "text": types.is_string(found) or types.is_large_string(found) or types.is_null(found),
            "int": types.is_int32(found),
            "bigint": types.is_int64(found),
            "boolean": types.is_boolean(found),
        }
        if not fits[wanted]:
            raise _refused(what, wanted, found)


def _refused(what: str, wanted: str, found: Any) -> WrongTypeError:
    return WrongTypeError(f"{what} must be {wanted}, not {found}")


def column(answers: list[Any], kind: Any) -> list[Any]:
    """The column of answers, alone in a list; no column where there is no answer."""
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
    """The rows of all lists; null is as good as a row of nulls."""
    return [row or {} for rows in lists for row in rows or ()]
