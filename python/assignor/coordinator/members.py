"""Members of a group, the table that orders them as Kafka does, and the topics that they subscribe to.

Kafka keeps the members of a group in a `java.util.HashMap`, and its order is visible: DescribeGroups lists members in
this order, and the first member replaces a leader that left. The number of buckets of the map is a power of two, 16 at
first. It doubles when the number of members exceeds three quarters of it, and never shrinks. The hash code of a
member's id selects its bucket; within a bucket, members are in order of insertion. `MemberTable` does not model buckets
of more than eight members in a map of 64 or more buckets, which `ordering` describes.

Source: ClassicGroupMember and ClassicGroup.computeSubscribedTopics, kafka-group-coordinator 4.3.1;
ConsumerProtocol.deserializeConsumerProtocolSubscription and ByteBufferAccessor, kafka-clients 4.3.1.
"""

from __future__ import annotations

import heapq
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor._core import folded_hash
from assignor.coordinator.timers import Timer
from assignor.ordering import CHAIN, DEFAULT_CAPACITY, TREES

if TYPE_CHECKING:
    from assignor.coordinator.requests import PendingRequest, Protocols

__all__ = ["CONSUMER", "BrokenGroupError", "GroupMember", "MemberTable", "read_topics"]

CONSUMER = "consumer"
"""Protocol type of groups of consumers, whose subscriptions the coordinator can read."""

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


class BrokenGroupError(Exception):
    """A group for which Kafka's coordinator throws an exception: it answers UNKNOWN_SERVER_ERROR and continues."""


@dataclass(slots=True, eq=False, kw_only=True)
class GroupMember(Timer):
    """One member of a group, which is also the timer of its session.

    Attributes:
        group_instance_id: Instance id of a static member.
        client_id: Id of the client.
        client_host: Host of the client.
        protocols: Protocols that the member offers, in order of preference.
        session_timeout_ms: Time without a request after which the member is removed.
        rebalance_timeout_ms: Time that the coordinator waits for the member to join again.
        assignment: Last assignment of the member.
        is_new: True until the first join is answered; the waiting join of a new member can expire.
        join: Waiting join, or None.
        sync: Waiting sync, or None.
        is_connected: False from the end of the connection to the next request.
    """

    group_instance_id: str | None
    client_id: str
    client_host: str
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    assignment: bytes = b""
    is_new: bool = False
    join: PendingRequest | None = None
    sync: PendingRequest | None = None
    is_connected: bool = True

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """True if a waiting request keeps the session alive; the first join of a new member does not."""
        return not self.is_new and (self.join is not None or self.sync is not None)

    def metadata(self, protocol: str | None) -> bytes:
        """Return the member's subscription for a protocol.

        Raises:
            BrokenGroupError: The member does not offer the protocol.
        """
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        raise BrokenGroupError(f"member {self.member_id} does not support the protocol {protocol}")

    def vote(self, candidates: set[str]) -> str:
        """Return the member's preferred protocol among the candidates.

        Raises:
            BrokenGroupError: The member offers none of them.
        """
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise BrokenGroupError(f"member {self.member_id} does not support any of the candidate protocols")


class MemberTable(dict[str, GroupMember]):
    """Members by id. `in_order` returns them in the order of the hash map.

    Insert with `put`, which also models the number of buckets of the hash map.
    Lookup, insertion and removal cost O(1); finding the first member costs O(log n) on average.
    """

    __slots__ = ("_capacity", "_firsts", "_in_order", "_insertions")

    def __init__(self) -> None:
        super().__init__()
        self._capacity = DEFAULT_CAPACITY
        self._insertions = 0
        self._in_order: list[GroupMember] | None = None
        # Candidates for the first member; None until `first` is called.
        self._firsts: list[tuple[int, int, GroupMember]] | None = None

    def in_order(self) -> list[GroupMember]:
        """Return the members in the order of the hash map, which `values()` does not have; do not change the list."""
        if self._in_order is None:
            mask = self._capacity - 1
            self._in_order = sorted(self.values(), key=lambda member: folded_hash(member.member_id) & mask)
        return self._in_order

    def take(self, member_id: str) -> GroupMember | None:
        """Remove and return a member; None if its id is not in the table."""
        self._in_order = None
        return self.pop(member_id, None)

    def put(self, member: GroupMember) -> None:
        """Insert a member whose id is not in the table."""
        self._in_order = None
        before = self._capacity
        if self._capacity < TREES and len(self) >= CHAIN and self._bucket_size(member) >= CHAIN:
            self._capacity *= 2
        self[member.member_id] = member
        while 4 * len(self) > 3 * self._capacity:
            self._capacity *= 2
        if self._capacity != before:
            self._firsts = None
        elif self._firsts is not None:
            heapq.heappush(self._firsts, self._candidate(member))
            if len(self._firsts) > 2 * len(self) + DEFAULT_CAPACITY:
                self._firsts = None  # most candidates have left the group

    def first(self) -> GroupMember | None:
        """Return the first member in the order of the hash map; None if the table is empty."""
        if self._firsts is None:
            self._firsts = [self._candidate(member) for member in self.values()]
            heapq.heapify(self._firsts)
        while self._firsts:
            member = self._firsts[0][2]
            if self.get(member.member_id) is member:
                return member
            heapq.heappop(self._firsts)
        return None

    def _candidate(self, member: GroupMember) -> tuple[int, int, GroupMember]:
        """Return the bucket of a member, a number that orders the members of one bucket, and the member."""
        self._insertions += 1
        return folded_hash(member.member_id) & (self._capacity - 1), self._insertions, member

    def _bucket_size(self, member: GroupMember) -> int:
        """Return the number of members in the member's bucket; called for small tables only."""
        mask = self._capacity - 1
        bucket = folded_hash(member.member_id) & mask
        return sum(folded_hash(other) & mask == bucket for other in self)


def read_topics(subscription: bytes) -> list[str] | None:
    r"""Return the topics of a consumer's subscription, read as version 0, which every later version extends.

    Kafka's coordinator reads them in the same way, to know which committed offsets are in use. It ignores the
    subscription if the bytes end within a number, but fails at an invalid length: the join phase then never completes.

    Returns:
        The topics in order, or None if the bytes end within a number.

    Raises:
        BrokenGroupError: The number of topics or the length of a name is negative, or one of them or the length of the
            user data exceeds the remaining bytes.

    Example:
        >>> read_topics(b"\0\3" b"\0\0\0\1" b"\0\2t0" b"\xff\xff\xff\xff"), read_topics(b"\0\1")
        (['t0'], None)
    """
    try:
        position = _INT16.size
        (count,) = _INT32.unpack_from(subscription, position)
        position += _INT32.size
        if not 0 <= count <= len(subscription) - position:
            raise BrokenGroupError(f"an invalid count of {count} topics")
        topics = []
        for _ in range(count):
            (size,) = _INT16.unpack_from(subscription, position)
            position += _INT16.size
            if not 0 <= size <= len(subscription) - position:
                raise BrokenGroupError(f"a topic name with an invalid length of {size} bytes")
            topics.append(subscription[position : position + size].decode("utf-8", "replace"))
            position += size
        (size,) = _INT32.unpack_from(subscription, position)
        if size > len(subscription) - position - _INT32.size:
            raise BrokenGroupError(f"user data with an invalid length of {size} bytes")
    except struct.error:
        return None
    return topics
