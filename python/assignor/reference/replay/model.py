"""Data that replay reads and returns: records of the log, generations and histories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from assignor.reference.replay.classic import ParsedMember
    from assignor.reference.replay.member import RecordedMember
    from assignor.reference.replay.target import TargetAssignment

__all__ = ["EPOCH_GROUP_TYPES", "KINDS", "Generation", "History", "LogRecord"]

KINDS = {2: "classic", 3: "consumer", 11: "share", 17: "streams"}
"""Kind of a group, by the type of its group record."""

EPOCH_GROUP_TYPES = {
    "consumer": (3, 5, 6, 7, 8, 16),
    "share": (10, 11, 12, 13, 14),
    "streams": (17, 19, 20, 21, 22, 23),
}
"""Record types of each kind of group that has epochs."""


class LogRecord(NamedTuple):
    """Record of the log: offset, timestamp in milliseconds since 1970, key and value; None is a tombstone's value."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None


@dataclass(frozen=True)
class Generation:
    """Generation of a classic group, or epoch of another group: one group record with a value.

    `members` and `partitions` are counts. `same_members` is True if membership is unchanged since the previous group
    record and the group is not empty. `parsed_members` is None if the group's assignor is not one of Kafka's classic
    assignors. `target` is the target assignment that the broker computed for the epoch of a consumer group.
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
    """Result of a replay: generations, the group at the end of the log, and the number of undecodable records."""

    kind: str
    state: str
    protocol: str | None
    generation: int | None
    members: list[RecordedMember]
    generations: list[Generation]
    committed_offsets: int
    bad_records: int
