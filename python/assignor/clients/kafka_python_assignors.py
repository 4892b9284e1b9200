"""Assignors for `partition_assignment_strategy` of kafka-python's consumer, 3.0.0 and newer.

    from assignor.clients.kafka_python import RangeAssignor

    consumer = KafkaConsumer("orders", group_id="g", partition_assignment_strategy=[RangeAssignor()])

The classes have Kafka's protocol names, so their members can be in one group with Java, librdkafka and aiokafka
consumers and with members that use kafka-python's own assignors. A member writes the subscription that Kafka's consumer
writes, in version 3: owned partitions, generation and rack. A leader reads group instance ids and racks, and gives the
answers of Kafka's classes. Pass an instance, or the class if you need no options. Each consumer has its own state, also
if several consumers use one instance.

Limits that come from kafka-python:

* An assignor is not called when its member loses the membership or calls `unsubscribe()`. When the member joins again,
  `CooperativeStickyAssignor` claims the partitions that the member had, with their generation. The claim of a current
  owner with a newer generation wins. kafka-python's own `CooperativeStickyAssignor` reports no generation, and neither
  does this module's class with `shadow=True`. A current owner that uses such a class loses the partition to the old
  claim, and both members own it until the current owner revokes it. So use this module's class, without `shadow=True`,
  in all kafka-python members of the group.
* kafka-python's own `StickyPartitionAssignor` writes two bytes before its user data that Kafka's class does not write.
  Neither Kafka's class nor `StickyAssignor` can read this user data, and kafka-python's class cannot read theirs. A
  leader of one kind assigns the partitions of members of the other kind as if they owned none.
* A leader that joins before it knows the metadata of its topics assigns no partitions, and joins again when it has
  the metadata. In kafka-python 3.0.12 a `poll(timeout_ms)` that ends during this second rebalance can leave the
  consumer outside the group. Call `consumer.topics()` before the first `poll`.

This module imports kafka-python.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from assignor.clients.kafka_python_topics import read_topics
from assignor.clients.membership import (
    VERSION,
    JoinedMembers,
    known_partitions,
    log,
    subscribed_topics,
)
from assignor.clients.plugged import ClassOrInstanceMethod, PluggedAssignor
from assignor.dependencies import dependency
from assignor.errors import WireError
from assignor.ordering import java_order
from assignor.validation import read_bool, read_entries, shown, wrong_type
from assignor.wire import decode_subscription

with dependency("kafka"):
    from kafka.coordinator import consumer as coordinator
    from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor as OwnCooperativeSticky
    from kafka.coordinator.assignors.range import RangePartitionAssignor as OwnRange
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as OwnRoundRobin
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as OwnSticky
    from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assignor.model import PartitionInfo

__all__ = ["CooperativeStickyAssignor", "RangeAssignor", "RoundRobinAssignor", "StickyAssignor"]


class EncodedAssignment(ConsumerProtocolAssignment, init=False):  # type: ignore[call-arg,misc]  # the client has no types
    """Assignment of a member as bytes; its attributes are decoded when one is first read or written."""

    __slots__ = ("_encoded",)

    def __init__(self, encoded: bytes) -> None:
        self._encoded: bytes | None = encoded

    def encode(self, version: int | None = None, header: bool = True, framed: bool = False) -> bytes:
        """Return the bytes; attributes that were read or written, and so may have been changed, are encoded again."""
        encoded = self._encoded
        if encoded is not None and version is None and header and not framed:
            return encoded
        self._decode()
        data: bytes = super().encode(version=version, header=header, framed=framed)
        return data

    def _decode(self) -> None:
        encoded, self._encoded = self._encoded, None
        if encoded is not None:
            decoded = ConsumerProtocolAssignment.decode(encoded)
            for name in FIELDS:
                setattr(self, name, getattr(decoded, name))

    def __getattr__(self, name: str) -> Any:
        if name in FIELDS and self._encoded is not None:
            self._decode()
            return getattr(self, name)
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "_encoded":
            self._decode()
        super().__setattr__(name, value)


FIELDS = ("_version", "tags", "unknown_tags", "assigned_partitions", "user_data")
"""Attributes of kafka-python's assignment."""


class ToleratedSubscription(ConsumerProtocolSubscription, init=False):  # type: ignore[call-arg,misc]  # the client has no types
    """Subscription whose body has an older version than its header; its `version` is that of the body."""

    __slots__ = ()

    @classmethod
    def decode(cls, data: bytes, *arguments: Any, **options: Any) -> Any:
        """Decode as kafka-python does; if that fails, use the tolerant reader.

        Raises:
            WireError: The tolerant reader cannot decode the subscription either.
        """
        try:
            return ConsumerProtocolSubscription.decode(data, *arguments, **options)
        except Exception:  # kafka-python raises errors of many classes
            read = decode_subscription(bytes(data), tolerant=True)
        version = read.version if read.tolerated is None else read.tolerated
        owned: dict[str, list[int]] = {}
        for topic, id in read.owned_partitions:
            owned.setdefault(topic, []).append(id)
        return cls(
            version=min(version, VERSION),
            topics=list(read.topics),
            user_data=read.user_data,
            owned_partitions=_owned_entries(owned),
            generation_id=-1 if read.generation is None else read.generation,
            rack_id=read.rack,
        )


