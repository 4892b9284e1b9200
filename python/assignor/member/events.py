"""What can happen to a member: the events that `Member.handle` takes, plain values without behaviour.

Each is about one thing that the application, the network or the clock did. Numbers tie an answer to the effect that
asked for it (see `effects.py`). An event that says something impossible cannot be made: WrongTypeError for a value of
another type, IllegalArgumentError for one that cannot be meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from assignor.errors import IllegalArgumentError
from assignor.member.messages import HeartbeatResponse, read_text
from assignor.ordering import java_order
from assignor.validation import read_int, read_names, wrong_type

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
        topics: The names, any iterable of str; kept once each, in Java's order of strings.
        pattern: A pattern that the broker matches (RE2/J), beside or instead of names.
    """

    topics: Iterable[str] = ()
    pattern: str | None = None

    def __post_init__(self) -> None:
        """Refuse a subscription to nothing."""
        names = {str.__str__(name) for name in read_names(self.topics, "Subscribe")}
        object.__setattr__(self, "topics", tuple(sorted(names, key=java_order)))
        if self.pattern is not None:
            object.__setattr__(self, "pattern", read_text(self.pattern, "Subscribe: pattern"))
        if not names and not self.pattern:
            raise IllegalArgumentError("Subscribe: topics or a pattern are needed; to unsubscribe, use Leave")


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

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        _read_number(self)


@dataclass(frozen=True, slots=True)
class ResponseReceived:
    """The coordinator answered the heartbeat of that number."""

    number: int
    response: HeartbeatResponse

    def __post_init__(self) -> None:
        """Refuse what is no number, or no response."""
        _read_number(self)
        if not isinstance(self.response, HeartbeatResponse):
            raise wrong_type("ResponseReceived: response", "a HeartbeatResponse", self.response)


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

    def __post_init__(self) -> None:
        """Refuse what is no number, or neither True nor False, or no text."""
        _read_number(self)
        _check_message(self)
        if not isinstance(self.retriable, bool):
            raise wrong_type("TransportFailed: retriable", "a bool", self.retriable)


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

    def __post_init__(self) -> None:
        """Refuse what is no id, or no name."""
        if not isinstance(self.names, Mapping):
            raise wrong_type("MetadataArrived: names", "a mapping of topic id to name", self.names)
        names = {}
        for topic_id, name in self.names.items():
            if not isinstance(topic_id, UUID):
                raise wrong_type("MetadataArrived: a topic id", "a uuid.UUID", topic_id)
            names[topic_id] = read_text(name, f"MetadataArrived: the name of {topic_id}")
        object.__setattr__(self, "names", names)


@dataclass(frozen=True, slots=True)
class CommitDone:
    """The commit of that number succeeded."""

    number: int

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        _read_number(self)


@dataclass(frozen=True, slots=True)
class CommitFailed:
    """The commit of that number failed for good; reconciling goes on all the same."""

    number: int
    message: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no number, or no text."""
        _read_number(self)
        _check_message(self)


@dataclass(frozen=True, slots=True)
class CallbackDone:
    """The application's callback of that number came back."""

    number: int

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        _read_number(self)


@dataclass(frozen=True, slots=True)
class CallbackFailed:
    """The application's callback of that number raised."""

    number: int
    message: str = ""

    def __post_init__(self) -> None:
        """Refuse what is no number, or no text."""
        _read_number(self)
        _check_message(self)


_Numbered = (
    HeartbeatSent | ResponseReceived | TransportFailed | CommitDone | CommitFailed | CallbackDone | CallbackFailed
)

Event = Subscribe | Leave | Poll | Tick | CoordinatorFound | CoordinatorLost | MetadataArrived | _Numbered
"""Whatever can happen to a member."""


def _read_number(event: _Numbered) -> None:
    object.__setattr__(event, "number", read_int(event.number, f"{type(event).__name__}: number", bits=64))


def _check_message(event: TransportFailed | CommitFailed | CallbackFailed) -> None:
    if not isinstance(event.message, str):
        raise wrong_type(f"{type(event).__name__}: message", "a str", event.message)
