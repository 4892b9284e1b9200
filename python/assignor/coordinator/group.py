"""One classic group: its members, its waiting requests, and its selected protocol.

The fields supplement the tables of `state.py`; the methods keep them consistent. Nothing here reads the time or answers
a request. Sums over members are updated as members join and leave, so that a request visits all members only if its
answer or record lists all of them.

Source: ClassicGroup, ClassicGroupMember and OffsetAndMetadata, kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from assignor.coordinator.members import (
    CONSUMER,
    BrokenGroupError,
    GroupMember,
    MemberTable,
    read_topics,
)
from assignor.coordinator.state import DEAD, EMPTY, PREPARING, ErrorCode, GroupEvent, GroupState, next_state
from assignor.coordinator.timers import Timer, TimerKind
from assignor.ordering import text_order

if TYPE_CHECKING:
    from assignor.coordinator.requests import JoinGroupRequest, PendingRequest, Protocols
    from assignor.model import TopicPartition

__all__ = ["ClassicGroup", "StoredOffset", "StoredOffsets", "TopicSizes", "to_signed"]

Value = TypeVar("Value", str, int)

_SHARED_VALUES = 1_024
_SHARED_LENGTH = 256

_shared_values: dict[Any, Any] = {}


class StoredOffset(NamedTuple):
    """Committed offset of one partition.

    Attributes:
        offset: Offset of the next record to consume.
        metadata: Metadata that the consumer stored with it.
        leader_epoch: Leader epoch of the last consumed record; -1 if unknown.
        committed_at: Time of the commit in milliseconds.
        expires_at: Expiry time in milliseconds; None if the coordinator's retention applies.
        topic_id: The topic's uuid, as Kafka's URL-safe base64; None if unknown.
    """

    offset: int
    metadata: str
    leader_epoch: int
    committed_at: int
    expires_at: int | None = None
    topic_id: str | None = None


TopicSizes = tuple[tuple[str, "int | None"], ...]
"""Topics in ascending order, each with its partition count; None for a topic that does not exist."""

StoredOffsets = dict["TopicPartition", StoredOffset]
"""Committed offsets of one group."""


class _NoEntries(dict[Any, Any]):
    """Empty dict that groups share; it rejects new entries."""

    __slots__ = ()

    def __setitem__(self, key: object, value: object) -> None:
        raise TypeError(f"the shared empty dict cannot store {key!r}")


_NO_ENTRIES = _NoEntries()


@dataclass(slots=True, eq=False, kw_only=True)
class ClassicGroup(Timer):
    """One classic group, which is also the timer of its current phase.

    A group of few members takes little memory: it has dicts of its own only while they have entries.

    Attributes:
        state_since: Time in milliseconds of the last change of state; None if a loaded record has no time.
        state: State of the group; `state.py` has the tables of states.
        previous_state: Previous state.
        protocol_type: Type of the members' protocols; None if the group never had members.
        protocol_name: Selected protocol, which all members offer; None if none is selected.
        generation: Number of the generation.
        leader: Member id of the leader; None without a leader.
        members: Members; `MemberTable.in_order` returns them in the order of Kafka's hash map.
        static_members: Member ids by instance id.
        pending_joins: Member ids that the coordinator issued and that have not joined yet, each with its timer.
        pending_syncs: Ids of members that have not sent SyncGroup in this generation, as keys.
        waiting_joins: Number of members with a waiting join.
        has_new_member: True if a member joined since the initial delay was last extended.
        subscribed_topics: Topics that the members subscribe to, in ascending order; None if unknown.
        initial_delay: (current step, time left after it) during the initial delay, else None.
        is_overdue: True if the join phase ends with the next join, because its timeout is 0.
        topic_sizes: Partition count of each subscribed topic when the generation began; None if unknown.
        is_server_assigned: True if the coordinator's assignor makes the assignment of this generation.
        offsets: Committed offsets; add entries with `store_offset`.
    """

    state_since: int | None
    state: GroupState = EMPTY
    previous_state: GroupState = DEAD
    protocol_type: str | None = None
    protocol_name: str | None = None
    generation: int = 0
    leader: str | None = None
    members: MemberTable = field(default_factory=MemberTable)
    static_members: dict[str, str] = field(default_factory=lambda: _NO_ENTRIES)
    pending_joins: dict[str, Timer] = field(default_factory=lambda: _NO_ENTRIES)
    pending_syncs: dict[str, None] = field(default_factory=lambda: _NO_ENTRIES)
    waiting_joins: int = 0
    has_new_member: bool = False
    subscribed_topics: tuple[str, ...] | None = None
    initial_delay: tuple[int, int] | None = None
    is_overdue: bool = False
    topic_sizes: TopicSizes | None = None
    is_server_assigned: bool = False
    offsets: StoredOffsets = field(default_factory=lambda: _NO_ENTRIES)
    _supported: dict[str, int] = field(init=False, default_factory=dict)
    _longest_timeout_ms: int = field(init=False, default=0)
    _longest_timeouts: int = field(init=False, default=0)
    _latest_protocols: Protocols = field(init=False, default=())

    # States

    def move(self, event: GroupEvent, now: int) -> None:
        """Change the state by `TRANSITIONS`."""
        self.previous_state, self.state = self.state, next_state(self.state, event)
        self.state_since = now

    def next_generation(self, now: int) -> None:
        """Begin the next generation, or become Empty if the group has no members."""
        self.generation = to_signed(self.generation + 1, bits=32)
        self.protocol_name = self.select_protocol() if self.members else None
        self.subscribed_topics = self.find_topics()
        self.move(GroupEvent.JOINED if self.members else GroupEvent.EMPTIED, now)
        self.pending_syncs = _NO_ENTRIES

    @property
    def is_initial(self) -> bool:
        """True while the group prepares its first rebalance since it was last Empty."""
        return self.state is PREPARING and self.previous_state is EMPTY

    @property
    def all_joined(self) -> bool:
        """True if all members have a waiting join and no member id is pending."""
        return len(self.members) == self.waiting_joins and not self.pending_joins

    @property
    def rebalance_timeout_ms(self) -> int:
        """Longest rebalance timeout of the members."""
        if not self._longest_timeouts:  # the members that had the longest one have left
            timeouts = [member.rebalance_timeout_ms for member in self.members.values()]
            self._longest_timeout_ms = max(timeouts, default=0)
            self._longest_timeouts = timeouts.count(self._longest_timeout_ms)
        return max(self._longest_timeout_ms, 0)

    # Members

    def is_led_by(self, member_id: str) -> bool:
        """Return True if a member makes the assignment; False for all members with server-side assignment."""
        return self.leader == member_id and not self.is_server_assigned

    def add(self, member: GroupMember, protocol_type: str) -> None:
        """Add a member with protocols of this type; the first member becomes the leader."""
        if self.is_initial:
            self.has_new_member = True
        self._store_static(member)
        if not self.members:
            self.protocol_type = shared(protocol_type)
        if self.leader is None:
            self.leader = member.member_id
        member.protocols = self._shared(member.protocols)
        member.client_id = shared(member.client_id)
        member.client_host = shared(member.client_host)
        member.session_timeout_ms = shared(member.session_timeout_ms)
        member.rebalance_timeout_ms = shared(member.rebalance_timeout_ms)
        self._count(member, 1)
        self.members.put(member)
        if member.join is not None:
            self.waiting_joins += 1
        self._forget(member.member_id)

    def remove(self, member_id: str) -> None:
        """Remove a member or a pending member id; the first member of the hash map replaces a removed leader."""
        member = self.members.take(member_id)
        if member is not None:
            self._count(member, -1)
            if member.join is not None:
                self.waiting_joins -= 1
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.leader == member_id:
            first = self.members.first()
            self.leader = None if first is None else first.member_id
        self._forget(member_id)
        self.end_sync(member_id)

    def await_member(self, member_id: str) -> Timer:
        """Store a member id that was issued, and return its timer."""
        if not self.pending_joins:
            self.pending_joins = {}
        timer = self.pending_joins[member_id] = Timer(TimerKind.SESSION, self.group_id, member_id)
        return timer

    def _forget(self, member_id: str) -> None:
        """Remove a pending member id."""
        if self.pending_joins.pop(member_id, None) is not None and not self.pending_joins:
            self.pending_joins = _NO_ENTRIES

    def _store_static(self, member: GroupMember) -> None:
        """Store the member id of a static member."""
        if member.group_instance_id is not None:
            if not self.static_members:
                self.static_members = {}
            self.static_members[member.group_instance_id] = member.member_id

    def replace(self, old: GroupMember, member_id: str) -> GroupMember:
        """Replace a static member with a copy that has this member id, and return the copy.

        As in Kafka, the sync of the old id stays pending.
        """
        new = replace(old, member_id=member_id, is_new=False, join=None, sync=None, is_connected=True)
        self.members.take(old.member_id)
        self._count(old, -1)
        self.members.put(new)
        self._count(new, 1)
        if self.leader == old.member_id:
            self.leader = new.member_id
        self._store_static(new)
        return new

    def update(self, member: GroupMember, data: JoinGroupRequest | GroupMember, join: PendingRequest | None) -> None:
        """Store the protocols and timeouts of a join, or of another member, and replace the waiting join."""
        timeout_ms = data.rebalance_timeout_ms
        assert timeout_ms is not None
        if member.protocols != data.protocols or member.rebalance_timeout_ms != timeout_ms:
            self._count(member, -1)
            member.protocols = self._shared(data.protocols)
            member.rebalance_timeout_ms = shared(timeout_ms)
            self._count(member, 1)
        if member.session_timeout_ms != data.session_timeout_ms:
            member.session_timeout_ms = shared(data.session_timeout_ms)
        self.await_join(member, join)

    def await_join(self, member: GroupMember, join: PendingRequest | None) -> None:
        """Replace the waiting join of a member; None removes it."""
        self.waiting_joins += (join is not None) - (member.join is not None)
        member.join = join

    def await_syncs(self) -> None:
        """Remove all waiting joins, and expect a sync from each member."""
        for member in self.members.values():
            member.join = None
            member.is_new = False
        self.waiting_joins = 0
        self.pending_syncs = dict.fromkeys(self.members)

    def end_sync(self, member_id: str) -> bool:
        """Stop waiting for the sync of a member; return True if no other sync is awaited."""
        awaited = self.pending_syncs
        if awaited:
            awaited.pop(member_id, None)
            if awaited:
                return False
            self.pending_syncs = _NO_ENTRIES
        return True

    def find(self, member_id: str, group_instance_id: str | None) -> GroupMember | ErrorCode:
        """Return the member of a request, or an error code if the ids do not match a member."""
        if group_instance_id is not None:
            known = self.static_members.get(group_instance_id)
            if known is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if known != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return self.members.get(member_id) or ErrorCode.UNKNOWN_MEMBER_ID

    # Protocols

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Return True if a member with these protocols can join."""
        if self.state is EMPTY:
            return bool(protocol_type and protocols)
        if self.protocol_type == protocol_type:
            size = len(self.members)
            for name, _ in protocols:
                if self._supported.get(name, 0) == size:
                    return True
        return False

    def select_protocol(self) -> str:
        """Return the protocol with the most votes; a tie goes to the first in the order of a hash map."""
        size = len(self.members)
        candidates = {name for name, count in self._supported.items() if count == size}
        votes: dict[str, int] = {}
        for member in self.members.in_order():
            choice = member.vote(candidates)
            votes[choice] = votes.get(choice, 0) + 1
        return max(text_order(votes), key=votes.__getitem__)

    def elect_joined_leader(self) -> bool:
        """Elect a member with a waiting join as leader; return False without such a member."""
        if self.leader is None:
            return False
        leader = self.members.get(self.leader)
        if leader is not None and leader.join is not None:
            return True
        for member in self.members.in_order():
            if member.join is not None:
                self.leader = member.member_id
                return True
        return False

    def find_topics(self) -> tuple[str, ...] | None:
        """Return the topics that the members subscribe to, in ascending order.

        Return None if a subscription is unreadable or if the members are not consumers.
        """
        if self.protocol_type != CONSUMER or (self.protocol_name is None and self.members):
            return None
        topics: set[str] = set()
        known: set[bytes] = set()
        for member in self.members.in_order():
            subscription = member.metadata(self.protocol_name)
            if subscription not in known:
                known.add(subscription)
                try:
                    found = read_topics(subscription)
                except BrokenGroupError as error:
                    what = f"the subscription of member {member.member_id} has {error}"
                    raise BrokenGroupError(what) from error
                if found is None:
                    return None
                topics.update(found)
        return tuple(sorted(topics))

    # Offsets

    def store_offset(self, partition: TopicPartition, offset: StoredOffset) -> None:
        """Store the committed offset of a partition."""
        if not self.offsets:
            self.offsets = {}
        self.offsets[partition] = offset

    def _shared(self, protocols: Protocols) -> Protocols:
        """Return these protocols, or the equal object of the latest call, so that equal members share one object."""
        if protocols != self._latest_protocols:
            self._latest_protocols = tuple([(shared(name), metadata) for name, metadata in protocols])
        return self._latest_protocols

    def _count(self, member: GroupMember, by: int) -> None:
        """Add the protocols and the rebalance timeout of a member to the sums (1), or subtract them (-1)."""
        supported = self._supported
        for name, _ in member.protocols:
            count = supported.get(name, 0) + by
            if count:
                supported[name] = count
            else:
                del supported[name]
        if member.rebalance_timeout_ms == self._longest_timeout_ms:
            self._longest_timeouts += by
        elif member.rebalance_timeout_ms > self._longest_timeout_ms:
            self._longest_timeout_ms, self._longest_timeouts = member.rebalance_timeout_ms, 1


def shared(value: Value) -> Value:
    """Return a text or number that equals the given one, so that members with equal values share one object.

    Each request has objects of its own. If kept, these objects would take half as much memory as their member. Only
    short values are shared, and only those of the latest members, so that the memory for them is bounded.
    """
    if type(value) is str and len(value) > _SHARED_LENGTH:
        return value
    if len(_shared_values) >= _SHARED_VALUES:
        _shared_values.clear()
    found: Value = _shared_values.setdefault(value, value)
    return found


def to_signed(number: int, *, bits: int) -> int:
    """Wrap a number to a signed integer of the given width, as Java does: the largest value plus 1 is the smallest.

    Generations and timestamps in a log can have any value of their width, and Kafka's coordinator overflows too.

    Example:
        >>> to_signed(2**31 - 1, bits=32), to_signed(2**31, bits=32), to_signed(-5, bits=64)
        (2147483647, -2147483648, -5)
    """
    half = 1 << (bits - 1)
    return (number + half) % (2 * half) - half
