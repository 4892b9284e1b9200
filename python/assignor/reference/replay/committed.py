"""Committed offsets of a group, and the members that own the partitions.

Owners are those of the assignment that members have, which differs from the target assignment of a consumer group while
its members change over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignor.reference.replay.events import Partition

__all__ = ["Committed", "Tenure"]


@dataclass
class Tenure:
    """Ownership of a partition.

    `since` is the time since which it has had an owner without interruption. `has_commit` is True if an offset was
    committed since the current owner has it. `is_reported` is True if it was reported as never committed.
    """

    holder: str
    since: int
    has_commit: bool = False
    is_reported: bool = False


@dataclass
class Committed:
    """Committed offsets of a group and the owners of its partitions.

    `last_holders` has the last owner of partitions without one, and `reported` the partitions without an owner whose
    commits were reported in this generation.
    """

    offsets: dict[Partition, int] = field(default_factory=dict)
    tenures: dict[Partition, Tenure] = field(default_factory=dict)
    last_holders: dict[Partition, str] = field(default_factory=dict)
    reported: set[Partition] = field(default_factory=set)

    def own(self, holders: Mapping[Partition, str], at: int) -> None:
        """Replace the owners of all partitions."""
        for partition, tenure in list(self.tenures.items()):
            if partition not in holders:
                self.last_holders[partition] = tenure.holder
                del self.tenures[partition]
        for partition, holder in holders.items():
            present = self.tenures.get(partition)
            self.last_holders.pop(partition, None)
            if present is None:
                self.tenures[partition] = Tenure(holder, at)
            elif present.holder != holder:
                self.tenures[partition] = Tenure(holder, present.since, is_reported=present.is_reported)
        if not holders:
            self.last_holders = {}
        self.reported = set()

    def has_stray_commit(self, partition: Partition, holders: set[str]) -> bool:
        """Return True for the first commit of a partition without an owner, unless a member has just given it up."""
        if partition in self.tenures or self.last_holders.get(partition) in holders or partition in self.reported:
            return False
        self.reported.add(partition)
        return True

    def deadline(self, wait: int) -> int | None:
        """Return the time at which the next partition with an owner and no committed offset is due."""
        return min((tenure.since + wait for _, tenure in self.waiting()), default=None)

    def due(self, since: int) -> list[Partition]:
        """Return, once each, the partitions that have an owner since a time or before and no committed offset."""
        found = [(partition, tenure) for partition, tenure in self.waiting() if tenure.since <= since]
        for _, tenure in found:
            tenure.is_reported = True
        return sorted(partition for partition, _ in found)

    def waiting(self) -> list[tuple[Partition, Tenure]]:
        """Return the partitions with an owner and without a committed offset that were not reported yet."""
        return [
            (partition, tenure)
            for partition, tenure in self.tenures.items()
            if partition not in self.offsets and not tenure.is_reported
        ]
