"""The members of a group in the order of the `java.util.HashMap` in which Kafka keeps them.

That order is seen: members are listed in it, and the first of it leads when the leader goes. A table has a power of two
of buckets, 16 at first; it doubles when more than three quarters as many members as buckets are in it, and never
shrinks. A member's bucket is told by its id's hash code, and within a bucket members stand as they came. `hash_order`
says more of it, and what it does not tell: buckets of more than eight members in a table of 64 or more.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from assignor.ordering import CHAIN, DEFAULT_CAPACITY, TREES

if TYPE_CHECKING:
    from collections.abc import Iterator, ValuesView

    from assignor.coordinator.group import GroupMember

__all__ = ["MemberTable"]


class MemberTable:
    """Members by id. Finding, putting and taking out one costs O(1), finding the first one O(log n) on average."""

    __slots__ = ("_capacity", "_firsts", "_members", "_put")

    def __init__(self) -> None:
        self._members: dict[str, GroupMember] = {}
        self._capacity = DEFAULT_CAPACITY
        self._put = 0
        # Candidates for the first place, kept from the first time on that somebody asks.
        self._firsts: list[tuple[int, int, str]] | None = None

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def __iter__(self) -> Iterator[GroupMember]:
        """Members in the order of the hash map."""
        mask = self._capacity - 1
        return iter(sorted(self._members.values(), key=lambda member: member.folded_hash & mask))

    def in_any_order(self) -> ValuesView[GroupMember]:
        """Members as they came, without sorting them."""
        return self._members.values()

    def get(self, member_id: str) -> GroupMember | None:
        """The member of that id."""
        return self._members.get(member_id)

    def put(self, member: GroupMember) -> None:
        """Put a member whose id is not in the table yet."""
        before = self._capacity
        if self._capacity < TREES and self._chain(member) >= CHAIN:
            self._capacity *= 2
        self._members[member.member_id] = member
        self._put += 1
        member.place = self._put
        while 4 * len(self._members) > 3 * self._capacity:
            self._capacity *= 2
        if self._capacity != before:
            self._firsts = None
        elif self._firsts is not None:
            heapq.heappush(self._firsts, self._candidate(member))
            if len(self._firsts) > 2 * self._capacity:
                self._firsts = None  # mostly members that are gone, and that a member before them hides

    def remove(self, member_id: str) -> GroupMember | None:
        """Take a member out and give it."""
        return self._members.pop(member_id, None)

    def first(self) -> GroupMember | None:
        """The member that the hash map lists first."""
        if self._firsts is None:
            self._firsts = [self._candidate(member) for member in self._members.values()]
            heapq.heapify(self._firsts)
        while self._firsts:
            _, place, member_id = self._firsts[0]
            member = self._members.get(member_id)
            if member is not None and member.place == place:
                return member
            heapq.heappop(self._firsts)
        return None

    def _candidate(self, member: GroupMember) -> tuple[int, int, str]:
        return member.folded_hash & (self._capacity - 1), member.place, member.member_id

    def _chain(self, member: GroupMember) -> int:
        """How many members share the bucket that the member would come to; only asked of small tables."""
        mask = self._capacity - 1
        bucket = member.folded_hash & mask
        return sum(other.folded_hash & mask == bucket for other in self._members.values())
