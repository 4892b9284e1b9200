"""What one subscribes with: the types that exclude each other, patterns for the broker, listeners.

Source: SubscriptionState.SubscriptionType, SubscriptionPattern and ConsumerRebalanceListener, kafka-clients 4.4.0.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from assignor.validation import check_name, wrong_type

if TYPE_CHECKING:
    from collections.abc import Collection

    from assignor.model import TopicPartition

__all__ = ["AUTO_TYPES", "ConsumerRebalanceListener", "SubscriptionPattern", "SubscriptionType"]


class SubscriptionType(enum.Enum):
    """How a consumer comes to its partitions; once one is chosen only `unsubscribe` leads to another."""

    NONE = "NONE"
    AUTO_TOPICS = "AUTO_TOPICS"
    AUTO_PATTERN = "AUTO_PATTERN"
    AUTO_PATTERN_RE2J = "AUTO_PATTERN_RE2J"
    USER_ASSIGNED = "USER_ASSIGNED"
    AUTO_TOPICS_SHARE = "AUTO_TOPICS_SHARE"

    __hash__ = object.__hash__  # a member is equal to nothing else; Enum's own takes longer


AUTO_TYPES = frozenset(SubscriptionType) - {SubscriptionType.NONE, SubscriptionType.USER_ASSIGNED}
"""Those with which a group decides about the partitions."""


@dataclass(frozen=True, slots=True)
class SubscriptionPattern:
    """A pattern in RE2/J's dialect that the broker matches (KIP-848); nothing is matched here.

    Raises:
        WrongTypeError: The pattern is no str.
    """

    pattern: str

    def __post_init__(self) -> None:
        """Refuse what is no text."""
        check_name(self.pattern, "SubscriptionPattern: pattern")

    def __str__(self) -> str:
        return self.pattern


@runtime_checkable
class ConsumerRebalanceListener(Protocol):
    """What a consumer is told when its partitions change; listeners of kafka-python and aiokafka fit."""

    def on_partitions_revoked(self, revoked: Collection[TopicPartition], /) -> object:
        """They are about to be taken away."""

    def on_partitions_assigned(self, assigned: Collection[TopicPartition], /) -> object:
        """They were added."""


def read_listener(listener: object) -> ConsumerRebalanceListener | None:
    """The listener, if it is one or None."""
    if listener is None or isinstance(listener, ConsumerRebalanceListener):
        return listener
    raise wrong_type("a listener", "an object with on_partitions_revoked and on_partitions_assigned", listener)
