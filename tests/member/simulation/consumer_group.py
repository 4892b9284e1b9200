"""State of one consumer group in the model of the coordinator.

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup and modern.ModernGroup, Kafka 4.3.1.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assignor.ordering import text_order
from tests.member.simulation.hash_tables import HashTable, TimelineTable, string_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from tests.member.simulation.group_member import GroupMember, Partitions
    from tests.member.simulation.targets import Topic

__all__ = ["ConsumerGroup", "Membership", "Resolution", "Resolved"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """Topics that match a pattern, with the version of the topics and the time of the resolution."""

    topics: frozenset[str]
    version: int
    at: int


@dataclass(frozen=True, slots=True)
class Resolution:
    """A resolution in progress: the time when it is complete, and its result."""

    at: int
    found: Mapping[str, Resolved]


@dataclass(frozen=True, slots=True)
class Membership:
    """The members of a group, possibly with one change, and their resolved patterns."""

    members: Mapping[str, GroupMember]
    resolved: Mapping[str, Resolved]

    def topics_of(self, member: GroupMember) -> frozenset[str]:
        """Return the topics that a member subscribes to by name, or by a resolved pattern."""
        found = self.resolved.get(member.topic_regex)
        return member.topic_names | found.topics if found else member.topic_names

    def metadata(self, topics: Mapping[str, Topic]) -> Mapping[str, Topic]:
        """Return the existing topics with subscribers, on which the group's assignment depends."""
        names = {name for member in self.members.values() for name in member.topic_names}
        for each in self.resolved.values():
            names |= each.topics
        return {name: topics[name] for name in sorted(names) if name in topics}

    def is_homogeneous(self) -> bool:
        """Return True if all members subscribe to the same names, or all to one pattern only."""
        by_name = Counter(name for member in self.members.values() for name in member.topic_names)
        patterns = Counter(member.topic_regex for member in self.members.values() if member.topic_regex)
        if not patterns:
            return all(count == len(self.members) for count in by_name.values())
        by_pattern = Counter(name for each in self.resolved.values() for name in each.topics)
        return (
            len(self.members) == next(iter(patterns.values()))
            and not by_name
            and all(count == 1 for count in by_pattern.values())
        )


@dataclass(slots=True)
class ConsumerGroup:
    """One consumer group."""

    epoch: int = 1
    assignment_epoch: int = 0
    assigned_at: int | None = None
    members: dict[str, GroupMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    targets: dict[str, Partitions] = field(default_factory=dict)
    holders: dict[tuple[UUID, int], str] = field(default_factory=dict)
    metadata: Mapping[str, Topic] = field(default_factory=dict)
    metadata_expired: bool = True
    resolved: dict[str, Resolved] = field(default_factory=dict)
    resolution: Resolution | None = None
    sessions: dict[str, int] = field(default_factory=dict)
    revocations: dict[str, tuple[int, int]] = field(default_factory=dict)
    _order: TimelineTable = field(default_factory=TimelineTable)
    _assignors: TimelineTable = field(default_factory=TimelineTable)

    @property
    def state(self) -> str:
        """State of the group in its description."""
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    @property
    def membership(self) -> Membership:
        """Current members of the group."""
        return Membership(self.members, self.resolved)

    def patterns(self) -> Counter[str]:
        """Return the patterns in use, with the number of their members."""
        return Counter(member.topic_regex for member in self.members.values() if member.topic_regex)

    def target_of(self, member: GroupMember) -> Partitions:
        """Return the member's last target; a static member has the target of its instance id."""
        if member.instance_id is None:
            return self.targets.get(member.member_id, frozenset())
        return self.targets.get(self.static_members.get(member.instance_id, ""), frozenset())

    def in_order(self, extra: Iterable[str] = ()) -> list[str]:
        """Return member ids in the assignor's order, including ids that are about to join."""
        return text_order(dict.fromkeys([*self._order, *extra]))

    def preferred_assignor(self, before: GroupMember | None, after: GroupMember) -> str | None:
        """Return the assignor with most votes after a change of one member; the table's order breaks ties."""
        votes = Counter(member.server_assignor for member in self.members.values() if member.server_assignor)
        table = HashTable.copy_of(self._assignors, string_hash)
        if before and before.server_assignor:
            votes[before.server_assignor] -= 1
            if not votes[before.server_assignor]:
                table.remove(before.server_assignor)
        if after.server_assignor:
            votes[after.server_assignor] += 1
            table.compute(after.server_assignor)
        return max(table, key=votes.__getitem__, default=None)

    def put(self, member: GroupMember) -> None:
        """Add or replace a member."""
        before = self.members.get(member.member_id)
        self._vote(before, member)
        if before:
            self._release(before)
        self.members[member.member_id] = member
        self._order.add(member.member_id)
        self.holders.update(dict.fromkeys(member.held, member.member_id))
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id

    def remove(self, member: GroupMember) -> None:
        """Remove a member and its target, and free its partitions."""
        self._vote(member, None)
        self._release(member)
        del self.members[member.member_id]
        self._order.remove(member.member_id)
        self.targets.pop(member.member_id, None)
        if member.instance_id is not None:
            self.static_members.pop(member.instance_id, None)

    def _release(self, member: GroupMember) -> None:
        for partition in member.held:
            if self.holders.get(partition) == member.member_id:
                del self.holders[partition]

    def _vote(self, before: GroupMember | None, after: GroupMember | None) -> None:
        """Update the table of requested assignors as the coordinator does: first remove a vote, then add one."""
        others = Counter(
            member.server_assignor
            for member in self.members.values()
            if before is None or member.member_id != before.member_id
        )
        if before and before.server_assignor:
            if others[before.server_assignor]:
                self._assignors.add(before.server_assignor)
            else:
                self._assignors.remove(before.server_assignor)
        if after and after.server_assignor:
            self._assignors.add(after.server_assignor)
