"""The topics of one cluster: as they are, and as they would be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError, UnsupportedPatternError
from assignor.model import PartitionInfo
from assignor.ordering import java_order
from assignor.reference.matching.pattern import check_topic

if TYPE_CHECKING:
    from assignor.reference.matching.pattern import Pattern

MOST_PARTITIONS = 10_000_000
"""How many partitions a topic may have in a scenario: more than the largest clusters have in all."""


@dataclass(frozen=True)
class Partitions:
    """The partitions of a topic, with ids from 0 on.

    Attributes:
        count: How many.
        racks: The racks that the replicas of each of the first partitions are on; those after them are on the same
            racks, over and over. Empty where no replica is on any.
        topic_id: The id of the topic, if it is known.
    """

    count: int
    racks: tuple[frozenset[str], ...] = ()
    topic_id: int | None = None

    def on(self, id: int) -> frozenset[str]:
        """The racks that the replicas of a partition are on."""
        return self.racks[id % len(self.racks)] if self.racks else frozenset()

    def given(self) -> int | list[PartitionInfo]:
        """The partitions as `assign` takes them."""
        if not self.racks:
            return self.count
        return [PartitionInfo(id, tuple(sorted(self.on(id)))) for id in range(self.count)]


@dataclass(frozen=True)
class Cluster:
    """A cluster's topics by name, where groups find what they subscribe to."""

    topics: dict[str, Partitions] = field(default_factory=dict)

    def matching(self, pattern: Pattern) -> list[str]:
        """The topics that a pattern matches, in Java's order; names that Kafka could not have are left out."""
        return [
            topic for topic in sorted(self.topics, key=java_order) if can_be_tried(topic) and pattern.matches(topic)
        ]

    def multiplied(self, factor: int) -> Cluster:
        """With so many times the partitions; 0 and 1 change nothing."""
        return self._with({name: found.count * max(factor, 1) for name, found in self.topics.items()})

    def with_partitions(self, topic: str, count: int) -> Cluster:
        """With so many partitions in a topic, if there is such a topic and it has no more already."""
        found = self.topics.get(topic)
        return self if found is None else self._with({topic: max(count, found.count)})

    def with_topic(self, topic: str, count: int) -> Cluster:
        """With one topic more, unless there is a topic of that name."""
        return self if topic in self.topics else self._with({topic: count})

    def _with(self, counts: dict[str, int]) -> Cluster:
        topics = dict(self.topics)
        for topic, count in counts.items():
            topics[topic] = replace(topics.get(topic, Partitions(0)), count=count)
        return replace(self, topics=topics)


def can_be_tried(topic: str) -> bool:
    """Whether patterns can be tried on the name."""
    try:
        check_topic(topic)
    except IllegalArgumentError:
        return False
    return True


def matches(pattern: Pattern, topic: str) -> bool:
    """Whether a pattern matches a topic that is added; one that takes too long on it does not."""
    try:
        return can_be_tried(topic) and pattern.matches(topic)
    except UnsupportedPatternError:
        return False
