"""One classic group: its members, who waits for what, and which protocol they agree on.

This is the bookkeeping beside the tables of `state.py`: explicit fields, and the rules that keep them together. Nothing
here knows the time, and nothing is answered here. No request looks at all members, but for those whose answer or record
carries them all: what concerns all of them is counted as they come and go.

Source: ClassicGroup and ClassicGroupMember, kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.coordinator.error_codes import ErrorCode
from assignor.coordinator.largest import Largest
from assignor.coordinator.member_table import MemberTable
from assignor.coordinator.state import GroupEvent, GroupState, next_state
from assignor.coordinator.subscribed_topics import CONSUMER, UnexpectedLengthError, read_topics
from assignor.coordinator.wrapping import wrapped
from assignor.ordering import folded_hash, text_order

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignor.coordinator.outbox import Asked
    from assignor.coordinator.requests import Protocols
    from assignor.coordinator.stored_offsets import StoredOffsets
    from assignor.coordinator.timers import Timer

__all__ = ["BrokenGroupError", "ClassicGroup", "GroupMember"]


class BrokenGroupError(Exception):
    """Something that Kafka's coordinator does not expect either: it answers UNKNOWN_SERVER_ERROR and goes on."""


class GroupMember:
    """One member of a group.

    Attributes:
        member_id: As the coordinator gave it out.
        group_instance_id: Of a static member.
        client_id: Who it is.
        client_host: Where it is.
        protocol_type: What kind of group it is in.
        protocols: What it offers, the one it likes best first.
        session_timeout_ms: After which time without a sign of life it counts as dead.
        rebalance_timeout_ms: How long the coordinator waits for it to join.
        assignment: What the leader gave it last.
        is_new: Whether its first join has not been answered; such a member can expire while it waits.
        join: Its join that waits, if one does.
        sync: Its sync that waits, if one does.
        timer: Its session.
        connected: False once its connection has ended and it has not been heard of since.
        folded_hash: Its id's hash code, which tells its bucket in the table of members.
        place: Its place among those of the same bucket.
    """

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "connected",
        "folded_hash",
        "group_instance_id",
        "is_new",
        "join",
        "member_id",
        "place",
        "protocol_type",
        "protocols",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "sync",
        "timer",
    )

    def __init__(
        self,
        member_id: str,
        timer: Timer,
        *,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        protocol_type: str,
        protocols: Protocols,
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.timer = timer
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.assignment = assignment
        self.is_new = False
        self.join: Asked | None = None
        self.sync: Asked | None = None
        self.connected = True
        self.folded_hash = folded_hash(member_id)
        self.place = 0

    @property
    def counts_as_alive(self) -> bool:
        """Whether it needs no heartbeat, as it waits for an answer."""
        return not self.is_new and (self.join is not None or self.sync is not None)

    def metadata(self, protocol: str | None) -> bytes:
        """Its subscription for a protocol."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        raise BrokenGroupError(f"member {self.member_id} does not support the protocol {protocol}")

    def vote(self, candidates: set[str]) -> str:
        """The one it likes best of the protocols that all members support."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise BrokenGroupError(f"member {self.member_id} does not support any of the candidate protocols")


class ClassicGroup:
    """One group.

    Attributes:
        group_id: Its name.
        state: Where it is in the tables of `state.py`.
        previous_state: Where it was before.
        state_since: When it came there, in milliseconds; None where a record of old did not say.
        protocol_type: Of its members; None where it never had any.
        protocol_name: What the members agreed on; None while nothing is.
        generation: Counts the rebalances that were completed.
        leader: The leader's member id; None while there is none.
        members: In the order of Kafka's hash map.
        static_members: Member ids by instance id.
        pending_joins: Member ids that were given out and are not used yet, each with its timer.
        pending_syncs: Ids of members that have not asked for their assignment yet.
        awaiting_join: How many members have a join that waits.
        new_member_added: Whether somebody came since the initial delay was last extended.
        subscribed_topics: What the members subscribe to; None where that is not known.
        join_timer: Ends the join phase.
        initial_delay: (this step, time that is left after it) while the initial delay runs; None else.
        overdue: Whether the join phase ends as soon as anybody joins, as there is no time to wait for more.
        sync_timer: Ends the wait for syncs.
        topic_sizes: Partitions of each subscribed topic as the last generation began; None where nobody tells.
        led_here: Whether the coordinator's own assignor makes this generation's assignment.
        offsets: What was committed.
    """

    __slots__ = (
        "_rebalance_timeouts",
        "_supported",
        "awaiting_join",
        "generation",
        "group_id",
        "initial_delay",
        "join_timer",
        "leader",
        "led_here",
        "members",
        "new_member_added",
        "offsets",
        "overdue",
        "pending_joins",
        "pending_syncs",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "state",
        "state_since",
        "static_members",
        "subscribed_topics",
        "sync_timer",
        "topic_sizes",
    )

    def __init__(self, group_id: str, now: int | None, *, join_timer: Timer, sync_timer: Timer) -> None:
        self.group_id = group_id
        self.state = GroupState.EMPTY
        self.previous_state = GroupState.DEAD
        self.state_since = now
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.generation = 0
        self.leader: str | None = None
        self.members = MemberTable()
        self.static_members: dict[str, str] = {}
        self.pending_joins: dict[str, Timer] = {}
        self.pending_syncs: set[str] = set()
        self.awaiting_join = 0
        self.new_member_added = False
        self.subscribed_topics: frozenset[str] | None = None
        self.join_timer = join_timer
        self.sync_timer = sync_timer
        self.initial_delay: tuple[int, int] | None = None
        self.overdue = False
        self.topic_sizes: Mapping[str, int | None] | None = None
        self.led_here = False
        self.offsets: StoredOffsets = {}
        self._supported: dict[str, int] = {}
        self._rebalance_timeouts = Largest()

    # States

    def move(self, event: GroupEvent, now: int) -> None:
        """Go where an event takes it."""
        self.previous_state, self.state = self.state, next_state(self.state, event)
        self.state_since = now

    def next_generation(self, now: int) -> None:
        """Begin the next generation, or become Empty where nobody is left."""
        self.generation = wrapped(self.generation + 1, bits=32)
        self.protocol_name = self.select_protocol() if len(self.members) else None
        self.subscribed_topics = self.find_topics()
        self.move(GroupEvent.JOINED if len(self.members) else GroupEvent.EMPTIED, now)
        self.pending_syncs.clear()

    @property
    def is_initial(self) -> bool:
        """Whether it prepares its first rebalance since it was empty."""
        return self.state is GroupState.PREPARING_REBALANCE and self.previous_state is GroupState.EMPTY

    @property
    def all_joined(self) -> bool:
        """Whether all members have a join that waits, and no member id is out that is not used yet."""
        return len(self.members) == self.awaiting_join and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of its members."""
        return max(self._rebalance_timeouts.get(), 0)

    # Members

    def is_led_by(self, member_id: str) -> bool:
        """Whether a member makes the assignment; none does where the coordinator does."""
        return self.leader == member_id and not self.led_here

    def add(self, member: GroupMember) -> None:
        """Let a member in; the first one there is leads."""
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        if not len(self.members):
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members.put(member)
        self._count(member, 1)
        if member.join is not None:
            self.awaiting_join += 1
        self.pending_joins.pop(member.member_id, None)

    def remove(self, member_id: str) -> None:
        """Take a member out, or an id that is not used yet; where the leader goes the first of the hash map leads."""
        member = self.members.remove(member_id)
        if member is not None:
            self._count(member, -1)
            if member.join is not None:
                self.awaiting_join -= 1
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.leader == member_id:
            first = self.members.first()
            self.leader = None if first is None else first.member_id
        self.pending_joins.pop(member_id, None)
        self.pending_syncs.discard(member_id)

    def replace(self, old: GroupMember, new: GroupMember) -> None:
        """Put a static member's successor in its place. What the old id has to sync stays awaited, as in Kafka."""
        self.members.remove(old.member_id)
        self._count(old, -1)
        self.members.put(new)
        self._count(new, 1)
        if self.leader == old.member_id:
            self.leader = new.member_id
        assert new.group_instance_id is not None
        self.static_members[new.group_instance_id] = new.member_id

    def update(
        self,
        member: GroupMember,
        protocols: Protocols,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        join: Asked | None,
    ) -> None:
        """Take over what a member's join brings, and have that join wait."""
        self._count(member, -1)
        member.protocols = protocols
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms
        self._count(member, 1)
        self.await_join(member, join)

    def await_join(self, member: GroupMember, join: Asked | None) -> None:
        """Have this join of a member wait instead of what waited; None where nothing waits any more."""
        self.awaiting_join += (join is not None) - (member.join is not None)
        member.join = join

    def find(self, member_id: str, group_instance_id: str | None) -> GroupMember | ErrorCode:
        """The member that a request names, or why it is not that one."""
        if group_instance_id is not None:
            known = self.static_members.get(group_instance_id)
            if known is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if known != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return self.members.get(member_id) or ErrorCode.UNKNOWN_MEMBER_ID

    # Protocols

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether somebody who offers these protocols can be in it."""
        if self.state is GroupState.EMPTY:
            return bool(protocol_type and protocols)
        size = len(self.members)
        return self.protocol_type == protocol_type and any(
            self._supported.get(name, 0) == size for name, _ in protocols
        )

    def select_protocol(self) -> str:
        """The protocol with most votes; of several the first in the order of a hash map."""
        size = len(self.members)
        candidates = {name for name, count in self._supported.items() if count == size}
        votes: dict[str, int] = {}
        for member in self.members:
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(text_order(votes), key=votes.__getitem__)

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader is one whose join waits, if anybody's does."""
        if self.leader is None:
            return False
        leader = self.members.get(self.leader)
        if leader is not None and leader.join is not None:
            return True
        for member in self.members:
            if member.join is not None:
                self.leader = member.member_id
                return True
        return False

    def find_topics(self) -> frozenset[str] | None:
        """What the members subscribe to, if they are consumers whose subscriptions can be read."""
        if self.protocol_type != CONSUMER or (self.protocol_name is None and len(self.members)):
            return None
        topics: set[str] = set()
        known: set[bytes] = set()
        for member in self.members:
            subscription = member.metadata(self.protocol_name)
            if subscription not in known:
                known.add(subscription)
                try:
                    found = read_topics(subscription)
                except UnexpectedLengthError as error:
                    raise BrokenGroupError(f"the subscription of member {member.member_id} names {error}") from error
                if found is None:
                    return None
                topics.update(found)
        return frozenset(topics)

    def _count(self, member: GroupMember, by: int) -> None:
        """Count what a member offers and how long it may take, or count it no more."""
        for name, _ in member.protocols:
            count = self._supported.get(name, 0) + by
            if count:
                self._supported[name] = count
            else:
                del self._supported[name]
        if by > 0:
            self._rebalance_timeouts.add(member.rebalance_timeout_ms)
        else:
            self._rebalance_timeouts.remove(member.rebalance_timeout_ms)
