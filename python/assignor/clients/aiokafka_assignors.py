"""Assignors for `partition_assignment_strategy` of aiokafka's consumer, 0.11.0 and newer.

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

If you pass the class, it keeps a separate state for each asyncio task, because each consumer joins in its own task.
(aiokafka's own sticky class shares its state among all consumers of a process.) A second consumer with the same
instance gets an IllegalStateError.

This module imports aiokafka.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from assignor.clients.membership import (
    VERSION,
    JoinedMembers,
    Membership,
    PluggedAssignor,
    calling,
    known_partitions,
    plan_joined,
)
from assignor.dependencies import dependency
from assignor.validation import read_bool, read_items, shown, wrong_type
from assignor.wire import encode_subscription

with dependency("aiokafka", version="0.11 or newer"):
    from aiokafka.consumer.group_coordinator import CoordinatorGroupRebalance, GroupCoordinator
    from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor as OwnRange
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as OwnRoundRobin
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as OwnSticky
    from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata

    # Before 0.11, instances have an attribute `encode` that hides the method of a subclass.
    if "encode" in vars(ConsumerProtocolMemberMetadata()):
        raise ImportError(name="aiokafka")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["RangeAssignor", "RoundRobinAssignor", "StickyAssignor"]


class EncodedSubscription(ConsumerProtocolMemberMetadata):  # type: ignore[misc]  # the client has no types
    """Subscription of a member, which encodes to version 3; aiokafka's class has only the fields of version 0."""

    def __init__(self, encoded: bytes, topics: Iterable[str], user_data: bytes | None) -> None:
        super().__init__(VERSION, list(topics), user_data)
        self._encoded = encoded

    def encode(self) -> bytes:
        """Return the bytes of version 3."""
        return self._encoded


class EncodedAssignment(ConsumerProtocolMemberAssignment):  # type: ignore[misc]  # the client has no types
    """Assignment of a member as bytes; its attributes are decoded when one is first read or written."""

    def __init__(self, encoded: bytes) -> None:
        self._encoded: bytes | None = encoded

    def encode(self) -> bytes:
        """Return the bytes; attributes that were read or written, and so may have been changed, are encoded again."""
        if self._encoded is not None:
            return self._encoded
        data: bytes = super().encode()
        return data

    def _decode(self) -> None:
        if self._encoded is not None:
            decoded = ConsumerProtocolMemberAssignment.decode(self._encoded)
            self._encoded = None
            self.version, self.assignment, self.user_data = decoded.version, decoded.assignment, decoded.user_data

    def __getattr__(self, name: str) -> Any:
        if name in self.SCHEMA.names and self._encoded is not None:
            self._decode()
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_encoded":
            self._decode()
        super().__setattr__(name, value)

    def get_item(self, name: str) -> Any:
        """Return a field by name."""
        self._decode()
        return super().get_item(name)

    def __repr__(self) -> str:
        self._decode()
        text: str = super().__repr__()
        return text

    def __eq__(self, other: object) -> bool:
        self._decode()
        if isinstance(other, EncodedAssignment):
            other._decode()
        equal: bool = super().__eq__(other)
        return equal

    __hash__ = object.__hash__


class _ClassOrInstanceMethod:
    """Method of an instance that can also be called on the class, which then uses the instance of the running task."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: AiokafkaAssignor | None, owner: type[AiokafkaAssignor]) -> Callable[..., Any]:
        bound: Callable[..., Any] = self._function.__get__(owner._of_running_task() if instance is None else instance)
        return bound


class AiokafkaAssignor(PluggedAssignor, AbstractPartitionAssignor):  # type: ignore[misc]  # the client has no types
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
    _assignment = EncodedAssignment
    _partitions_of = attrgetter("assignment")
    _own: ClassVar[type[Any]]
    _reads_user_data: ClassVar[bool] = False
    _instances: ClassVar[WeakKeyDictionary[object, Any]]

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        cls._instances = WeakKeyDictionary()

    def __init__(
        self,
        *,
        client_rack: str | None = None,
        shadow: bool = False,
        tolerant: bool = False,
    ) -> None:
        read_bool(tolerant, "tolerant")
        is_shadow = read_bool(shadow, "shadow")
        self._membership = Membership(self.name, client_rack)
        # aiokafka's own classes keep state in class attributes. A subclass per instance separates these states.
        self._shadowed: Any = type(self._own.__name__, (self._own,), {}) if is_shadow else None

    @classmethod
    def _of_running_task(cls) -> AiokafkaAssignor:
        """Return the instance for a call on the class in the running task: each consumer joins in a task of its own."""
        try:
            task: object = asyncio.current_task() or cls
        except RuntimeError:  # no event loop is running
            task = cls
        instance: AiokafkaAssignor | None = cls._instances.get(task)
        if instance is None:
            instance = cls._instances[task] = cls()
        return instance

    @_ClassOrInstanceMethod
    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        """Return the subscription for JoinGroup, in version 3 as Kafka's consumer writes it."""
        if self._shadowed is not None:
            return self._shadowed.metadata(topics)
        self._check_consumer(calling(GroupCoordinator, CoordinatorGroupRebalance))
        subscription = self._membership.subscription(topics)
        return EncodedSubscription(
            encode_subscription(subscription, VERSION), subscription.topics, subscription.user_data
        )

    @_ClassOrInstanceMethod
    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        """Remember the member's own assignment; aiokafka does not pass its generation."""
        if self._shadowed is not None:
            self._shadowed.on_assignment(assignment)
        self._check_consumer(calling(GroupCoordinator, CoordinatorGroupRebalance))
        self._membership.on_assignment(self._partitions_in(assignment))

    def _check_consumer(self, caller: Any) -> None:
        before = self._membership.consumer
        closing = getattr(before, "_closing", None)
        # A rebalance has the coordinator of its consumer.
        consumer = caller._coordinator if isinstance(caller, CoordinatorGroupRebalance) else caller
        self._membership.check_consumer(consumer, is_closed=closing is not None and closing.done())

    assign = _ClassOrInstanceMethod(PluggedAssignor.assign)

    def _read_members(self, members: Any) -> dict[Any, Any]:
        if not isinstance(members, Mapping):
            raise wrong_type("members", "a mapping of member ids to subscriptions", members)
        return dict(read_items(members, "members"))

    def _check_members(self, members: Mapping[Any, Any]) -> None:
        for id, member in members.items():
            if not (hasattr(member, "subscription") and hasattr(member, "user_data")):
                raise wrong_type(f"members: member {shown(id)}", "a decoded subscription of aiokafka", member)

    def _plan(self, cluster: Any, members: Mapping[str, Any]) -> Any:
        joined = JoinedMembers(
            list(members),
            [member.subscription for member in members.values()],
            user_data=[member.user_data for member in members.values()] if self._reads_user_data else None,
        )
        return plan_joined(self.name, known_partitions(cluster, joined), joined)


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
