"""Racks of members and partitions in sticky assignment (KIP-881)."""

from __future__ import annotations

from dataclasses import dataclass

from assignor.reference.assign.sticky.claims import Claims, Place
from assignor.reference.group import Member


@dataclass(frozen=True, slots=True)
class Racks:
    """Racks of each partition; `matter` is True if racks affect the assignment."""

    of_partition: dict[Place, frozenset[str]]
    matter: bool

    def mismatch(self, member: Member, place: Place) -> bool:
        """Return True if racks matter, the member has a rack, and no replica of the partition is on it."""
        return self.matter and member.rack is not None and member.rack not in self.of_partition[place]

    def match(self, member: Member, place: Place) -> bool:
        """Return True if racks matter, the member has a rack, and a replica of the partition is on it."""
        return self.matter and member.rack is not None and member.rack in self.of_partition[place]


def read_racks(claims: Claims, prefer_rack_aware: bool) -> Racks:
    """Return the racks of a group.

    Racks matter if some member is on the rack of a replica and partitions are on different racks. With
    `prefer_rack_aware`, they also matter if all partitions are on the same racks.
    """
    of_partition = {place: partition.racks for place, partition in claims.partitions.items()}
    all_racks = frozenset().union(*of_partition.values())
    is_near = any(member.rack in all_racks for member in claims.members if member.rack is not None)
    differ = any(racks != all_racks for racks in of_partition.values())
    return Racks(of_partition, is_near and (differ or prefer_rack_aware))
