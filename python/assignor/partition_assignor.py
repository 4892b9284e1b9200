"""Kafka's assignor interface in Python, and the range assignor behind it.

Source: org.apache.kafka.clients.consumer.ConsumerPartitionAssignor and RangeAssignor, kafka-clients 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from assignor._engine import Engine, check_engine
from assignor.model import RebalanceProtocol, TopicPartition

if TYPE_CHECKING:
    from assignor.model import PartitionInfo, Subscription

PartitionsPerTopic = Mapping[str, "int | Iterable[int | PartitionInfo]"]
Subscriptions = Mapping[str, "Subscription | Iterable[str]"]


@runtime_checkable
class PartitionAssignor(Protocol):
    """What a leader asks of an assignor (ConsumerPartitionAssignor); a pure function of plain data at heart.

    Attributes:
        name: Unique name that members vote for, such as `"range"`.
        version: Version of the assignor's user data.
    """

    @property
    def name(self) -> str:
        """Unique name that members vote for."""

    @property
    def version(self) -> int:
        """Version of the assignor's user data."""

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """The rebalance protocols it can work under."""

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:
        """What the member adds to its subscription when it joins."""

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Subscriptions
    ) -> Mapping[str, list[TopicPartition]]:
        """Who gets which partition; one entry per member."""

    def on_assignment(self, assignment: Iterable[TopicPartition], generation: int) -> None:
        """Called on every member with what it got."""


class RangeAssignor:
    """Range assignment behind Kafka's interface; it keeps no memory between calls.

    Args:
        engine: `"rust"` or `"reference"`.

    Raises:
        IllegalArgumentError: Another engine.

    Example:
        >>> RangeAssignor().assign({"t": 3}, {"C0": ["t"], "C1": ["t"]})["C1"]
        [TopicPartition(topic='t', partition=2)]
    """

    name = "range"
    version = 0

    def __init__(self, *, engine: Engine = "rust") -> None:
        check_engine(engine)
        self.engine: Engine = engine

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Eager only: it does not look at what members owned before."""
        return [RebalanceProtocol.EAGER]

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:  # noqa: ARG002 - the interface's signature
        """None: range needs nothing beyond the subscription."""
        return None

    def assign(
        self, partitions_per_topic: PartitionsPerTopic, subscriptions: Subscriptions
    ) -> dict[str, list[TopicPartition]]:
        """Who gets which partition, as `assignor.assign` says."""
        from assignor import assign  # the core loads when it is first needed

        return assign(partitions_per_topic, subscriptions, engine=self.engine)

    def on_assignment(self, assignment: Iterable[TopicPartition], generation: int) -> None:
        """Nothing to remember."""
