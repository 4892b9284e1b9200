"""What can happen to a member: the events that `Member.handle` takes, plain values without behaviour.

Each is about one thing that the application, the network or the clock did. Numbers tie an answer to the effect that
asked for it (see `effects.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID

    from assignor.member.messages import HeartbeatResponse

__all__ = [
    "CallbackDone",
    "CallbackFailed",
    "CommitDone",
    "CommitFailed",
    "CoordinatorFound",
    "CoordinatorLost",
    "Event",
    "HeartbeatSent",
    "Leave",
    "MetadataArrived",
    "Poll",
    "ResponseReceived",
    "Subscribe",
    "Tick",
    "TransportFailed",
]


@dataclass(frozen=True, slots=True)
class Subscribe:
    """The application subscribes, for the first time or to something else; a member outside joins at the next `Poll`.

    Attributes:
        topics: The names, any iterable of str.
        pattern: A pattern that the broker matches (RE2/J), beside or instead of names.
    """

    topics: Iterable[str] = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Leave:
    """The application unsubscribes: the partitions are released and the group is left."""


@dataclass(frozen=True, slots=True)
class Poll:
    """The application polls, which says that it is alive and may be given callbacks to run."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Nothing but time has passed."""


@dataclass(frozen=True, slots=True)
class HeartbeatSent:
    """The heartbeat of that number is on its way to the coordinator."""

    number: int


@dataclass(frozen=True, slots=True)
class ResponseReceived:
    """The coordinator answered the heartbeat of that number."""

    number: int
    response: HeartbeatResponse


@dataclass(frozen=True, slots=True)
class TransportFailed:
    """The heartbeat of that number got no answer, or could not even be sent.

    Attributes:
        number: Which heartbeat.
        retriable: Whether it makes sense to try again: a connection lost, a request timed out.
        message: What went wrong.
    """

    number: int
    retriable: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class CoordinatorFound:
    """It is known which broker coordinates the group, and it can be reached."""


@dataclass(frozen=True, slots=True)
class CoordinatorLost:
    """The coordinator cannot be reached, or is another broker now."""


@dataclass(frozen=True, slots=True)
class MetadataArrived:
    """The names of topics by id; it adds to what is known already."""

    names: Mapping[UUID, str]


@dataclass(frozen=True, slots=True)
class CommitDone:
    """The commit of that number succeeded."""

    number: int


@dataclass(frozen=True, slots=True)
class CommitFailed:
    """The commit of that number failed for good; reconciling goes on all the same."""

    number: int
    message: str = ""


@dataclass(frozen=True, slots=True)
class CallbackDone:
    """The application's callback of that number came back."""

    number: int


@dataclass(frozen=True, slots=True)
class CallbackFailed:
    """The application's callback of that number raised."""

    number: int
    message: str = ""


Event = (
    Subscribe
    | Leave
    | Poll
    | Tick
    | HeartbeatSent
    | ResponseReceived
    | TransportFailed
    | CoordinatorFound
    | CoordinatorLost
    | MetadataArrived
    | CommitDone
    | CommitFailed
    | CallbackDone
    | CallbackFailed
)
"""Whatever can happen to a member."""
