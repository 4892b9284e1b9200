"""The state of one consumer group in the model of the coordinator, and what follows from it.

Source: org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup and modern.ModernGroup, Kafka 4.3.1.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.member.simulation.hash_tables import HashTable, TimelineTable, hash_map_order, string_hash

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from tests.member.simulation.group_member import GroupMember, Partitions
    from tests.member.simulation.targets import Topic

__all__ = ["ConsumerGroup", "Membership", "Resolution", "Resolved"]


@dataclass(frozen=True, slots=True)
class Resolved:
    """The topics that a pattern means, and when and for which state of the topics that was found out."""

    topics: frozenset[str]
    version: int
    at: int


@dataclass(frozen=True, slots=True)
class Resolution:
    """A resolution under way: when it will be done, and what it will have found."""

    at: int
    found: Mapping[str, Resolved]


@dataclass(frozen=True, slots=True)
class Membership:
    """The members of a group with or without one change, and what they all want together."""

    members: Mapping[str, GroupMember]
    resolved: Mapping[str, Resolved]

    def topics_of(self, member: GroupMember) -> frozenset[str]:
        """The names that a member subscribes to, those that its pattern is known to mean among them."""
        found = self.resolved.get(member.topic_regex)
        return member.topic_names | found.topics if found else member.topic_names

    def metadata(self, topics: Mapping[str, Topic]) -> Mapping[str, Topic]:
        """What the group's assignment depends on: the topics that anybody subscribes to and that exist."""
        names = {name for member in self.members.values() for name in member.topic_names}
        for each in self.resolved.values():
            names |= each.topics
        return {name: topics[name] for name in sorted(names) if name in topics}

    def is_homogeneous(self) -> bool:
        """Whether all members subscribe to the same names, or all to one pattern and nothing else."""
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
    """One group."""

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
        """What the group is described as."""
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return "Stable"
        return "Reconciling"

    @property
    def membership(self) -> Membership:
        """The members as they are."""
        return Membership(self.members, self.resolved)

    def patterns(self) -> Counter[str]:
        """The patterns in use, with how many members use each."""
        return Counter(member.topic_regex for member in self.members.values() if member.topic_regex)

    def target_of(self, member: GroupMember) -> Partitions:
        """The last target; a static member's is that of whoever had its instance id."""
        if member.instance_id is None:
            return self.targets.get(member.member_id, frozenset())
        return self.targets.get(self.static_members.get(member.instance_id, ""), frozenset())

    def in_order(self, extra: Iterable[str] = ()) -> list[str]:
        """Ids of members in the order in which the assignor meets them, with some more that are about to be members."""
        return hash_map_order([*self._order, *extra], string_hash)

    def preferred_assignor(self, before: GroupMember | None, after: GroupMember) -> str | None:
        """The assignor that most members ask for once one of them has changed; where votes tie, the table's first."""
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
        """Keeps a member as it is now."""
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
        """Forgets a member and its target; what it held is free."""
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
        """Keeps the table of assignors asked for as the coordinator's is: first one vote less, then one more."""
        others = Counter(
            member.server_assignor
            for member in self.members.values()
            if before is None or member.member_id != before.member_id
        )
        if before and before.server_assignor and not others[before.server_assignor]:
            self._assignors.remove(before.server_assignor)
        if after and after.server_assignor:
            self._assignors.add(after.server_assignor)
