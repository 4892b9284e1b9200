"""Target assignments of a consumer group (KIP-848), and the input of the assignor that computed them.

A broker writes a record of type 7 for each target that changes, and then a record of type 6 with the epoch. The records
of type 7 directly before the record of type 6 are the result of the assignor. Other records of type 7 copy the target
of a static member to the member that replaces it, or remove the target of a member that leaves. They take effect before
the assignor runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor.reference.replay.member import OwnedPartitions, merged
from assignor.reference.replay.timeline_order import TimelineOrder

if TYPE_CHECKING:
    from assignor.reference.offsets import Record
    from assignor.reference.replay.epochs import EpochGroup

__all__ = ["TargetAssignment", "TargetLog", "TargetMember"]

HIGHEST_FIRST_EPOCH = 2
"""Highest epoch of a new group: brokers create a group with epoch 0 or 1, and its first member adds one."""


@dataclass(frozen=True)
class TargetMember:
    """Member of a target assignment.

    `topics` are the topics that it names, then those that the broker found for its pattern. `owned` is its previous
    target and `assigned` its new target, by topic id.
    """

    id: str
    instance_id: str | None
    rack: str | None
    topics: list[str]
    owned: OwnedPartitions
    assigned: OwnedPartitions


@dataclass(frozen=True)
class TargetAssignment:
    """Target assignment that a broker computed.

    `assignors` are the names with the most votes. If there are several, the member whose heartbeat caused the
    assignment decides; the log does not show which member that is. `is_homogeneous` is True if the broker treats all
    subscriptions as equal. `has_predecessor` is False if the log lacks the target assignment before this one. `members`
    are in the order in which the broker passes them to its assignor.
    """

    timestamp: int
    assignors: list[str]
    is_homogeneous: bool
    has_predecessor: bool
    members: list[TargetMember]


class TargetLog:
    """Targets of a group during replay."""

    def __init__(self) -> None:
        self.targets: dict[str, OwnedPartitions] = {}
        # Targets before the latest series of consecutive records of type 7.
        self.replaced: list[tuple[str, OwnedPartitions]] = []
        self.order = TimelineOrder()
        # The members that joined last, all at the same time.
        self.joined: list[str] = []
        self.joined_at = 0
        # True if the log has the complete input of the next target assignment.
        self.is_known = False

    def apply(self, timestamp: int, record: Record) -> None:
        """Apply a record of a consumer group."""
        if record.type == 7 and record.value is not None:
            member = record.key["memberId"]
            self.replaced.append((member, self.targets.get(member, {})))
            entries = record.value["topicPartitions"]
            self.targets[member] = merged((entry["topicId"], entry["partitions"]) for entry in entries)
            return
        self.replaced = []
        if record.type == 7:
            self.targets.pop(record.key["memberId"], None)
        elif record.type == 5 and record.value is not None:
            if self.order.add(record.key["memberId"]):
                before = self.joined if self.joined_at == timestamp else []
                self.joined, self.joined_at = [*before, record.key["memberId"]], timestamp
        elif record.type == 5:
            self.order.remove(record.key["memberId"])
            self.joined = [member for member in self.joined if member != record.key["memberId"]]
        elif record.type == 3:
            starts = record.value is not None and record.value["epoch"] <= HIGHEST_FIRST_EPOCH
            self.is_known = record.value is not None and (self.is_known or starts)
        elif record.type == 6 and record.value is not None:
            self.is_known = True

    def assignment(self, group: EpochGroup, timestamp: int) -> TargetAssignment:
        """Return the target assignment that a record of type 6 completes; call this before applying the record."""
        before = {**self.targets, **dict(reversed(self.replaced))}
        new = self.joined if self.joined_at == timestamp else []
        members = [member for member in self.order if member not in new] + new
        return TargetAssignment(
            timestamp,
            group.preferred_assignors(),
            group.is_homogeneous(),
            self.is_known,
            [
                TargetMember(
                    member, *group.assigned_member(member), before.get(member, {}), self.targets.get(member, {})
                )
                for member in members
            ],
        )
