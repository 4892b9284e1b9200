"""Events that `Member.handle` accepts, as immutable dataclasses.

Each event reports one action of the application, the network or the clock. A number connects an answer with its effect
(see `effects.py`). Constructors check their arguments: a wrong type raises WrongTypeError, an invalid value
IllegalArgumentError.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from assignor.errors import IllegalArgumentError
from assignor.member.messages import HeartbeatResponse, read_text
from assignor.ordering import java_order
from assignor.validation import read_int, read_items, read_names, wrong_type

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
    """Subscription, or change of subscription, by the application; a member outside the group joins at the next `Poll`.

    Attributes:
        topics: Topic names, from any iterable of str; stored without duplicates, in Java's order of strings.
        pattern: Pattern that the broker matches (RE2/J), in addition to the names or instead of them.
    """

    topics: Iterable[str] = ()
    pattern: str | None = None

    def __post_init__(self) -> None:
        """Reject an empty subscription."""
        names = {str.__str__(name) for name in read_names(self.topics, "Subscribe")}
        object.__setattr__(self, "topics", tuple(sorted(names, key=java_order)))
        if self.pattern is not None:
            object.__setattr__(self, "pattern", read_text(self.pattern, "Subscribe: pattern"))
        if not names and not self.pattern:
            raise IllegalArgumentError("Subscribe: topics or a pattern required; to unsubscribe, use Leave")


@dataclass(frozen=True, slots=True)
class Leave:
    """Unsubscription by the application: the member releases its partitions and leaves the group."""


@dataclass(frozen=True, slots=True)
class Poll:
    """Poll of the application, which is alive and can run callbacks."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Passage of time without another event."""


@dataclass(frozen=True, slots=True)
class HeartbeatSent:
    """Sending of the heartbeat with this number.

    Attributes:
        number: Number of the heartbeat.
    """

    number: int

    def __post_init__(self) -> None:
        """Check the number."""
        _read_number(self)


@dataclass(frozen=True, slots=True)
class ResponseReceived:
    """The coordinator's answer to the heartbeat with this number.

    Attributes:
        number: Number of the heartbeat.
        response: The answer.
    """

    number: int
    response: HeartbeatResponse

    def __post_init__(self) -> None:
        """Check the number and the response."""
        _read_number(self)
        if not isinstance(self.response, HeartbeatResponse):
            raise wrong_type("ResponseReceived: response", "a HeartbeatResponse", self.response)


@dataclass(frozen=True, slots=True)
class TransportFailed:
    """Failure of the heartbeat with this number, which got no answer or could not be sent.

    Attributes:
        number: Number of the heartbeat.
        retriable: True if a retry may succeed, as after a lost connection or a timeout.
        message: Description of the error.
    """

    number: int
    retriable: bool
    message: str = ""

    def __post_init__(self) -> None:
        """Check the fields."""
        _read_number(self)
        _check_message(self)
        if not isinstance(self.retriable, bool):
            raise wrong_type("TransportFailed: retriable", "a bool", self.retriable)


@dataclass(frozen=True, slots=True)
class CoordinatorFound:
    """Discovery of the group's coordinator, which is now known and reachable."""


@dataclass(frozen=True, slots=True)
class CoordinatorLost:
    """Loss of the coordinator, which is unreachable or has been replaced by another broker."""


@dataclass(frozen=True, slots=True)
class MetadataArrived:
    """Arrival of topic names by id, which are added to the known names.

    Attributes:
        names: Topic names by topic id, maybe only some of the requested ones.
    """

    names: Mapping[UUID, str]

    def __post_init__(self) -> None:
        """Check the ids and the names."""
        if not isinstance(self.names, Mapping):
            raise wrong_type("MetadataArrived: names", "a mapping of topic id to name", self.names)
        names = {}
        for topic_id, name in read_items(self.names, "MetadataArrived: names"):
            if not isinstance(topic_id, UUID):
                raise wrong_type("MetadataArrived: a topic id", "a uuid.UUID", topic_id)
            names[topic_id] = read_text(name, f"MetadataArrived: the name of {topic_id}")
        object.__setattr__(self, "names", names)


@dataclass(frozen=True, slots=True)
class CommitDone:
    """Success of the commit with this number.

    Attributes:
        number: Number of the commit.
    """

    number: int

    def __post_init__(self) -> None:
        """Check the number."""
        _read_number(self)


@dataclass(frozen=True, slots=True)
class CommitFailed:
    """Failure of the commit with this number, which is not retried; the reconciliation continues.

    Attributes:
        number: Number of the commit.
        message: Description of the error.
    """

    number: int
    message: str = ""

    def __post_init__(self) -> None:
        """Check the number and the message."""
        _read_number(self)
        _check_message(self)


@dataclass(frozen=True, slots=True)
class CallbackDone:
    """Return of the application's callback with this number.

    Attributes:
        number: Number of the callback.
    """

    number: int

    def __post_init__(self) -> None:
        """Check the number."""
        _read_number(self)


@dataclass(frozen=True, slots=True)
class CallbackFailed:
    """Error raised by the application's callback with this number.

    Attributes:
        number: Number of the callback.
        message: Description of the error.
    """

    number: int
    message: str = ""

    def __post_init__(self) -> None:
        """Check the number and the message."""
        _read_number(self)
        _check_message(self)


_Numbered = (
    HeartbeatSent | ResponseReceived | TransportFailed | CommitDone | CommitFailed | CallbackDone | CallbackFailed
)

Event = Subscribe | Leave | Poll | Tick | CoordinatorFound | CoordinatorLost | MetadataArrived | _Numbered
"""Any event."""


def _read_number(event: _Numbered) -> None:
    object.__setattr__(event, "number", read_int(event.number, f"{type(event).__name__}: number", bits=64))


def _check_message(event: TransportFailed | CommitFailed | CallbackFailed) -> None:
    if not isinstance(event.message, str):
        raise wrong_type(f"{type(event).__name__}: message", "a str", event.message)
