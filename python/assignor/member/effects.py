"""Effects that `Member.handle` returns, in the order in which the client must perform them.

A member performs no I/O. The client answers a numbered effect with an event of the same number. Heartbeats have one
sequence of numbers; commits and callbacks share another. Both start at 1 and never restart. Partitions are sorted by
topic (Java's order of strings) and id.
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
    """Request to send this heartbeat; answered by `HeartbeatSent`, then by `ResponseReceived` or `TransportFailed`.

    Attributes:
        number: Number of the heartbeat.
        request: Content of the heartbeat.
    """

    number: int
    request: HeartbeatRequest


@dataclass(frozen=True, slots=True)
class FindCoordinator:
    """Request to find the group's coordinator; answered by `CoordinatorFound`.

    The member does not repeat this effect before the answer. The client chooses the time between failed look-ups.
    """


@dataclass(frozen=True, slots=True)
class RequestMetadata:
    """Request for the names of these topics; answered by `MetadataArrived`, which may lack some of them.

    Attributes:
        topic_ids: Ids of the topics, ascending.
    """

    topic_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True)
class PauseFetching:
    """Request to stop fetching from these partitions, because they will be revoked or lost.

    Deliver none of their fetched records to the application.

    Attributes:
        partitions: Partitions that will be revoked or lost.
    """

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class Commit:
    """Request to commit the consumed offsets; answered by `CommitDone` or `CommitFailed`.

    Retry until the deadline. Call `Member.commit_identity` for each try. If it raises an error, the member may no
    longer commit: answer with `CommitFailed`. After the deadline the member continues without an answer.

    Attributes:
        number: Number of the commit.
        deadline: Time in milliseconds after which the member no longer waits for the answer.
    """

    number: int
    deadline: int


@dataclass(frozen=True, slots=True)
class CallPartitionsRevoked:
    """Request to call `onPartitionsRevoked` with these partitions; answered by `CallbackDone` or `CallbackFailed`.

    Attributes:
        number: Number of the callback.
        partitions: Revoked partitions, at least one.
    """

    number: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class CallPartitionsAssigned:
    """Request to apply the assignment, then to call `onPartitionsAssigned` with the added partitions.

    Do not fetch from added partitions before the callback returns. Answered by `CallbackDone` or `CallbackFailed`.
    After `CallbackDone` all partitions of the assignment may be fetched, including those that `PauseFetching` paused.

    Attributes:
        number: Number of the callback.
        partitions: Added partitions, possibly none.
        assignment: All partitions that the member now owns.
    """

    number: int
    partitions: tuple[TopicPartition, ...]
    assignment: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class CallPartitionsLost:
    """Request to call `onPartitionsLost` with these partitions; answered by `CallbackDone` or `CallbackFailed`.

    Another member may already own these partitions, so their offsets must not be committed.

    Attributes:
        number: Number of the callback.
        partitions: Lost partitions, at least one.
    """

    number: int
    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class ReleaseAssignment:
    """Request to remove all partitions; the member no longer owns any."""


@dataclass(frozen=True, slots=True)
class LeaveCompleted:
    """Completion of a leave: the member has left the group, or there was nothing to leave.

    This effect follows each `Leave`. One effect completes all pending leaves: a second `Leave` before the answer to the
    leave heartbeat causes no second effect.
    """


@dataclass(frozen=True, slots=True)
class RaiseError:
    """Request to raise this error to the application at its next poll. In FATAL, the application needs a new member.

    Attributes:
        code: Kafka's error code; -1 (UNKNOWN_SERVER_ERROR) for an error of the transport.
        name: Name of the error, such as `GROUP_AUTHORIZATION_FAILED`.
        message: Description of the error and, if known, its remedy.
    """

    code: int
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class WakeAt:
    """Request to call `handle(Tick(), now)` at this time in milliseconds unless another event comes first.

    This is always the last effect. It is returned only if the time has changed.

    Attributes:
        at: Time in milliseconds; None cancels the previous time.
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
"""Any effect."""
