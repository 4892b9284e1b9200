"""State of a group during replay.

Its size depends on members, partitions and time windows that have not ended, not on the number of generations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.reference.replay.committed import Committed
from assignor.reference.replay.epochs import EpochGroup
from assignor.reference.replay.storms import Storm
from assignor.reference.replay.target import TargetLog

if TYPE_CHECKING:
    from assignor.reference.replay import Generation
    from assignor.reference.replay.classic import ClassicGroup
    from assignor.reference.replay.difference import GroupRecord
    from assignor.reference.replay.events import Event, Partition
    from assignor.reference.replay.known_member import KnownMember
    from assignor.reference.replay.stuck import CommitTimes

__all__ = ["GroupState", "HeldGeneration", "OpenEpoch", "PendingLeave", "Settings"]


class Settings(NamedTuple):
    """Thresholds of events; times are in milliseconds."""

    storm_rebalances: int = 20
    storm_window_ms: int = 60_000
    stuck_factor: int = 10
    stuck_interval_ms: int = 100
    never_committed_ms: int = 60_000


@dataclass
class PendingLeave:
    """Member whose record was deleted.

    The leave is pending while another record of the same time can still show that the member was replaced. It becomes
    final at `deadline`, which is later than `at` and the group's clock.
    """

    member: KnownMember
    at: int
    deadline: int
    offset: int
    kind: str
    generation: int | None


@dataclass
class HeldGeneration:
    """Generation whose comparison waits for later topic metadata, and the group record before it."""

    generation: Generation
    before: Generation | None
    duration: int | None


@dataclass
class StaticReturn:
    """Static member that came back with a new member id, after the last group record; `previous` is the old id."""

    at: int
    previous: str
    member: KnownMember


@dataclass
class OpenEpoch:
    """Epoch whose target assignment is not written yet: its generation, and its rebalance event if it has one."""

    held: HeldGeneration
    rebalance: Event | None
    topics: set[str] | None
    is_partial: bool


@dataclass
class GroupState:
    """State of a group.

    `offset` is the offset of its last record and `clock` the highest timestamp. `kinds` are the kinds of its group
    records, the latest last. `members` are the current members, and `previous` is the last group record. `ended` is the
    time at which it was deleted; None if it was not. `owners` are those of the last generation or target assignment,
    `last_owners` the last known ones, and `highest` is the highest known partition by topic. `targets_of` has the
    values of target assignment records by member.
    """

    cluster: str
    group: str
    storm: Storm
    offset: int = -1
    clock: int | None = None
    records: int = 0
    duplicates: int = 0
    bad_records: int = 0
    time_backwards: int = 0
    rebalances: int = 0
    classic: ClassicGroup | None = None
    epoch_groups: dict[str, EpochGroup] = field(
        default_factory=lambda: {kind: EpochGroup(kind) for kind in ("consumer", "share", "streams")}
    )
    targets: TargetLog = field(default_factory=TargetLog)
    targets_of: dict[str, dict[str, Any]] = field(default_factory=dict)
    counts: dict[str, int] | None = None
    initialized: list[Partition] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    members: dict[str, KnownMember] = field(default_factory=dict)
    pending: list[PendingLeave] = field(default_factory=list)
    returned: list[StaticReturn] = field(default_factory=list)
    previous: GroupRecord | None = None
    ended: int | None = None
    has_history: bool = False
    is_deleted: bool = False
    last: Generation | None = None
    last_members: set[str] = field(default_factory=set)
    open_epoch: OpenEpoch | None = None
    held: HeldGeneration | None = None
    owners: dict[Partition, str] | None = field(default_factory=dict)
    last_owners: dict[Partition, str] = field(default_factory=dict)
    unowned: list[Partition] | None = None
    highest: dict[str, int] = field(default_factory=dict)
    committed: Committed = field(default_factory=Committed)
    has_known_owners: bool = False
    commit_times: dict[str, CommitTimes] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Kind of the last group record; `offsets` before the first one."""
        return self.kinds[-1] if self.kinds else "offsets"

    def generation_of(self, kind: str) -> int | None:
        """Return the generation or epoch in the current group record of a kind; None if there is no such record."""
        if kind == "classic":
            return self.classic.generation if self.classic else None
        return self.epoch_groups[kind].epoch

    def common(self, at: int, offset: int, kind: str | None = None) -> tuple[str, str, str, int, int]:
        """Return the common values of an event."""
        return (self.cluster, self.group, kind or self.kind, at, offset)

    def owner_names(self) -> set[str]:
        """Return the owner names of the current members."""
        return {member.owner_name for member in self.members.values()}

    def member_of(self, owner: str) -> str | None:
        """Return the id of the member with an owner name; if several members share the name, the lowest id."""
        return next((id for id, member in sorted(self.members.items()) if member.owner_name == owner), None)
