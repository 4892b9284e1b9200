"""What a leader does, done by the coordinator: it knows the topics, and assigns their partitions to the members.

A group is led here if its members are consumers that agree on the protocol of the coordinator's own assignor. In others
one of the members leads, as in Kafka. In both, the topics that the coordinator knows of tell why a leader joins again.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from assignor import wire
from assignor.coordinator.cause import RebalanceCause
from assignor.coordinator.subscribed_topics import CONSUMER
from assignor.errors import WireError
from assignor.model import Subscription
from assignor.partition_assignor import RangeAssignor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor import Topics
    from assignor.coordinator.group import ClassicGroup, GroupMember
    from assignor.coordinator.outbox import Outbox
    from assignor.model import PartitionInfo
    from assignor.partition_assignor import PartitionAssignor, PartitionsPerTopic

__all__ = ["Leading"]

NEWEST_VERSION = 3
"""Of the ConsumerProtocol."""


class Leading:
    """The topics, and the assignor, if there is one."""

    def __init__(
        self,
        assignor: PartitionAssignor | None,
        partitions_per_topic: PartitionsPerTopic | None,
        outbox: Outbox,
    ) -> None:
        self._assignor = assignor
        self._out = outbox
        self._topics: Topics | None = None
        self._ids: dict[str, range | frozenset[int]] = {}
        self._sizes: dict[str, int] | None = None
        if partitions_per_topic is not None:
            self.learn(partitions_per_topic)

    def learn(self, partitions_per_topic: PartitionsPerTopic) -> None:
        """Know these topics, and no others."""
        from assignor import Topics  # the core loads when it is first needed

        self._topics = Topics(partitions_per_topic)
        self._ids = {
            topic: range(partitions) if isinstance(partitions, int) else frozenset(map(_partition_id, partitions))
            for topic, partitions in self._topics.items()
        }
        self._sizes = {topic: len(ids) for topic, ids in self._ids.items()}

    def may_exist(self, topic: str, partition: int) -> bool:
        """Whether a partition is known; where nobody tells of topics any may be."""
        return self._sizes is None or partition in self._ids.get(topic, ())

    def leads(self, group: ClassicGroup) -> bool:
        """Whether the coordinator makes the group's assignment."""
        return (
            self._assignor is not None
            and self._topics is not None
            and group.protocol_type == CONSUMER
            and group.protocol_name == self._assignor.name
        )

    def remember_topics(self, group: ClassicGroup) -> None:
        """Note how large the group's topics are as its generation begins."""
        if self._sizes is None or group.subscribed_topics is None:
            group.topic_sizes = None
        else:
            group.topic_sizes = {topic: self._sizes.get(topic) for topic in group.subscribed_topics}

    def recall_topics(self, group: ClassicGroup) -> None:
        """Note how large the topics of a group from a log are, or how large they were where the coordinator led it.

        They may have changed while nobody watched, or as it rebalanced for that. The log does not tell of topics, but
        all their partitions were handed out.
        """
        self.remember_topics(group)
        if not group.led_here or group.topic_sizes is None:
            return
        try:
            owned = {
                partition
                for member in group.members.in_any_order()
                if member.assignment
                for partition in wire.decode_assignment(member.assignment).partitions
            }
        except WireError:  # whoever led before wrote something else
            return
        sizes = Counter(topic for topic, _ in owned)
        group.topic_sizes = {topic: sizes.get(topic) for topic in group.topic_sizes}

    def changed_topic(self, group: ClassicGroup) -> tuple[RebalanceCause, str] | None:
        """What became of the group's topics since its generation began, as a cause and a sentence."""
        if self._sizes is None or group.topic_sizes is None:
            return None
        for topic, before in sorted(group.topic_sizes.items()):
            size = self._sizes.get(topic)
            if size is None and before is not None:
                return RebalanceCause.TOPIC_DELETED, f"Topic {topic!r} was deleted."
            if size is not None and before is None:
                return RebalanceCause.TOPIC_CREATED, f"Topic {topic!r} was created with {size} partitions."
            if size is not None and before is not None and size > before:
                return (
                    RebalanceCause.PARTITIONS_INCREASED,
                    f"Topic {topic!r} has {size} partitions instead of {before}.",
                )
            if size != before:
                return RebalanceCause.TOPIC_CREATED, f"Topic {topic!r} was created anew with {size} partitions."
        return None

    def assign(self, group: ClassicGroup) -> dict[str, bytes]:
        """The assignment of each member, as bytes of the ConsumerProtocol.

        A member whose subscription cannot be read gets nothing. Where the assignor fails everybody keeps what they had.
        """
        assigned = self._decide(group)
        # Who gets nothing is told so in words: a Java consumer stops when it gets no bytes.
        nothing = wire.encode_assignment((), version=0)
        return {member.member_id: assigned.get(member.member_id) or nothing for member in group.members}

    def _decide(self, group: ClassicGroup) -> dict[str, bytes]:
        assert self._assignor is not None
        try:
            if type(self._assignor) is RangeAssignor and self._assignor.engine == "rust":
                try:
                    return self._assign_by_range(group, list(group.members))
                except WireError:  # a member's; only then they are read one by one
                    return self._assign_by_range(group, self._readable(group))
            return self._assign(group, self._readable(group))
        except Exception as error:  # an assignor is somebody else's code
            self._out.problem(
                f"group {group.group_id!r}: the assignor {self._assignor.name!r} failed, and everybody keeps what they "
                f"had: {type(error).__name__}: {error}"
            )
            return {member.member_id: member.assignment for member in group.members}

    def _assign_by_range(self, group: ClassicGroup, members: list[GroupMember]) -> dict[str, bytes]:
        """Straight from bytes to bytes in the engine."""
        from assignor import Group  # the core loads when it is first needed

        assert self._topics is not None
        joined = [
            (member.member_id, member.group_instance_id, member.metadata(group.protocol_name)) for member in members
        ]
        read = Group.from_wire(self._topics, joined, tolerant=True)
        return read.plan().encode(_oldest_version(metadata for _, _, metadata in joined))

    def _assign(self, group: ClassicGroup, members: list[GroupMember]) -> dict[str, bytes]:
        assert self._assignor is not None
        assert self._topics is not None
        subscriptions = {}
        for member in members:
            read = wire.decode_subscription(member.metadata(group.protocol_name), tolerant=True)
            subscriptions[member.member_id] = Subscription(
                topics=read.topics,
                group_instance_id=member.group_instance_id,
                rack=read.rack,
                owned_partitions=read.owned_partitions,
                generation=read.generation,
                user_data=read.user_data,
            )
        version = _oldest_version(member.metadata(group.protocol_name) for member in members)
        assignment = self._assignor.assign(self._topics, subscriptions)
        return {
            member_id: wire.encode_assignment(assignment.get(member_id, ()), version=version)
            for member_id in subscriptions
        }

    def _readable(self, group: ClassicGroup) -> list[GroupMember]:
        return [member for member in group.members if self._can_read(group, member)]

    def _can_read(self, group: ClassicGroup, member: GroupMember) -> bool:
        try:
            wire.decode_subscription(member.metadata(group.protocol_name), tolerant=True)
        except WireError as error:
            self._out.problem(
                f"group {group.group_id!r}: member {member.member_id!r} gets no partitions, as its subscription cannot "
                f"be read: {error}"
            )
            return False
        return True


def _partition_id(partition: int | PartitionInfo) -> int:
    return partition if isinstance(partition, int) else partition.partition


def _oldest_version(subscriptions: Iterable[bytes]) -> int:
    """The version in which the answer is written: all members can read that of the oldest of them."""
    versions = [int.from_bytes(subscription[:2], "big", signed=True) for subscription in subscriptions]
    return max(0, min([NEWEST_VERSION, *versions]))
