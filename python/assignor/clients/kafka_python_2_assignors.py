"""Assignors for `partition_assignment_strategy` of kafka-python's consumer, from 2.0.2 to 2.3.

    from assignor.clients.kafka_python import RangeAssignor

    consumer = KafkaConsumer("orders", group_id="g", partition_assignment_strategy=[RangeAssignor])

The classes have the names of those for kafka-python 3 (`assignor.clients.kafka_python_assignors`), and the same
arguments. A member writes the subscription that Kafka's consumer writes, in version 3. Consumers of kafka-python 2
rebalance eagerly, so there is no `cooperative-sticky`.

A leader of kafka-python 2 reads only the fields of version 0 of a subscription. So it ignores racks, accepts members
that Kafka's consumer rejects, such as those of kafka-go, and reads generations only in the user data of `sticky`.
Before 2.3 it does not get group instance ids either: static members are ordered by their member ids, among the others.

This module imports kafka-python.
"""

from __future__ import annotations

from typing import Any

from assignor.clients.plugged import ClassOrInstanceMethod
from assignor.clients.struct_assignors import EncodedAssignment, EncodedSubscription, StructAssignor
from assignor.dependencies import dependency

with dependency("kafka"):
    from kafka.coordinator import protocol
    from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor as OwnRange
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as OwnRoundRobin
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as OwnSticky

__all__ = ["RangeAssignor", "RoundRobinAssignor", "StickyAssignor"]


def _client_class(name: str) -> Any:
    """Return a class of the protocol; in 2.3 its name ends with its version."""
    return getattr(protocol, name, None) or getattr(protocol, f"{name}_v0")


Metadata: Any = _client_class("ConsumerProtocolMemberMetadata")
Assignment: Any = _client_class("ConsumerProtocolMemberAssignment")


class KafkaPython2Subscription(EncodedSubscription, Metadata):  # type: ignore[misc]  # the client has no types
    """Subscription of a member, which encodes to version 3."""


class KafkaPython2Assignment(EncodedAssignment, Assignment):  # type: ignore[misc]  # the client has no types
    """Assignment of a member as bytes."""

    _decoder = Assignment


class KafkaPython2Assignor(StructAssignor, AbstractPartitionAssignor):  # type: ignore[misc]  # the client has no types
    """Base of the assignors, which a consumer accepts as classes or as instances. All arguments are keywords.

    Args:
        client_rack: Rack of this consumer, for groups that another client leads. None or `""` means no rack.
        shadow: Use the subscriptions and the answers of kafka-python's own assignor of the same name, and log how the
            answers of Kafka's class differ: a line per rebalance on the logger `assignor.clients`, at INFO if the
            answers are equal, else at WARNING.
        tolerant: Has no effect: kafka-python 2 reads all members as if it were True.

    Raises:
        AssignorError: `client_rack` is not a name, or it has more than 32,767 bytes of UTF-8; or another argument is no
            bool.
    """

    _client = "kafka-python"
    _module = "assignor.clients.kafka_python"
    _assignment = KafkaPython2Assignment
    _subscription = KafkaPython2Subscription


class RangeAssignor(KafkaPython2Assignor):
    """Kafka's `range`: each member gets consecutive partitions of each of its topics."""

    name = "range"
    _own = OwnRange


class RoundRobinAssignor(KafkaPython2Assignor):
    """Kafka's `roundrobin`: members get the partitions of all topics in turn."""

    name = "roundrobin"
    _own = OwnRoundRobin


class StickyAssignor(KafkaPython2Assignor):
    """Kafka's `sticky`: balanced, and members keep their partitions if possible."""

    name = "sticky"
    _own = OwnSticky
    _reads_user_data = True

    @ClassOrInstanceMethod
    def on_generation_assignment(self, generation: int) -> None:
        """Remember the generation of the member's assignment."""
        member = self._member()
        if member.shadowed is not None:
            member.shadowed.on_generation_assignment(generation)
        member.membership.on_generation(generation)
