"""What a member asks for: the effects that `Member.handle` returns, in the order in which they are to be carried out.

A member does nothing by itself. An effect with a number is answered by an event with that number. Heartbeats have
numbers of their own; commits and callbacks share theirs. Both ascend from 1 all the member's life. Partitions are
sorted by topic (Java's order of strings) and id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from assignor.member.messages import HeartbeatRequest
    from assignor.model import TopicPartition

__all__ = [
    "CallPartitionsAssigned",
    "CallPartitionsLost",
    "CallPartitionsRevoked",
    "Commit",
    "Effect",
    "FindCoordinator",
    "LeaveCompleted",
    "PauseFetching",
    "RaiseError",
    "ReleaseAssignment",
    "RequestMetadata",
    "SendHeartbeat",
    "WakeAt",
]


@dataclass(frozen=True, slots=True)
class SendHeartbeat:
    """Send this heartbeat to the coordinator; `HeartbeatSent`, then `ResponseReceived` or `TransportFailed` answer."""

    number: int
    request: HeartbeatRequest


@dataclass(frozen=True, slots=True)
class FindCoordinator:
    """Look for the group's coordinator until it is found; `CoordinatorFound` answers.

    Not asked for again before that answer. How long to wait between two look-ups that fail is the client's concern.
    """


@dataclass(frozen=True, slots=True)
class RequestMetadata:
    """Ask for the names of these topics (ids ascending); `MetadataArrived` answers, and may know some of them only."""

    topic_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class PauseFetching:
    """Fetch nothing more from these partitions and hand out nothing already fetched: they are about to be given up."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit what was consumed, trying again until the deadline; `CommitDone` or `CommitFailed` answers.

    `Member.commit_identity` says for each try who commits. Where it raises meanwhile, the partitions are no longer the
    member's to commit: `CommitFailed` answers. At the deadline the member goes on without an answer.
    """

    number: int
    deadline: int


@dataclass(frozen=True, slots=True)
class CallPartitionsRevoked:
    """Call `onPartitionsRevoked` with these partitions, at least one; `CallbackDone` or `CallbackFailed` answers."""

    number: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class CallPartitionsAssigned:
    """Make the assignment effective, then call `onPartitionsAssigned` with what is new in it, which may be nothing.

    Nothing is fetched from what is new before the callback came back; `CallbackDone` or `CallbackFailed` answers. Once
    it did well, everything of the assignment may be fetched from, also what `PauseFetching` paused before.

    Attributes:
        number: Of the callback.
        partitions: What is new.
        assignment: All that the member owns now.
    """

    number: int
    partitions: tuple[TopicPartition, ...]
    assignment: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class CallPartitionsLost:
    """Call `onPartitionsLost` with these partitions, at least one; `CallbackDone` or `CallbackFailed` answers.

    Somebody else may own them already: nothing is to be committed.
    """

    number: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ReleaseAssignment:
    """The member owns nothing any more: forget all its partitions."""


@dataclass(frozen=True, slots=True)
class LeaveCompleted:
    """The group is left, or there was nothing to leave.

    One of these follows each `Leave`; one completes all that wait: a second `Leave` before the leave heartbeat is
    answered adds no effect of its own.
    """


@dataclass(frozen=True, slots=True)
class RaiseError:
    """Raise this to the application at its next poll; where the member is FATAL after it, only a new one goes on.

    Attributes:
        code: Kafka's error code; -1 (UNKNOWN_SERVER_ERROR) where it was the transport that failed.
        name: Its name, such as `GROUP_AUTHORIZATION_FAILED`.
        message: What happened, and what can be done about it.
    """

    code: int
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Call `handle(Tick(), now)` at that time (milliseconds) if nothing happens before; None means not at all.

    Returned last, and only when it is another time than before.
    """

    at: int | None


Effect = (
    SendHeartbeat
    | FindCoordinator
    | RequestMetadata
    | PauseFetching
    | Commit
    | CallPartitionsRevoked
    | CallPartitionsAssigned
    | CallPartitionsLost
    | ReleaseAssignment
    | LeaveCompleted
    | RaiseError
    | WakeAt
)
"""Whatever a member can ask for."""
