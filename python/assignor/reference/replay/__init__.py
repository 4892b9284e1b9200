"""Replay of a group: its history, rebuilt from its records in `__consumer_offsets`.

A history has the generations of the group, and its members and state at the end of the log. The state is the one that a
broker has after loading the records. Events that are not written to the log, such as a rebalance in progress, are not
part of this state.

A group record is of type 2 (classic), 3 (consumer, KIP-848), 11 (share) or 17 (streams). A group without a current
group record is either gone, or only has committed offsets.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assignor.errors import WireError
from assignor.reference.offsets import decode_record
from assignor.reference.replay.classic import ClassicGroup, ParsedMember, ParsedSubscription
from assignor.reference.replay.epochs import EpochGroup
from assignor.reference.replay.member import OwnedPartitions, RecordedMember
from assignor.reference.replay.model import EPOCH_GROUP_TYPES, KINDS, Generation, History, LogRecord
from assignor.reference.replay.target import TargetAssignment, TargetLog, TargetMember

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.reference.offsets import Record

__all__ = [
    "Generation",
    "History",
    "LogRecord",
    "OwnedPartitions",
    "ParsedMember",
    "ParsedSubscription",
    "RecordedMember",
    "TargetAssignment",
    "TargetMember",
    "owned",
    "replay",
]

MAX_WAITING_EPOCHS = 1_000
"""Largest number of epochs that wait for their target assignment. A broker computes one for the latest epoch only."""


def replay(records: Iterable[LogRecord]) -> History:
    """Replay the records of one group, given in log order."""
    group = GroupReplay()
    for entry in records:
        try:
            record = decode_record(entry.key, entry.value)
        except WireError:
            group.bad_records += 1
        else:
            group.apply(entry, record)
    return group.history()


class GroupReplay:
    """State of a group during replay."""

    def __init__(self) -> None:
        self.classic: ClassicGroup | None = None
        self.epoch_groups = {kind: EpochGroup(kind) for kind in EPOCH_GROUP_TYPES}
        self.targets = TargetLog()
        self.offsets: set[tuple[str, int]] = set()
        self.generations: list[Generation] = []
        # Number of complete generations. The others are epochs of a consumer group without a target assignment so far.
        self.completed = 0
        self.last_members: set[str] = set()
        self.last_group_record_was_tombstone = False
        self.bad_records = 0

    def apply(self, entry: LogRecord, record: Record) -> None:
        """Apply a record; types unrelated to members, generations and offsets change nothing."""
        if record.type in (0, 1) and record.value is None:
            self.offsets.discard((record.key["topic"], record.key["partition"]))
        elif record.type in (0, 1):
            self.offsets.add((record.key["topic"], record.key["partition"]))
        elif record.type == 2:
            self.classic = None if record.value is None else ClassicGroup(record.value)
        if record.type == 6 and record.value is not None:
            self.add_target(entry, record.value["assignmentEpoch"])
        for kind, types in EPOCH_GROUP_TYPES.items():
            if record.type in types:
                self.epoch_groups[kind].apply(record)
        if record.type in EPOCH_GROUP_TYPES["consumer"]:
            self.targets.apply(entry.timestamp, record)
        if record.type in KINDS:
            self.last_group_record_was_tombstone = record.value is None
            if record.value is not None:
                self.add_generation(entry, KINDS[record.type])

    def add_generation(self, entry: LogRecord, kind: str) -> None:
        """Add the generation of a group record."""
        members = self.members(kind)
        ids = {member.id for member in members}
        classic = self.classic if kind == "classic" else None
        self.generations.append(
            Generation(
                offset=entry.offset,
                timestamp=entry.timestamp,
                kind=kind,
                generation=self.generation(kind) or 0,
                protocol_type=classic.protocol_type if classic else None,
                protocol=classic.protocol if classic else None,
                leader=classic.leader if classic else None,
                members=len(ids),
                partitions=len(owned(members)),
                same_members=bool(ids) and ids == self.last_members,
                parsed_members=classic.parsed_members() if classic else None,
            )
        )
        self.last_members = ids
        if kind != "consumer":
            self.completed = len(self.generations)
        self.completed = max(self.completed, len(self.generations) - MAX_WAITING_EPOCHS)

    def add_target(self, entry: LogRecord, epoch: int) -> None:
        """Add the target assignment of an epoch to its generation, and complete the generations up to that epoch.

        The first target of a classic group that becomes a consumer group is not computed: the broker copies the current
        assignment.
        """
        end = len(self.generations)
        while end > self.completed and self.generations[end - 1].generation > epoch:
            end -= 1
        if end > self.completed and self.generations[end - 1].generation == epoch:
            generation = self.generations[end - 1]
            before = self.generations[end - 2] if end > 1 else None
            if before is None or (before.kind, before.generation) != ("classic", epoch) or not before.members:
                target = self.targets.assignment(self.epoch_groups["consumer"], entry.timestamp)
                self.generations[end - 1] = replace(generation, target=target)
        self.completed = max(self.completed, end)

    def members(self, kind: str) -> list[RecordedMember]:
        """Return the members that the records of a kind describe."""
        if kind == "classic":
            return self.classic.members() if self.classic else []
        return self.epoch_groups[kind].members()

    def generation(self, kind: str) -> int | None:
        """Return the generation or epoch in the current group record of a kind; None if there is no such record."""
        if kind == "classic":
            return self.classic.generation if self.classic else None
        return self.epoch_groups[kind].epoch

    def current_kind(self) -> str | None:
        """Return the kind of the current group record; in the rare case of several, the kind of the latest one."""
        for generation in reversed(self.generations):
            if self.generation(generation.kind) is not None:
                return generation.kind
        return None

    def history(self) -> History:
        """Return the history up to the last applied record."""
        kind = self.current_kind()
        state, protocol, generation, members = "Empty", None, None, []
        if kind is not None:
            generation, members = self.generation(kind), self.members(kind)
            if kind == "classic" and self.classic:
                state, protocol = self.classic.state, self.classic.protocol
            else:
                state = self.epoch_groups[kind].state
                protocol = self.epoch_groups[kind].assignor() if kind == "consumer" else None
        elif self.last_group_record_was_tombstone and not self.offsets:
            state = "gone"
            if self.generations:
                kind, generation = self.generations[-1].kind, self.generations[-1].generation
        offsets = len(self.offsets)
        return History(
            kind or "offsets", state, protocol, generation, members, self.generations, offsets, self.bad_records
        )


def owned(members: list[RecordedMember]) -> set[tuple[str, int]]:
    """Return the distinct partitions that members own."""
    return {(topic, id) for member in members for topic, ids in (member.partitions or {}).items() for id in ids}
