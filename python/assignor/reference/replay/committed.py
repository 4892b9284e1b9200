"""Committed offsets of a group, and the members that own the partitions.

Owners are those of the current assignment. It differs from the target assignment of a consumer group until all members
have given up and received partitions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignor.reference.replay.events import Partition

__all__ = ["Committed", "Ownership"]


@dataclass
class Ownership:
    """Ownership of a partition.

    `since` is the time at which the partition last changed from no owner to an owner, or at which its committed offset
    was deleted, if that is later. `has_commit` is True if an offset was committed since the partition has its current
    owner. `is_reported` is True if the partition was reported as never committed.
    """

    owner: str
    since: int
    has_commit: bool = False
    is_reported: bool = False


@dataclass
class Committed:
    """Committed offsets of a group and the owners of its partitions.

    `last_owners` has the last owner of each partition that lost its owner. It is emptied when no partition has an
    owner. `reported` has the partitions without an owner for which a commit was reported since the owners were last
    replaced.
    """

    offsets: dict[Partition, int] = field(default_factory=dict)
    ownerships: dict[Partition, Ownership] = field(default_factory=dict)
    last_owners: dict[Partition, str] = field(default_factory=dict)
    reported: set[Partition] = field(default_factory=set)

    def set_owners(self, owners: Mapping[Partition, str], at: int) -> None:
        """Replace the owners of all partitions."""
        for partition, ownership in list(self.ownerships.items()):
            if partition not in owners:
                self.last_owners[partition] = ownership.owner
                del self.ownerships[partition]
        for partition, owner in owners.items():
            present = self.ownerships.get(partition)
            self.last_owners.pop(partition, None)
            if present is None:
                self.ownerships[partition] = Ownership(owner, at)
            elif present.owner != owner:
                self.ownerships[partition] = Ownership(owner, present.since, is_reported=present.is_reported)
        if not owners:
            self.last_owners = {}
        self.reported = set()

    def has_stray_commit(self, partition: Partition, owners: set[str]) -> bool:
        """Return True for the first commit of a partition without an owner, unless its last owner is still a member."""
        if partition in self.ownerships or self.last_owners.get(partition) in owners or partition in self.reported:
            return False
        self.reported.add(partition)
        return True

    def deadline(self, wait: int) -> int | None:
        """Return the time at which the next waiting partition is due: `wait` milliseconds after its `since`."""
        return min((ownership.since + wait for _, ownership in self.waiting()), default=None)

    def due(self, since: int) -> list[Partition]:
        """Return the partitions without a commit that have had an owner at least since `since`; report each once."""
        found = [(partition, ownership) for partition, ownership in self.waiting() if ownership.since <= since]
        for _, ownership in found:
            ownership.is_reported = True
        return sorted(partition for partition, _ in found)

    def waiting(self) -> list[tuple[Partition, Ownership]]:
        """Return the partitions with an owner and without a committed offset that were not reported yet."""
        return [
            (partition, ownership)
            for partition, ownership in self.ownerships.items()
            if partition not in self.offsets and not ownership.is_reported
        ]
