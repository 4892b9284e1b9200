"""One group as the Arrow columns that `_core.Clusters` reads: its cluster with the topics, and the group itself.

The commands and `assignor.scaling` call the engine of fleets for a single group. This module needs pyarrow, not Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lines import spans_of
from assignor.model import PartitionInfo, Subscription
from assignor.validation import (
    check_name,
    is_int,
    read_int,
    read_items,
    read_partitions,
    read_subscribed_names,
    wrong_type,
)
from assignor.weights import weight_columns

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from assignor.weights import Weights

_TOPIC = pa.struct(
    {
        "topic": pa.string(),
        "partitions": pa.int32(),
        "racks": pa.list_(pa.list_(pa.string())),
        "topic_id": pa.string(),
        "weights": pa.list_(pa.float64()),
    }
)

_MEMBER = pa.struct(
    {
        "member_id": pa.string(),
        "group_instance_id": pa.string(),
        "rack": pa.string(),
        "topics": pa.list_(pa.string()),
        "pattern": pa.list_(pa.string()),
        "dialect": pa.string(),
        "assignor": pa.string(),
        "group_protocol": pa.string(),
        "generation": pa.int32(),
    }
)

_SPAN = pa.struct({"member_id": pa.string(), "topic": pa.string(), "start": pa.int32(), "count": pa.int32()})

CLUSTERS = pa.list_(pa.struct({"cluster": pa.string(), "topics": pa.list_(_TOPIC)}))
"""All clusters, which are one value."""

GROUPS = pa.struct(
    {
        "cluster": pa.string(),
        "group_id": pa.string(),
        "members": pa.list_(_MEMBER),
        "current": pa.list_(_SPAN),
    }
)
"""A group. The engine also reads the `pattern` of a member as one text."""

_CLUSTER = ""


def topic_rows(
    partitions_per_topic: Mapping[str, Any], *, topic_ids: Mapping[str, Any] | None, place: str
) -> list[dict[str, Any]]:
    """Return a row per topic: its name, number of partitions, racks of each if they are given, and id.

    Raises:
        IllegalArgumentError: A topic has other ids than 0 to n-1; `place` is the name of the input.
    """
    rows = []
    for topic, given in partitions_per_topic.items():
        count, racks = (int(given), None) if is_int(given) else _racks(given, f"{place}: topic {topic!r}")
        rows.append({"topic": topic, "partitions": count, "racks": racks, "topic_id": (topic_ids or {}).get(topic)})
    return rows


def cluster_column(
    partitions_per_topic: Mapping[str, Any],
    *,
    topic_ids: Mapping[str, Any] | None = None,
    weights: Weights | None = None,
    place: str = "partitions_per_topic",
) -> pa.Array:
    """Return the column of clusters: one cluster, with these topics.

    Args:
        partitions_per_topic: As for `assignor.plan`, which must have accepted it; the ids of a topic must be 0 to n-1.
        topic_ids: As for `assignor.plan`.
        weights: Weights of partitions, in a form of `assignor.weights`.
        place: Name of the input for messages.

    Raises:
        IllegalArgumentError: A topic has other ids than 0 to n-1, or a weight is invalid.
        WrongTypeError: The weights have no form of `assignor.weights`.
    """
    topics = topic_rows(partitions_per_topic, topic_ids=topic_ids, place=place)
    if weights is not None:
        add_weights(topics, weights)
    return pa.array([[{"cluster": _CLUSTER, "topics": topics}]], CLUSTERS)


def add_weights(topics: list[dict[str, Any]], weights: Weights) -> list[dict[str, Any]]:
    """Add the weights of their partitions to rows of topics, and return the rows.

    Raises:
        IllegalArgumentError: A weight is invalid, or of a partition that the topics do not have.
        WrongTypeError: The weights have no form of `assignor.weights`.
    """
    # A negative number is the engine's error, with its place.
    counts = [max(read_int(row["partitions"], f"topic {row['topic']!r}: partitions", bits=32), 0) for row in topics]
    columns = weight_columns(weights, [topic["topic"] for topic in topics], counts)
    for row, column in zip(topics, columns, strict=True):
        # The engine takes null as an unknown weight.
        row["weights"] = None if column is None else pa.array(column, pa.float64(), from_pandas=True)
    return topics


def group_column(
    subscriptions: Mapping[str, Any],
    *,
    assignor: str | None = None,
    group_protocol: str | None = None,
    group_id: str = "",
    assignment: Mapping[str, Iterable[tuple[str, int]]] | None = None,
    place: str = "subscriptions",
) -> pa.Array:
    """Return the column of groups: one group, with these members and the partitions that they own.

    Args:
        subscriptions: As for `assignor.plan`, which must have accepted it.
        assignor: As for `assignor.plan`.
        group_protocol: As for `assignor.plan`.
        group_id: The name of the group.
        assignment: The partitions that members own; by default those of the subscriptions.
        place: Name of the input for messages.

    Raises:
        IllegalArgumentError: A member has user data, which the engine of fleets does not read, or a number that does
            not fit in 32 bits.
    """
    members, current = [], []
    if assignment is not None and not isinstance(assignment, Mapping):
        raise wrong_type("assignment", "a mapping of members to partitions", assignment)
    owned = (
        {}
        if assignment is None
        else {
            check_name(name, "assignment: a member"): read_partitions(each, f"assignment: member {name!r}")
            for name, each in read_items(assignment, "assignment")
        }
    )
    for name, given in subscriptions.items():
        owner = f"{place}: member {name!r}"
        found = given if isinstance(given, Subscription) else Subscription(read_subscribed_names(given, owner))
        if found.user_data is not None:
            raise IllegalArgumentError(f"{owner}: user_data is not read; give owned_partitions and generation")
        numbers = (("generation", found.generation), *(("partition", id) for _, id in found.owned_partitions))
        for what, number in numbers:
            if number is not None:
                read_int(number, f"{owner}: {what}", bits=32)
        members.append(
            {
                "member_id": name,
                "group_instance_id": found.group_instance_id,
                "rack": found.rack,
                "topics": list(found.topics),
                "pattern": list(found.patterns),
                "dialect": found.dialect if found.patterns else None,
                "assignor": assignor,
                "group_protocol": group_protocol,
                "generation": found.generation,
            }
        )
        if assignment is None:
            owned[name] = list(found.owned_partitions)
    for name, partitions in owned.items():
        for _, id in partitions:
            read_int(id, f"assignment: member {name!r}: partition", bits=32)
        for topic, start, count in spans_of(sorted(set(partitions))):
            current.append({"member_id": name, "topic": topic, "start": start, "count": count})
    return pa.array([{"cluster": _CLUSTER, "group_id": group_id, "members": members, "current": current}], GROUPS)


def _plain_id(id: Any) -> int:
    """Return a partition id as an int; Arrow columns have scalars of their own."""
    found: int = id.as_py() if hasattr(id, "as_py") else id
    return found


def _racks(given: Any, place: str) -> tuple[int, list[list[str | None]]]:
    """Return the number of partitions of a topic and the racks of each."""
    infos = [each if isinstance(each, PartitionInfo) else PartitionInfo(_plain_id(each)) for each in given]
    by_id = {info.partition: list(info.racks) for info in infos}
    if sorted(by_id) != list(range(len(by_id))):
        raise IllegalArgumentError(f"{place}: the partition ids must be 0 to n - 1")
    return len(by_id), [by_id[id] for id in range(len(by_id))]
