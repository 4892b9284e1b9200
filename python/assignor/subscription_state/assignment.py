"""Assigned partitions of one consumer in fetch order, each with its state.

Source: SubscriptionState.assignment and PartitionStates, kafka-clients 4.4.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.errors import IllegalStateError
from assignor.model import TopicPartition
from assignor.ordering import hash_order, presized_capacity
from assignor.subscription_state.partition_state import PartitionState
from assignor.validation import check_name, read_entries, read_int, read_partition

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Assignment", "read_partitions"]

_MOST = 2**31 - 1


class Assignment:
    """Assigned partitions of one consumer.

    Attributes:
        partitions: State of each assigned partition, in fetch order.
        id: Number of times that the assignment was replaced.
        topic_ids: Ids of the topics that the broker assigned.
    """

    __slots__ = ("id", "partitions", "topic_ids")

    def __init__(self) -> None:
        self.partitions: dict[TopicPartition, PartitionState] = {}
        self.id = 0
        self.topic_ids: frozenset[object] = frozenset()

    def find(self, tp: TopicPartition) -> PartitionState | None:
        """Return the state of a partition, or None if it is not assigned.

        Raises:
            WrongTypeError: `tp` is not a (topic, partition) tuple.
        """
        try:
            return self.partitions[tp]  # checked when it was assigned
        except (KeyError, TypeError, ValueError):  # not assigned, or not hashable, so not a valid tuple
            pass
        read_partition(tp, "SubscriptionState")
        return None

    def require(self, tp: TopicPartition) -> PartitionState:
        """Return the state of an assigned partition.

        Raises:
            IllegalStateError: The partition is not assigned.
            WrongTypeError: `tp` is not a (topic, partition) tuple.
        """
        try:
            return self.partitions[tp]
        except (KeyError, TypeError, ValueError):
            pass
        read_partition(tp, "SubscriptionState")
        raise IllegalStateError(f"No current assignment for partition {tp[0]}-{tp[1]}")

    def replace(self, ordered: Iterable[TopicPartition]) -> None:
        """Assign exactly these partitions, grouped by topic in this order; keep the state of partitions that stay."""
        by_topic: dict[str, list[TopicPartition]] = {}
        for tp in ordered:
            by_topic.setdefault(tp.topic, []).append(tp)
        before = self.partitions
        self.partitions = {tp: before.get(tp) or PartitionState() for each in by_topic.values() for tp in each}
        self.id += 1

    def clear(self) -> None:
        """Remove all partitions."""
        self.partitions = {}
        self.topic_ids = frozenset()
        self.id += 1

    def move_to_end(self, tp: TopicPartition) -> None:
        """Move a partition to the end of the fetch order; do nothing if it is not assigned."""
        if self.find(tp) is not None:
            # An equal tuple may hold an integer of another type.
            key = TopicPartition(*read_partition(tp, "SubscriptionState"))
            self.partitions[key] = self.partitions.pop(key)

    def describe(self) -> str:
        """Return Kafka's description of a user's assignment."""
        # Kafka prints a copy: a HashMap that was created with enough buckets.
        ordered = hash_order(self.partitions, presized_capacity(len(self.partitions)))
        listed = ", ".join(f"{topic}-{partition}" for topic, partition in ordered)
        return f"Assign([{listed}] , id={self.id})"


def read_partitions(partitions: Iterable[TopicPartition], owner: str) -> list[TopicPartition]:
    """Return the partitions of an iterable in its order.

    Args:
        partitions: The iterable.
        owner: Name of the caller, for error messages.

    Raises:
        WrongTypeError: The argument is not an iterable of partitions.
        IllegalArgumentError: A partition id does not fit 32 bits or is negative.
    """
    entries = read_entries(partitions, f"{owner}: partitions", "an iterable of (topic, partition)")
    found: list[Any] = [*entries]
    for index, tp in enumerate(found):
        if not (type(tp) is TopicPartition and type(tp[0]) is str and type(tp[1]) is int and 0 <= tp[1] <= _MOST):
            topic, partition = read_partition(tp, owner)
            found[index] = TopicPartition(topic, read_int(partition, f"{owner}: a partition id", bits=32))
    for topic in {topic for topic, _ in found}:
        check_name(topic, f"{owner}: a topic")
    return found