class KafkaPythonAssignor(PluggedAssignor, AbstractPartitionAssignor):  # type: ignore[misc]  # the client has no types
    """Base of the assignors. All arguments are keywords.

    Args:
        client_rack: Rack of this consumer, the same as the consumer's own `client_rack`. Kafka's assignors, other than
            `roundrobin`, prefer partitions with a replica in it. None or `""` means no rack.
        shadow: Use the subscriptions and the answers of kafka-python's own assignor of the same name, and log how the
            answers of Kafka's class differ: a line per rebalance on the logger `assignor.clients`, at INFO if the
            answers are equal, else at WARNING.
        tolerant: Read subscriptions whose body has an older version than their header, as kafka-go writes them. Kafka's
            own consumer cannot lead a group with such a member, and neither can kafka-python, which raises
            `struct.error`. kafka-python decodes subscriptions before it calls an assignor, so this option
            replaces the decoder of all its consumers in this process. Assignors without it reject such members.

    Raises:
        AssignorError: `client_rack` is not a name, or it has more than 32,767 bytes of UTF-8; or another argument is no
            bool.
    """

    _client = "kafka-python"
    _module = "assignor.clients.kafka_python"
    _assignment = EncodedAssignment
    _partitions_of = attrgetter("assigned_partitions")
    _reads_racks: ClassVar[bool] = True
    _reads_owned: ClassVar[bool] = False

    def __init__(self, *, client_rack: str | None = None, shadow: bool = False, tolerant: bool = False) -> None:
        super().__init__(client_rack=client_rack, shadow=shadow, tolerant=tolerant)
        if tolerant:
            coordinator.ConsumerProtocolSubscription = ToleratedSubscription

    def _create_shadowed(self) -> Any:
        return self._own()

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Return the rebalance protocol of the member."""
        member = self._member()
        if member.shadowed is not None:
            own: list[RebalanceProtocol] = member.shadowed.supported_protocols()
            return own
        return [RebalanceProtocol(protocol) for protocol in member.membership.supported_protocols()]

    @ClassOrInstanceMethod
    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """Return the subscription for JoinGroup, in version 3 as Kafka's consumer writes it."""
        member = self._member()
        if member.shadowed is not None:
            return member.shadowed.metadata(topics)
        subscription = member.membership.subscription(topics)
        owned: dict[str, list[int]] = {}
        for topic, id in subscription.owned_partitions:
            owned.setdefault(topic, []).append(id)
        return ConsumerProtocolSubscription(
            version=VERSION,
            topics=list(subscription.topics),
            user_data=subscription.user_data,
            owned_partitions=_owned_entries(owned),
            generation_id=subscription.generation,
            rack_id=subscription.rack,
        )

    @ClassOrInstanceMethod
    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        """Remember the member's own assignment and its generation."""
        member = self._member()
        if member.shadowed is not None:
            member.shadowed.on_assignment(assignment, generation)
        member.membership.on_assignment(self._partitions_in(assignment), generation)

    def _read_members(self, members: Any) -> list[Any]:
        return list(read_entries(members, "members", "the members that kafka-python passes"))

    def _check_members(self, members: Sequence[Any]) -> None:
        for number, member in enumerate(members):
            for name in ("member_id", "group_instance_id", "metadata"):
                if not hasattr(member, name):
                    raise wrong_type(f"members: entry {number}", "a member that kafka-python passes", member)
            if not isinstance(member.metadata, ConsumerProtocolSubscription):
                what = f"members: entry {number}: metadata"
                raise wrong_type(what, "a decoded subscription of kafka-python", member.metadata)

    def _partitions(self, cluster: Any, joined: JoinedMembers) -> Mapping[str, int | list[int] | list[PartitionInfo]]:
        if not (joined.has_racks() and hasattr(cluster, "brokers")):
            return known_partitions(cluster, joined)
        return read_topics(cluster, subscribed_topics(cluster, joined)).partitions_per_topic(None)

    def _joined(self, members: Sequence[Any]) -> JoinedMembers:
        subscriptions = [member.metadata for member in members]
        if not self._is_tolerant and ToleratedSubscription in map(type, subscriptions):
            self._reject(members)
        versions = [subscription.version or 0 for subscription in subscriptions]
        instance_ids = [member.group_instance_id for member in members]
        racks = user_data = owned = generations = None
        # Reading a field that is not in the version of a subscription is slow.
        if self._reads_racks and max(versions) >= 3:
            racks = [
                each.rack_id if version >= 3 else None for each, version in zip(subscriptions, versions, strict=True)
            ]
        if self._reads_user_data:
            user_data = [_bytes(each.user_data) for each in subscriptions]
            if max(versions) >= 2:
                generations = [
                    each.generation_id if version >= 2 else -1
                    for each, version in zip(subscriptions, versions, strict=True)
                ]
        if self._reads_owned and max(versions) >= 1:
            owned = [
                [(entry.topic, entry.partitions) for entry in each.owned_partitions] if version >= 1 else []
                for each, version in zip(subscriptions, versions, strict=True)
            ]
        return JoinedMembers(
            [member.member_id for member in members],
            [each.topics for each in subscriptions],
            instance_ids if any(id is not None for id in instance_ids) else None,
            racks,
            user_data,
            owned,
            generations,
        )

    def _reject(self, members: Sequence[Any]) -> None:
        for member in members:
            if type(member.metadata) is ToleratedSubscription:
                reason = (
                    f"the body has version {member.metadata.version}, but the header has a newer version "
                    "(pass tolerant=True to read it)"
                )
                error = WireError(reason, 0, f"member {shown(member.member_id)}: subscription")
                log.error("%s: %s", self.name, error)  # kafka-python hides the error if `poll` has timed out meanwhile
                raise error


