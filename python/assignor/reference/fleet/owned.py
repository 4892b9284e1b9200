"""Partitions that members own before a rebalance."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from assignor.model import TopicPartition
from assignor.ordering import java_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.reference.fleet.assignor import Assignor
    from assignor.reference.fleet.cluster import Partitions

READS_OWNED = {("classic", "sticky"), ("classic", "cooperative-sticky"), ("consumer", "uniform")}
"""Assignors that start from the owned partitions of the members."""


class OwnedSpan(NamedTuple):
    """Span of consecutive partition ids of a topic."""

    topic: str
    start: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which is not needed


Owned = list[tuple[str, OwnedSpan]]
"""Spans of owned partitions with their members, in any order; spans may overlap."""


def claims(owned: Owned, members: Iterable[str], topics: Mapping[str, Partitions]) -> dict[str, list[TopicPartition]]:
    """Return the existing partitions that each member owns, by topic in Java's order and id."""
    found: dict[str, set[TopicPartition]] = defaultdict(set)
    for member, span in owned:
        if span.topic in topics:
            ids = range(span.start, min(span.start + span.count, topics[span.topic].count))
            found[member].update(TopicPartition(span.topic, id) for id in ids)
    return {
        member: sorted(found[member], key=lambda partition: (java_order(partition.topic), partition.partition))
        for member in members
    }


def spans(partitions: Iterable[TopicPartition]) -> list[OwnedSpan]:
    """Combine partitions into spans that are as long as possible."""
    found: list[OwnedSpan] = []
    for topic, id in partitions:
        if found and found[-1].topic == topic and found[-1].start + found[-1].count == id:
            found[-1] = found[-1]._replace(count=found[-1].count + 1)
        else:
            found.append(OwnedSpan(topic, id, 1))
    return found


def sent_bytes(assignor: Assignor | None, claimed: list[TopicPartition]) -> int:
    """Return the size in bytes of the user data and owned partitions that a consumer sends with its subscription.

    Source: Kafka 4.4.0, `StickyAssignor.serializeTopicPartitionAssignment` and
    `CooperativeStickyAssignor.subscriptionUserData`. The lengths that precede both fields are not counted.
    """
    topics = {topic for topic, _ in claimed}
    owned = sum(2 + len(topic.encode()) + 4 for topic in topics) + 4 * len(claimed)
    match assignor:
        case ("classic", "sticky") if claimed:
            return 4 + owned + 4  # topics with their ids, generation
        case ("classic", "cooperative-sticky"):
            return owned + 4  # generation
        case _:
            return 0
