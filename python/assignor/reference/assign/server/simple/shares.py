"""Shares of partitions: who owns which partition, who loses one, and who gets a free share.

A partition is a pair of topic and id in a homogeneous group, and its id in a heterogeneous one, where each topic has
shares of its own. Members are numbered in table order.

Not modelled: the order in which a partition with too many owners loses them if more than eight of them share a bucket
of a table of 64 or more buckets, and one of them has lost the partition before. That takes a group of more than 512
members; a broker allows 200 members in a share group by default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from assignor.ordering import expected_capacity, table_order

Key = TypeVar("Key")


def owners_per_partition(members: int, partitions: int) -> int:
    """Return the number of owners of each partition.

    Example:
        >>> owners_per_partition(5, 2), owners_per_partition(2, 5)
        (3, 1)
    """
    return -(-members // partitions) if partitions else 0


def quotas(members: list[int], partitions: int) -> dict[int, int]:
    """Return the number of shares of each subscriber, which Kafka computes in doubles: their sum may be too large.

    Example:
        >>> list(quotas([0, 1, 2, 3, 4], 2).values())
        [2, 1, 1, 1, 1]
        >>> sum(quotas([*range(7)], 29).values())
        30
    """
    share = owners_per_partition(len(members), partitions) * partitions / len(members)
    return {member: math.ceil(share * (index + 1)) - math.ceil(share * index) for index, member in enumerate(members)}


class Shares(Generic[Key]):
    """Shares of the partitions of a group or of a topic.

    Args:
        quota: Subscriber to its number of shares.
        owners: Number of owners of each partition.
        no_member_left: Function that returns the error for a partition for which no member is left.

    Attributes:
        held: Member to its partitions, in the order in which it got them.
        calls: Partition of each call by which Kafka's class looks up the owners of a partition.
    """

    def __init__(self, quota: Mapping[int, int], owners: int, no_member_left: Callable[[Key], Exception]) -> None:
        self._quota = quota
        self._wanted = owners
        self._no_member_left = no_member_left
        self._owners: dict[Key, dict[int, bool]] = {}
        self.held: dict[int, dict[Key, None]] = {}
        self.calls: list[Key] = []

    def keep(self, member: int, partition: Key) -> None:
        """Add a partition of the previous target of a member."""
        self.add(partition)
        self._owners[partition][member] = True
        self.held.setdefault(member, {})[partition] = None

    def add(self, partition: Key) -> None:
        """Add a partition, which may have owners."""
        self.calls.append(partition)
        self._owners.setdefault(partition, {})

    def revoke_from_members(self, order: Callable[[list[Key]], list[Key]]) -> None:
        """Take from each member with more than its quota the first of its partitions.

        Args:
            order: Function that returns partitions in the order of the table that they were added to.
        """
        for member, held in self.held.items():
            excess = len(held) - self._quota.get(member, 0)
            if excess > 0:
                for partition in order(list(held))[:excess]:
                    self._revoke(member, partition)

    def revoke_from_partitions(self) -> None:
        """Take each partition with too many owners from the first of them, in table order."""
        for partition, members in self._owners.items():
            excess = sum(members.values()) - self._wanted
            if excess > 0:
                # Owners that lost the partition before have their place in the table: it has never shrunk.
                listed = table_order(members, list(members), natural=list(members))
                for member in [member for member in listed if members[member]][:excess]:
                    self._revoke(member, partition)

    def hand_out(self, partitions: list[Key], member_count: int) -> None:
        """Give partitions with too few owners to members below their quota, in turn.

        As in Kafka, only the owners before a partition is handed out are passed over. So a member may be given the same
        share twice: the second time has no effect, and the partition has too few owners in the end.

        Args:
            partitions: The partitions in table order.
            member_count: Number of members of the group.
        """
        below = [member for member, quota in self._quota.items() if len(self.held.get(member, ())) < quota]
        unfilled = table_order(below, below, expected_capacity(member_count))
        cursor, has_given = 0, False
        for partition in partitions:
            if not unfilled:
                return
            before = {member for member, is_owner in self._owners[partition].items() if is_owner}
            missing = self._wanted - len(before)
            while missing > 0:
                if cursor == len(unfilled):
                    if not has_given:
                        break
                    if not unfilled:
                        raise self._no_member_left(partition)
                    cursor, has_given = 0, False
                member = unfilled[cursor]
                cursor += 1
                if member in before:
                    continue
                held = self.held.setdefault(member, {})
                held[partition] = None
                missing -= 1
                has_given = True
                if len(held) >= self._quota[member]:
                    cursor -= 1
                    del unfilled[cursor]

    def has_unfilled(self) -> bool:
        """Return True if a member has fewer partitions than its quota."""
        return any(len(self.held.get(member, ())) < quota for member, quota in self._quota.items())

    def _revoke(self, member: int, partition: Key) -> None:
        self._owners[partition][member] = False
        del self.held[member][partition]
