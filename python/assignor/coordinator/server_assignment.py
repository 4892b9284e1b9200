"""Server-side assignment: the topics of the cluster, and the assignments that the coordinator computes.

The coordinator computes the assignment of a group of consumers that agree on the protocol of the coordinator's
assignor. In other groups a member leads, as in Kafka. The coordinator also compares the topics with those at the start
of the generation, to explain why a leader joins again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from assignor import wire
from assignor.coordinator.causes import TopicChanged
from assignor.coordinator.members import CONSUMER
from assignor.errors import WireError
from assignor.model import RebalanceProtocol, Subscription

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor import Topics
    from assignor.coordinator.group import ClassicGroup, TopicSizes
    from assignor.model import PartitionInfo, TopicPartition
    from assignor.partition_assignor import EncodedMember, PartitionAssignor, PartitionsPerTopic

__all__ = ["CoordinatorAssignor", "CoordinatorTopics"]

NEWEST_VERSION = 3
"""Newest version of the ConsumerProtocol."""


class CoordinatorTopics:
    """Topics of the cluster and their partitions; unknown until the caller passes them.

    Attributes:
        topics: The topics as an `assignor.Topics`; None if unknown.
    """

    def __init__(self, partitions_per_topic: PartitionsPerTopic | None) -> None:
        self.topics: Topics | None = None
        self._ids: dict[str, range | frozenset[int]] = {}
        self._sizes: dict[str, tuple[str, int]] = {}  # groups share the pairs
        if partitions_per_topic is not None:
            self.replace(partitions_per_topic)

    def replace(self, partitions_per_topic: PartitionsPerTopic) -> None:
        """Replace all topics."""
        from assignor import Topics  # import the core when it is first needed

        self.topics = Topics(partitions_per_topic)
        self._ids = {
            topic: range(partitions) if isinstance(partitions, int) else frozenset(map(_partition_id, partitions))
            for topic, partitions in self.topics.items()
        }
        self._sizes = {topic: (topic, len(ids)) for topic, ids in self._ids.items()}

    def may_exist(self, topic: str, partition: int) -> bool:
        """Return True if the partition exists, or if the topics are unknown."""
        return self.topics is None or partition in self._ids.get(topic, ())

    def sizes(self, names: tuple[str, ...] | None) -> TopicSizes | None:
        """Return these topics with their partition counts (None for a missing topic).

        Return None if the names or the topics of the cluster are unknown.
        """
        if self.topics is None or names is None:
            return None
        return tuple([self._sizes.get(topic) or (topic, None) for topic in names])

    def changed_since(self, sizes: TopicSizes | None) -> TopicChanged | None:
        """Return the first topic whose partition count differs from the given one, or None."""
        if self.topics is not None and sizes is not None:
            for topic, before in sizes:
                after = self._sizes.get(topic, (topic, None))[1]
                if after != before:
                    return TopicChanged(topic, before, after)
        return None


class CoordinatorAssignor:
    """The coordinator's own assignor, if it has one.

    Args:
        assignor: The assignor, or None.
        topics: The topics of the cluster.
    """

    def __init__(self, assignor: PartitionAssignor | None, topics: CoordinatorTopics) -> None:
        self._assignor = assignor
        self._topics = topics

    def assigns(self, group: ClassicGroup) -> bool:
        """Return True if the coordinator computes the group's assignment."""
        return (
            self._assignor is not None
            and group.protocol_type == CONSUMER
            and group.protocol_name == self._assignor.name
        )

    def sizes_when_loaded(self, group: ClassicGroup) -> TopicSizes | None:
        """Return the partition counts of a loaded group's topics at the start of its generation, if known.

        The log does not store partition counts. If the coordinator computed the assignment, the members own all
        partitions that existed at the start of the generation, so the owned partitions are counted. A partition that a
        cooperative assignor withheld appears among the owned partitions of a subscription. For other groups return the
        current counts.
        """
        sizes = self._topics.sizes(group.subscribed_topics)
        if sizes is None or self._assignor is None or not group.is_server_assigned:
            return sizes
        withholds = RebalanceProtocol.COOPERATIVE in self._assignor.supported_protocols()
        owned: set[TopicPartition] = set()
        try:
            for member in group.members.values():
                if member.assignment:
                    owned.update(wire.decode_assignment(member.assignment).partitions)
                if withholds:
                    subscription = wire.decode_subscription(member.metadata(group.protocol_name), tolerant=True)
                    owned.update(subscription.owned_partitions)
        except WireError:  # an earlier leader wrote a different format
            return sizes
        counts = Counter(topic for topic, _ in owned)
        return tuple((topic, counts.get(topic)) for topic, _ in sizes)

    def assign(self, group: ClassicGroup) -> tuple[dict[str, bytes], list[str]]:
        """Compute the assignment of a group.

        Returns:
            Assignment of each member, encoded as ConsumerProtocol, and sentences about problems. A member whose
            subscription cannot be decoded gets no partitions. If the assignor fails, all members keep their
            assignments.
        """
        assert self._assignor is not None
        problems: list[str] = []
        try:
            assigned = self._assign(group, problems)
        except Exception as error:  # the assignor may be the caller's code
            problems.append(
                f"group {group.group_id!r}: the assignor {self._assignor.name!r} failed, and all members keep their "
                f"assignments: {type(error).__name__}: {error}"
            )
            assigned = {member.member_id: member.assignment for member in group.members.values()}
        # A Java consumer fails if its assignment has no bytes, so an empty assignment is encoded too.
        empty = wire.encode_assignment((), version=0)
        return {member_id: assigned.get(member_id) or empty for member_id in group.members}, problems

    def _assign(self, group: ClassicGroup, problems: list[str]) -> dict[str, bytes]:
        members = [
            (member.member_id, member.group_instance_id, member.metadata(group.protocol_name))
            for member in group.members.in_order()
        ]
        assign_encoded = getattr(self._assignor, "assign_encoded", None)
        if assign_encoded is not None:
            try:
                assigned = assign_encoded(self._topics.topics, members, version=_oldest_version(members))
            except WireError:  # decode each subscription to find those that cannot be decoded
                members = _readable(group.group_id, members, problems)
                assigned = assign_encoded(self._topics.topics, members, version=_oldest_version(members))
            if assigned is not None:
                return assigned  # type: ignore[no-any-return]  # an optional method
        return self._assign_decoded(_readable(group.group_id, members, problems))

    def _assign_decoded(self, members: list[EncodedMember]) -> dict[str, bytes]:
        assert self._assignor is not None
        assert self._topics.topics is not None
        subscriptions = {}
        for member_id, group_instance_id, metadata in members:
            decoded = wire.decode_subscription(metadata, tolerant=True)
            subscriptions[member_id] = Subscription(
                topics=decoded.topics,
                group_instance_id=group_instance_id,
                rack=decoded.rack,
                owned_partitions=decoded.owned_partitions,
                generation=decoded.generation,
                user_data=decoded.user_data,
            )
        version = _oldest_version(members)
        assignment = self._assignor.assign(self._topics.topics, subscriptions)
        return {
            member_id: wire.encode_assignment(assignment.get(member_id, ()), version=version)
            for member_id in subscriptions
        }


def _readable(group_id: str, members: list[EncodedMember], problems: list[str]) -> list[EncodedMember]:
    """Return the members whose subscriptions can be decoded, and report the others."""
    readable = []
    for member in members:
        try:
            wire.decode_subscription(member[2], tolerant=True)
        except WireError as error:
            problems.append(
                f"group {group_id!r}: member {member[0]!r} gets no partitions, because its subscription cannot be "
                f"decoded: {error}"
            )
        else:
            readable.append(member)
    return readable


def _partition_id(partition: int | PartitionInfo) -> int:
    return partition if isinstance(partition, int) else partition.partition


def _oldest_version(members: Iterable[EncodedMember]) -> int:
    """Return the version of the oldest subscription: all members can decode an assignment of this version."""
    versions = [int.from_bytes(metadata[:2], "big", signed=True) for _, _, metadata in members]
    return max(0, min([NEWEST_VERSION, *versions]))
