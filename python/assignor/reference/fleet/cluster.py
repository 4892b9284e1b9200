"""Topics of a cluster, and changes of them in scenarios."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError, UnsupportedPatternError
from assignor.model import PartitionInfo
from assignor.ordering import java_order
from assignor.reference.matching.pattern import check_topic

if TYPE_CHECKING:
    from assignor.reference.matching.pattern import Pattern

MAX_PARTITIONS = 10_000_000
"""Largest number of partitions of a topic in a scenario; it exceeds the size of the largest clusters."""


@dataclass(frozen=True)
class Partitions:
    """Partitions of a topic, with ids from 0.

    Attributes:
        count: The number of partitions.
        racks: The racks of the replicas of the first partitions; later partitions repeat these racks. Empty if no
            replica has a rack.
        topic_id: The id of the topic, if it is known.
    """

    count: int
    racks: tuple[frozenset[str], ...] = ()
    topic_id: int | None = None

    def on(self, id: int) -> frozenset[str]:
        """Return the racks of the replicas of a partition."""
        return self.racks[id % len(self.racks)] if self.racks else frozenset()

    def given(self) -> int | list[PartitionInfo]:
        """Return the partitions in the form that `assign` takes."""
        if not self.racks:
            return self.count
        return [PartitionInfo(id, tuple(sorted(self.on(id)))) for id in range(self.count)]


@dataclass(frozen=True)
class Cluster:
    """Topics of a cluster by name."""

    topics: dict[str, Partitions] = field(default_factory=dict)

    def matching(self, pattern: Pattern) -> list[str]:
        """Return the topics that match a pattern, in Java's order; names that `is_matchable` rejects never match."""
        return [
            topic for topic in sorted(self.topics, key=java_order) if is_matchable(topic) and pattern.matches(topic)
        ]

    def multiplied(self, factor: int) -> Cluster:
        """Return the cluster with the partition count of each topic multiplied by `factor`; 0 and 1 change nothing."""
        return self._with({name: found.count * max(factor, 1) for name, found in self.topics.items()})

    def with_partitions(self, topic: str, count: int) -> Cluster:
        """Return the cluster with at least `count` partitions in a topic; a missing topic is not added."""
        found = self.topics.get(topic)
        return self if found is None else self._with({topic: max(count, found.count)})

    def with_topic(self, topic: str, count: int) -> Cluster:
        """Return the cluster with another topic, unless a topic with that name exists."""
        return self if topic in self.topics else self._with({topic: count})

    def _with(self, counts: dict[str, int]) -> Cluster:
        topics = dict(self.topics)
        for topic, count in counts.items():
            topics[topic] = replace(topics.get(topic, Partitions(0)), count=count)
        return replace(self, topics=topics)


def is_matchable(topic: str) -> bool:
    """Return True if patterns can be tried on a topic name: it is printable ASCII, and not longer than Kafka allows."""
    try:
        check_topic(topic)
    except IllegalArgumentError:
        return False
    return True


def matches(pattern: Pattern, topic: str) -> bool:
    """Return True if a pattern matches a new topic; a pattern that takes too many steps does not match."""
    try:
        return is_matchable(topic) and pattern.matches(topic)
    except UnsupportedPatternError:
        return False
