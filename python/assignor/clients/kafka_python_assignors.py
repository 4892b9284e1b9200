"""Assignors for `partition_assignment_strategy` of kafka-python's consumer; this module imports kafka-python.

The classes have Kafka's protocol names, so their members can be in one group with Java, librdkafka and aiokafka
consumers and with members that use kafka-python's own assignors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from assignor.clients.kafka_python import partitions_per_topic
from assignor.clients.membership import JoinedMembers, Membership, log_comparison, plan_joined
from assignor.errors import MissingDependencyError
from assignor.ordering import java_order

try:
    from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor, RebalanceProtocol
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor as OwnCooperativeSticky
    from kafka.coordinator.assignors.range import RangePartitionAssignor as OwnRange
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as OwnRoundRobin
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as OwnSticky
    from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription
except ImportError:
    raise MissingDependencyError(
        "kafka-python 3.0 or newer is not installed: pip install 'assignor[kafka-python]'"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assignor.model import PartitionInfo

__all__ = ["CooperativeStickyAssignor", "RangeAssignor", "RoundRobinAssignor", "StickyAssignor"]

VERSION = 3
"""Version of the ConsumerProtocol that is written; it is the version that Kafka's consumer writes."""


class EncodedAssignment(ConsumerProtocolAssignment, init=False):  # type: ignore[call-arg,misc]
    """Assignment of a member as bytes; its attributes are decoded when they are first read."""

    __slots__ = ("_encoded",)

    def __init__(self, encoded: bytes) -> None:
        self._encoded: bytes | None = encoded

    def encode(self, version: int | None = None, header: bool = True, framed: bool = False) -> bytes:
        """Return the bytes; attributes that were read, and so may have been changed, are encoded anew."""
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


FIELDS = ("_version", "tags", "unknown_tags", "assigned_partitions", "user_data")
"""Attributes of kafka-python's assignment."""


class KafkaPythonAssignor(AbstractPartitionAssignor):  # type: ignore[misc]
    """Base of the assignors.

    Args:
        client_rack: The rack of this consumer, the same as `client_rack` of the consumer. Assignors of Kafka, other
            than `roundrobin`, prefer partitions with a replica in it. None or `""` is no rack.
        shadow: Let kafka-python's own assignor of that name decide, and log how the answer of Kafka's assignor differs.

    Raises:
        AssignorError: `client_rack` is not a name.
    """

    name: ClassVar[str]
    _own: ClassVar[type[Any]]
    _reads_racks: ClassVar[bool] = True
    _reads_user_data: ClassVar[bool] = False
    _reads_owned: ClassVar[bool] = False
    _cooperative: ClassVar[bool] = False

    def __init__(self, *, client_rack: str | None = None, shadow: bool = False) -> None:
        self._membership = Membership(self.name, client_rack, self._cooperative)
        self._shadowed = self._own() if shadow else None

    def supported_protocols(self) -> list[RebalanceProtocol]:
        """Return the rebalance protocol of the member."""
        if self._shadowed is not None:
            own: list[RebalanceProtocol] = self._shadowed.supported_protocols()
            return own
        return [RebalanceProtocol(protocol) for protocol in self._membership.supported_protocols()]

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """Return the subscription for JoinGroup, in version 3 as Kafka's consumer writes it."""
        if self._shadowed is not None:
            return self._shadowed.metadata(topics)
        subscription = self._membership.subscription(topics)
        owned: dict[str, list[int]] = {}
        for topic, id in subscription.owned_partitions:
            owned.setdefault(topic, []).append(id)
        entry = ConsumerProtocolSubscription.TopicPartition
        return ConsumerProtocolSubscription(
            version=VERSION,
            topics=list(subscription.topics),
            user_data=subscription.user_data,
            owned_partitions=[
                entry(version=VERSION, topic=topic, partitions=sorted(owned[topic]))
                for topic in sorted(owned, key=java_order)
            ],
            generation_id=subscription.generation,
            rack_id=subscription.rack,
        )

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        """Remember the member's own assignment and its generation."""
        if self._shadowed is not None:
            self._shadowed.on_assignment(assignment, generation)
        self._membership.on_assignment(assignment.partitions(), generation)

    def assign(self, cluster: Any, members: Sequence[Any]) -> dict[str, ConsumerProtocolAssignment]:
        """Return the assignment of each member, as Kafka's assignor of that name computes it.

        Args:
            cluster: kafka-python's `ClusterMetadata`. Topics without known partitions are skipped, as in Kafka.
            members: The members of the JoinGroup response with decoded subscriptions.
        """
        if self._shadowed is not None:
            theirs: dict[str, ConsumerProtocolAssignment] = self._shadowed.assign(cluster, members)
            entries = {member: assignment.assigned_partitions for member, assignment in theirs.items()}
            log_comparison(self.name, "kafka-python", entries, lambda: self._plan(cluster, members))
            return theirs
        if not members:
            return {}
        encoded = self._plan(cluster, members).encode(VERSION)
        return {member: EncodedAssignment(data) for member, data in encoded.items()}

    def _plan(self, cluster: Any, members: Sequence[Any]) -> Any:
        joined = self._joined(members)
        return plan_joined(self.name, _partitions(cluster, joined.has_racks()), joined)

    def _joined(self, members: Sequence[Any]) -> JoinedMembers:
        subscriptions = [member.metadata for member in members]
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


class RangeAssignor(KafkaPythonAssignor):
    """Kafka's `range` for kafka-python: each member gets consecutive partitions of each of its topics."""

    name = "range"
    _own = OwnRange


class RoundRobinAssignor(KafkaPythonAssignor):
    """Kafka's `roundrobin` for kafka-python: members get the partitions of all topics in turn."""

    name = "roundrobin"
    _own = OwnRoundRobin
    _reads_racks = False


class StickyAssignor(KafkaPythonAssignor):
    """Kafka's `sticky` for kafka-python: balanced, and members keep their partitions if possible."""

    name = "sticky"
    _own = OwnSticky
    _reads_user_data = True


class CooperativeStickyAssignor(KafkaPythonAssignor):
    """Kafka's `cooperative-sticky` for kafka-python.

    Args:
        client_rack: As above.
        shadow: As above.
        eager: Take part in eager rebalances, next to an eager assignor such as `RangeAssignor` in the same consumer.
    """

    name = "cooperative-sticky"
    _own = OwnCooperativeSticky
    _reads_user_data = True
    _reads_owned = True
    _cooperative = True

    def __init__(self, *, client_rack: str | None = None, shadow: bool = False, eager: bool = False) -> None:
        super().__init__(client_rack=client_rack, shadow=shadow)
        self._membership.cooperative = not eager


def _bytes(user_data: Any) -> bytes | None:
    return user_data if user_data is None or isinstance(user_data, bytes) else bytes(user_data)


def _partitions(cluster: Any, with_racks: bool) -> dict[str, int | list[int]] | dict[str, int | list[PartitionInfo]]:
    if with_racks:
        return partitions_per_topic(cluster)
    found: dict[str, int | list[int]] = {}
    for topic in cluster.topics(exclude_internal_topics=False):
        ids = cluster.partitions_for_topic(topic)
        if ids:
            found[topic] = len(ids) if max(ids) == len(ids) - 1 and min(ids) == 0 else sorted(ids)
    return found
