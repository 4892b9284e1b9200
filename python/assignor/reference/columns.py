"""Conversion of groups given as columns to the mappings that the reference reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assignor.columns import MemberColumns, TopicColumns
from assignor.errors import IllegalArgumentError
from assignor.model import PartitionInfo, Subscription, TopicPartition
from assignor.validation import check_dialect, read_partitions

OPTIONAL = ("group_instance_id", "rack", "generation", "owned_partitions", "user_data")
"""Optional columns of members."""


def topics_as_mapping(given: object) -> object:
    """Convert topic columns to a mapping of topic to partitions; return other values unchanged."""
    if isinstance(given, TopicColumns):
        names, counts = _column(given.topic), _column(given.partitions)
        _same_length("partitions", counts, names, "topic")
        if given.rack_set is None:
            return _unique("topic", zip(names, counts, strict=True))
        sets = [tuple(racks) for racks in given.rack_sets]
        rack_set = iter(_column(given.rack_set))
        return _unique(
            "topic",
            (
                (name, [PartitionInfo(id, sets[next(rack_set)]) for id in range(count)])
                for name, count in zip(names, counts, strict=True)
            ),
        )
    rows = _rows(given, "partitions_per_topic")
    if rows is None:
        return given
    if rows and not {"topic", "partitions"} <= rows[0].keys():
        raise IllegalArgumentError(
            f"topics as a table need the columns topic and partitions, and may have racks; found {', '.join(rows[0])}"
        )
    return _unique("topic", ((row["topic"], _partitions(row)) for row in rows))


def _partitions(row: Mapping[str, Any]) -> int | list[PartitionInfo]:
    racks = row.get("racks")
    if racks is None:
        count: int = row["partitions"]
        return count
    return [PartitionInfo(id, tuple(on or ())) for id, on in enumerate(racks)]


def members_as_mapping(given: object) -> object:
    """Convert member columns to a mapping of member id to subscription; return other values unchanged."""
    if isinstance(given, MemberColumns):
        ids, subscription = _column(given.member_id), _column(given.subscription)
        _same_length("subscription", subscription, ids, "member")
        subscriptions = [tuple(names) for names in _column(given.subscriptions)]
        optional = {name: _column(column) for name in OPTIONAL if (column := getattr(given, name)) is not None}
        for name, column in optional.items():
            _same_length(name, column, ids, "member")
        fields = ({name: column[row] for name, column in optional.items()} for row in range(len(ids)))
        return _unique(
            "member_id",
            (
                (id, Subscription(subscriptions[number], **_fields(row, place)))
                for place, (id, number, row) in enumerate(zip(ids, subscription, fields, strict=True))
            ),
        )
    rows = _rows(given, "subscriptions")
    if rows is None:
        return given
    if rows and not ("member_id" in rows[0] and rows[0].keys() & {"topics", "pattern"}):
        raise IllegalArgumentError(
            "members as a table need the columns member_id and topics or pattern, and may have dialect, "
            f"group_instance_id, rack, generation, owned_partitions and user_data; found {', '.join(rows[0])}"
        )
    return _unique(
        "member_id",
        (
            (
                row["member_id"],
                _subscription(row, place),
            )
            for place, row in enumerate(rows)
        ),
    )


def _fields(row: dict[str, Any], place: int) -> dict[str, Any]:
    """Return the optional fields of a subscription in a row of members."""
    fields = {name: row[name] for name in OPTIONAL if row.get(name) is not None}
    if "owned_partitions" in fields:
        owned = [
            (partition["topic"], partition["partition"]) if isinstance(partition, dict) else partition
            for partition in fields["owned_partitions"]
        ]
        fields["owned_partitions"] = tuple(
            TopicPartition(*partition) for partition in read_partitions(owned, f"owned_partitions[{place}]")
        )
    return fields


def _subscription(row: dict[str, Any], place: int) -> Subscription:
    """Return the subscription in a row of an Arrow table, which has topics or a pattern."""
    pattern, owner = row.get("pattern"), f"member '{row['member_id']}'"
    topics = row.get("topics", ())
    dialect = "java"
    if pattern is not None:
        topics = topics or ()
        if topics:
            raise IllegalArgumentError(f"{owner}: give topics or a pattern, not both: the pattern is '{pattern}'")
        dialect = "java" if row.get("dialect") is None else row["dialect"]
        check_dialect(dialect, f"{owner}: dialect")
    return Subscription(topics, pattern=pattern, dialect=dialect, **_fields(row, place))


def _is_arrow(given: object) -> bool:
    return hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__")


def _rows(given: object, what: str) -> list[dict[str, Any]] | None:
    """Return the rows of an Arrow table; None if the value is not one."""
    if isinstance(given, Mapping) or not _is_arrow(given):
        return None
    import pyarrow

    array = pyarrow.chunked_array(given)
    if not pyarrow.types.is_struct(array.type):
        raise IllegalArgumentError(f"{what} must be an Arrow table, not an array of {array.type}")
    if array.null_count:
        raise IllegalArgumentError(f"{what}: an Arrow table cannot have rows that are null")
    rows: list[dict[str, Any]] = pyarrow.Table.from_struct_array(array).to_pylist()
    return rows


def _column(given: Any) -> list[Any]:
    """Convert a column to Python objects."""
    if _is_arrow(given):
        import pyarrow

        found: list[Any] = pyarrow.chunked_array(given).to_pylist()
        return found
    return list(given.tolist() if hasattr(given, "tolist") else given)


def _same_length(column: str, entries: list[Any], wanted: list[Any], each: str) -> None:
    if len(entries) != len(wanted):
        raise IllegalArgumentError(
            f"{column} needs one entry per {each}, {len(wanted)} in total, but has {len(entries)}"
        )


def _unique(column: str, entries: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in entries:
        if name in found:
            raise IllegalArgumentError(f"column {column} has '{name}' twice")
        found[name] = value
    return found
