"""Short notation for the columns of fleets, and the outcomes of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from assignor import _core, errors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Row = dict[str, Any]
Racks = list[list[str | None] | None]

OF_WEIGHTS = (
    *("unweighted", "least_weight", "most_weight", "mean_weight", "most_weight_member", "weight_bound"),
    "packed_weight",
)
"""Columns of a balance that only clusters with weights have."""

TEXTS = pa.list_(pa.string())
TOPICS = pa.struct(
    [("topic", pa.string()), ("partitions", pa.int32()), ("racks", pa.list_(TEXTS)), ("topic_id", pa.string())]
)
CLUSTERS = pa.list_(pa.struct([("cluster", pa.string()), ("topics", pa.list_(TOPICS))]))
MEMBERS = pa.struct(
    [
        ("member_id", pa.string()),
        ("group_instance_id", pa.string()),
        ("rack", pa.string()),
        ("topics", TEXTS),
        ("pattern", pa.string()),
        ("dialect", pa.string()),
        ("assignor", pa.string()),
        ("group_protocol", pa.string()),
        ("generation", pa.int32()),
    ]
)
CURRENT = pa.struct([("member_id", pa.string()), ("topic", pa.string()), ("start", pa.int32()), ("count", pa.int32())])
GROUPS = pa.struct(
    [
        ("cluster", pa.string()),
        ("group_id", pa.string()),
        ("members", pa.list_(MEMBERS)),
        ("current", pa.list_(CURRENT)),
    ]
)


def cluster(topics: Mapping[str, int | Racks], name: str = "c") -> Row:
    """Return a cluster; topics have a number of partitions, or the racks of each partition."""
    rows = [
        {"topic": topic, "partitions": given, "racks": None}
        if isinstance(given, int)
        else {"topic": topic, "partitions": len(given), "racks": given}
        for topic, given in topics.items()
    ]
    return {"cluster": name, "topics": rows}


def clusters(*rows: Row) -> pa.Array:
    """Return the column of clusters, which has one list."""
    return pa.array([list(rows)], CLUSTERS)


def member(id: str | None, *topics: str, **columns: Any) -> Row:
    """Return a member with topics, or with other columns."""
    return {"member_id": id, "topics": list(topics) if topics else None, **columns}


def group(*members: Row | None, id: str | None = "g", cluster: str | None = "c", **columns: Any) -> Row:
    """Return a group; `current` has tuples of member, topic, start and count."""
    current = [dict(zip(CURRENT.names, run, strict=True)) for run in columns.pop("current", ())]
    return {"cluster": cluster, "group_id": id, "members": list(members), "current": current, **columns}


def groups(*rows: Row | None) -> pa.Array:
    """Return the column of groups."""
    return pa.array(list(rows), GROUPS)


def with_shared_topics(asked: pa.Array) -> pa.Array:
    """Return the column of groups with equal lists of topics stored once, in a dictionary."""
    members = asked.field("members")
    columns = {field.name: members.values.field(field.name) for field in MEMBERS}
    texts = [None if topics is None else repr(topics) for topics in columns["topics"].to_pylist()]
    places = pa.array(texts, pa.string()).dictionary_encode()
    lists = dict(zip(texts, columns["topics"].to_pylist(), strict=True))
    values = pa.array([lists[text] for text in places.dictionary.to_pylist()], TEXTS)
    columns["topics"] = pa.DictionaryArray.from_arrays(places.indices, values)
    nulls = pa.array([row is None for row in members.values.to_pylist()], pa.bool_())
    rows = pa.StructArray.from_arrays(list(columns.values()), list(columns), mask=nulls)
    fields = {name: asked.field(name) for name in GROUPS.names}
    fields["members"] = pa.ListArray.from_arrays(members.offsets, rows)
    return pa.StructArray.from_arrays(list(fields.values()), list(fields))


def ask(verb: str, known: Sequence[Row], asked: Sequence[Row], *arguments: Any) -> list[Any]:
    """Return the answer as a row per group."""
    return without_weights(answer(verb, clusters(*known), groups(*asked), *arguments).to_pylist())


def without_weights(rows: list[Any]) -> list[Any]:
    """Return answers without the columns of weights, which are null: these clusters have no weights."""
    found: list[Any] = []
    for row in rows:
        if isinstance(row, list):
            found.append(without_weights(row))
        elif isinstance(row, dict):
            assert [] == [name for name in OF_WEIGHTS if row.get(name) is not None]
            found.append({name: value for name, value in row.items() if name not in OF_WEIGHTS})
        else:
            found.append(row)
    return found


def answer(verb: str, known: pa.Array, asked: pa.Array, *arguments: Any, **options: Any) -> pa.Array:
    """Return the answer as one column."""
    found = [pa.array(column) for column in getattr(_core.Clusters(known), verb)(asked, *arguments, **options)]
    return pa.concat_arrays(found) if found else pa.nulls(0)


class Outcome(NamedTuple):
    """Outcome of a call: type and rows of a column, or class and message of an error."""

    type: str
    answer: Any


def outcome_of(verb: str, known: pa.Array, asked: pa.Array, *arguments: Any) -> Outcome:
    """Return the outcome of a call; errors that are not of the package propagate."""
    try:
        found = answer(verb, known, asked, *arguments)
    except errors.AssignorError as error:
        return Outcome(type(error).__name__, str(error))
    return Outcome(str(found.type), without_weights(found.to_pylist()))
