"""The history of one group, rebuilt from its records in `__consumer_offsets`.

Who was in it, which generations it went through, and how it stands at the end of the log. Replay looks at nothing but
the records: the state of a group is what a broker would have after loading them. What never reaches the log (a
rebalance under way, for one) is not in it.

Four types of records say that a group stands or does not: type 2 (classic), 3 (consumer, KIP-848), 11 (share) and 17
(streams). A group without one of them that stands is either gone or just a name under which offsets are committed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from assignor.errors import WireError
from assignor.reference.offsets import Record, decode_record
from assignor.reference.replay.classic import ClassicGroup, ParsedMember, ParsedSubscription
from assignor.reference.replay.epochs import EpochGroup
from assignor.reference.replay.member import OwnedPartitions, RecordedMember
from assignor.reference.replay.target import TargetAssignment, TargetLog, TargetMember

if TYPE_CHECKING:
    from collections.abc import Iterable

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

KINDS = {2: "classic", 3: "consumer", 11: "share", 17: "streams"}
"""What a group is, by the type of its group record."""

EPOCH_GROUP_TYPES = {
    "consumer": (3, 5, 6, 7, 8, 16),
    "share": (10, 11, 12, 13, 14),
    "streams": (17, 19, 20, 21, 22, 23),
}
"""Types of the records about each kind of group that has epochs."""


class LogRecord(NamedTuple):
    """A record as the log has it: its offset, milliseconds since 1970, key and value; no value is a tombstone."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Generation:
    """One value of a group record: a generation of a classic group, an epoch of another.

    `members` and `partitions` are counts. `same_members` says whether it has the very members that the group record
    before it had, and some. `parsed_members` is None where the assignor of the classic group is not one of Kafka's.
    `target` is what the broker computed for the epoch of a consumer group.
    """

    offset: int
    timestamp: int
    kind: str
    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    members: int
    partitions: int
    same_members: bool
    parsed_members: list[ParsedMember] | None
    target: TargetAssignment | None = None


@dataclass(frozen=True)
class History:
    """A group's log, replayed: how it stands at the end, every generation, and how many records could not be read."""

    kind: str
    state: str
    protocol: str | None
    generation: int | None
    members: list[RecordedMember]
    generations: list[Generation]
    committed_offsets: int
    bad_records: int


def replay(records: Iterable[LogRecord]) -> History:
    """Replay the records of one group, which come in the order of the log."""
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
    """State of one group during the replay of its log."""

    def __init__(self) -> None:
        self.classic: ClassicGroup | None = None
        self.epoch_groups = {kind: EpochGroup(kind) for kind in EPOCH_GROUP_TYPES}
        self.targets = TargetLog()
        self.offsets: set[tuple[str, int]] = set()
        self.generations: list[Generation] = []
        self.last_members: set[str] = set()
        self.last_group_record_was_tombstone = False
        self.bad_records = 0

    def apply(self, entry: LogRecord, record: Record) -> None:
        """Take in a record; types that say nothing about members, generations or offsets change nothing."""
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
        """Add the generation that a group record starts."""
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

    def add_target(self, entry: LogRecord, epoch: int) -> None:
        """Add the target assignment that a broker computes for an epoch.

        The broker does not compute the first target of a classic group that becomes a consumer group: it copies the
        assignment of its members.
        """
        for index in reversed(range(len(self.generations))):
            generation = self.generations[index]
            if generation.kind != "consumer" or generation.generation < epoch:
                return
            if generation.generation == epoch:
                before = self.generations[index - 1] if index else None
                if before is None or (before.kind, before.generation) != ("classic", epoch) or not before.members:
                    target = self.targets.assignment(self.epoch_groups["consumer"], entry.timestamp)
                    self.generations[index] = replace(generation, target=target)
                return

    def members(self, kind: str) -> list[RecordedMember]:
        """The members of the group as one of that kind."""
        if kind == "classic":
            return self.classic.members() if self.classic else []
        return self.epoch_groups[kind].members()

    def generation(self, kind: str) -> int | None:
        """The generation or epoch of the group as one of that kind; None where it does not stand."""
        if kind == "classic":
            return self.classic.generation if self.classic else None
        return self.epoch_groups[kind].epoch

    def standing(self) -> str | None:
        """The kind of the group record that stands; the last written where, against all custom, there are several."""
        for generation in reversed(self.generations):
            if self.generation(generation.kind) is not None:
                return generation.kind
        return None

    def history(self) -> History:
        """The group at the end of its log."""
        kind = self.standing()
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
    """The distinct partitions that members have."""
    return {(topic, id) for member in members for topic, ids in (member.partitions or {}).items() for id in ids}