class RangeAssignor(KafkaPythonAssignor):
    """Kafka's `range` for kafka-python: each member gets consecutive partitions of each of its topics.

    Arguments are those of `KafkaPythonAssignor`.

    Example:
        >>> RangeAssignor(client_rack="r1").metadata({"payments", "orders"}).topics
        ['orders', 'payments']
    """

    name = "range"
    _own = OwnRange


class RoundRobinAssignor(KafkaPythonAssignor):
    """Kafka's `roundrobin` for kafka-python: members get the partitions of all topics in turn.

    Arguments are those of `KafkaPythonAssignor`.

    Example:
        >>> RoundRobinAssignor().name
        'roundrobin'
    """

    name = "roundrobin"
    _own = OwnRoundRobin
    _reads_racks = False


class StickyAssignor(KafkaPythonAssignor):
    """Kafka's `sticky` for kafka-python: balanced, and members keep their partitions if possible.

    A member gives up its partitions before it joins, and claims them in its user data. Arguments are those of
    `KafkaPythonAssignor`.

    Example:
        >>> assignor = StickyAssignor()
        >>> assignor.on_assignment(ConsumerProtocolAssignment(0, [("orders", [2])], None), 7)
        >>> assignor.metadata({"orders"}).user_data.hex(" ", 4)
        '00000001 00066f72 64657273 00000001 00000002 00000007'
    """

    name = "sticky"
    _own = OwnSticky
    _reads_user_data = True


class CooperativeStickyAssignor(KafkaPythonAssignor):
    """Kafka's `cooperative-sticky` for kafka-python: like `sticky`, but members keep their partitions while they join.

    kafka-python does not inform an assignor whether the consumer rebalances eagerly or cooperatively. Unless `eager` is
    True, this assignor is cooperative, and cannot be listed with an eager one. To change a running group from `range`
    without a stop, restart its members twice: first with `[CooperativeStickyAssignor(eager=True), RangeAssignor()]`,
    then with `[CooperativeStickyAssignor()]`.

    Use this class, without `shadow=True`, in all kafka-python members of a group. A member that loses its membership or
    calls `unsubscribe()` claims its old partitions when it joins again. If the current owner of such a partition
    reports no generation, as kafka-python's own class does, the old claim wins, and both members own the partition
    until the current owner revokes it.

    Args:
        eager: Give up all partitions before joining, and report none as owned.
        options: Arguments of `KafkaPythonAssignor`. With `shadow=True`, `eager` has no effect.

    Example:
        >>> assignor = CooperativeStickyAssignor()
        >>> assignor.on_assignment(ConsumerProtocolAssignment(0, [("orders", [2])], None), 7)
        >>> found = assignor.metadata({"orders"})
        >>> found.owned_partitions[0].topic, found.owned_partitions[0].partitions, found.generation_id
        ('orders', [2], 7)
    """

    name = "cooperative-sticky"
    _own = OwnCooperativeSticky
    _reads_user_data = True
    _reads_owned = True

    def __init__(self, *, eager: bool = False, **options: Any) -> None:
        self._cooperative = not read_bool(eager, "eager")
        super().__init__(**options)

    def _options(self) -> dict[str, object]:
        return {**super()._options(), "eager": not self._cooperative}


def _owned_entries(owned: dict[str, list[int]]) -> list[Any]:
    """Return owned partitions sorted by topic and id, as Kafka's consumer writes them."""
    entry = ConsumerProtocolSubscription.TopicPartition
    topics = sorted(owned, key=java_order)
    return [entry(version=VERSION, topic=topic, partitions=sorted(owned[topic])) for topic in topics]


def _bytes(user_data: Any) -> bytes | None:
    return user_data if user_data is None or isinstance(user_data, bytes) else bytes(user_data)
