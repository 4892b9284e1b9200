"""Assignors for `partition_assignment_strategy` of aiokafka's consumer, 0.10.0 and newer.

    from assignor.clients.aiokafka import RangeAssignor

    consumer = AIOKafkaConsumer("orders", group_id="g", partition_assignment_strategy=(RangeAssignor,))

The classes have Kafka's protocol names, so their members can be in one group with Java, librdkafka and kafka-python
consumers and with members that use aiokafka's own assignors. A member writes the subscription that Kafka's consumer
writes, in version 3. aiokafka is eager, so there is no `cooperative-sticky`. Pass a class, or an instance with options.

aiokafka does not pass these values to the assignor of a leader, so the answer can differ from Kafka's:

* Group instance ids. Static members are ordered by their member ids, among the others.
* Racks of the members. Partitions are assigned as if no member had a rack.
* Generations. The user data of `StickyAssignor` has the generation -1, as in aiokafka's own class. If two members claim
  the same partition, neither keeps it.

aiokafka reads only the fields of version 0, and ignores what follows. It therefore accepts members that Kafka's
consumer rejects, such as those of kafka-go with a version 1 header and a version 0 body.

Each consumer has its own state, also if several use the class or one instance. (aiokafka's own sticky class shares its
state among all consumers of a process.)

This module imports aiokafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from assignor.clients.struct_assignors import EncodedAssignment, EncodedSubscription, StructAssignor
from assignor.dependencies import dependency

with dependency("aiokafka"):
    from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor as OwnRange
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as OwnRoundRobin
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as OwnSticky
    from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata

if TYPE_CHECKING:
    from assignor.names import AssignorName

__all__ = ["RangeAssignor", "RoundRobinAssignor", "StickyAssignor"]


class AiokafkaSubscription(EncodedSubscription, ConsumerProtocolMemberMetadata):  # type: ignore[misc]  # the client has no types
    """Subscription of a member, which encodes to version 3; aiokafka's class has only the fields of version 0."""


class AiokafkaAssignment(EncodedAssignment, ConsumerProtocolMemberAssignment):  # type: ignore[misc]  # the client has no types
    """Assignment of a member as bytes; its attributes are decoded when one is first read or written."""

    _decoder = ConsumerProtocolMemberAssignment


class AiokafkaAssignor(StructAssignor, AbstractPartitionAssignor):  # type: ignore[misc]  # the client has no types
    """Base of the assignors, which a consumer accepts as classes or as instances. All arguments are keywords.

    Args:
        client_rack: Rack of this consumer, for groups that another client leads. None or `""` means no rack.
        shadow: Use the subscriptions and the answers of aiokafka's own assignor of the same name, and log how the
            answers of Kafka's class differ: a line per rebalance on the logger `assignor.clients`, at INFO if the
            answers are equal, else at WARNING.
        tolerant: Has no effect: aiokafka reads all members as if it were True. It is accepted so that the same
            arguments work for aiokafka and kafka-python.

    Raises:
        AssignorError: `client_rack` is not a name, or it has more than 32,767 bytes of UTF-8; or another argument is no
            bool.
    """

    _client = "aiokafka"
    name: ClassVar[AssignorName]  # the client declares any str
    _module = "assignor.clients.aiokafka"
    _assignment = AiokafkaAssignment
    _subscription = AiokafkaSubscription


class RangeAssignor(AiokafkaAssignor):
    """Kafka's `range` for aiokafka: each member gets consecutive partitions of each of its topics.

    Arguments are those of `AiokafkaAssignor`.

    Example:
        >>> RangeAssignor.metadata({"payments", "orders"}).subscription
        ['orders', 'payments']
    """

    name = "range"
    _own = OwnRange


class RoundRobinAssignor(AiokafkaAssignor):
    r"""Kafka's `roundrobin` for aiokafka: members get the partitions of all topics in turn.

    Arguments are those of `AiokafkaAssignor`.

    Example:
        >>> RoundRobinAssignor(client_rack="r1").metadata({"orders"}).encode()[-4:]
        b'\x00\x02r1'
    """

    name = "roundrobin"
    _own = OwnRoundRobin


class StickyAssignor(AiokafkaAssignor):
    """Kafka's `sticky` for aiokafka: balanced, and members keep their partitions if possible.

    Arguments are those of `AiokafkaAssignor`.

    Example:
        >>> assignor = StickyAssignor()
        >>> assignor.on_assignment(ConsumerProtocolMemberAssignment(0, [("orders", [2])], None))
        >>> assignor.metadata({"orders"}).user_data.hex(" ", 4)
        '00000001 00066f72 64657273 00000001 00000002 ffffffff'
    """

    name = "sticky"
    _own = OwnSticky
    _reads_user_data = True
