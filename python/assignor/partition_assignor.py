"""Kafka's assignor interface in Python, and the range assignor behind it.

Source: org.apache.kafka.clients.consumer.ConsumerPartitionAssignor and RangeAssignor, kafka-clients 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from assignor._engine import Engine, check_engine
from assignor.model import RebalanceProtocol, TopicPartition

if TYPE_CHECKING:
    from assignor import Topics
    from assignor.model import PartitionInfo, Subscription

PartitionsPerTopic = Mapping[str, "int | Iterable[int | PartitionInfo]"]
Subscriptions = Mapping[str, "Subscription | Iterable[str]"]

EncodedMember = tuple[str, str | None, bytes]
"""Member id, instance id, and subscription as bytes of the ConsumerProtocol."""


@runtime_checkable
class PartitionAssignor(Protocol):
    """What a leader asks of an assignor (ConsumerPartitionAssignor); a pure function of plain data at heart.

    An assignor may also have the method `assign_encoded` of `RangeAssignor`. A coordinator calls it instead of `assign`
    if it is there and does not return None.

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

    def assign_encoded(
        self, topics: Topics, members: Sequence[EncodedMember], *, version: int
    ) -> dict[str, bytes] | None:
        """Assign from encoded subscriptions to encoded assignments in the engine, without an object per partition.

        Args:
            topics: The topics of the cluster.
            members: Member id, instance id and encoded subscription of each member.
            version: Version of the ConsumerProtocol in which the assignments are encoded.

        Returns:
            The assignment of each member that gets partitions; None if only `assign` is available, which holds for the
            reference engine and for a subclass with an `assign` of its own.

        Raises:
            WireError: A subscription cannot be read.
        """
        if self.engine != "rust" or type(self).assign is not RangeAssignor.assign:
            return None
        from assignor import Group  # the core loads when it is first needed

        return Group.from_wire(topics, members, tolerant=True).plan().encode(version)

    def on_assignment(self, assignment: Iterable[TopicPartition], generation: int) -> None:
        """Nothing to remember."""
