"""What one consumer subscribes to: the type of subscription, topics, patterns and the listener.

Source: SubscriptionState, SubscriptionState.SubscriptionType, SubscriptionPattern and ConsumerRebalanceListener,
kafka-clients 4.4.0.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from assignor.errors import IllegalArgumentError, IllegalStateError
from assignor.ordering import java_order
from assignor.validation import check_name, wrong_type

if TYPE_CHECKING:
    from collections.abc import Collection

    from assignor.matching import TopicPattern
    from assignor.model import TopicPartition

__all__ = ["ConsumerRebalanceListener", "ConsumerSubscription", "SubscriptionPattern", "SubscriptionType"]


class SubscriptionType(enum.Enum):
    """How a consumer comes to its partitions; once one is chosen only `unsubscribe` leads to another."""

    NONE = "NONE"
    AUTO_TOPICS = "AUTO_TOPICS"
    AUTO_PATTERN = "AUTO_PATTERN"
    AUTO_PATTERN_RE2J = "AUTO_PATTERN_RE2J"
    USER_ASSIGNED = "USER_ASSIGNED"
    AUTO_TOPICS_SHARE = "AUTO_TOPICS_SHARE"

    __hash__ = object.__hash__  # a member is equal to nothing else; Enum's own takes longer


_AUTO_TYPES = frozenset(SubscriptionType) - {SubscriptionType.NONE, SubscriptionType.USER_ASSIGNED}
_EXCLUSIVE = "Subscription to topics, partitions and pattern are mutually exclusive"


@dataclass(frozen=True, slots=True)
class SubscriptionPattern:
    """A pattern in RE2/J's dialect that the broker matches (KIP-848); nothing is matched here.

    Raises:
        WrongTypeError: The pattern is no str.
    """

    pattern: str

    def __post_init__(self) -> None:
        """Check that the pattern is text."""
        check_name(self.pattern, "SubscriptionPattern: pattern")

    def __str__(self) -> str:
        return self.pattern


@runtime_checkable
class ConsumerRebalanceListener(Protocol):
    """Callbacks for changes of the assignment; listeners of kafka-python and aiokafka fit."""

    def on_partitions_revoked(self, revoked: Collection[TopicPartition], /) -> object:
        """Handle partitions that are about to be revoked."""

    def on_partitions_assigned(self, assigned: Collection[TopicPartition], /) -> object:
        """Handle partitions that were added."""


class ConsumerSubscription:
    """The subscription of one consumer.

    Types exclude each other: the type changes only from and to `NONE`.

    Attributes:
        type: The type in use.
        topics: The subscribed topics; for `USER_ASSIGNED` the topics of the assigned partitions.
        group_topics: The topics of all members of the group, as its leader knows them.
        pattern: The pattern that is matched here; None without one.
        broker_pattern: The last pattern that the broker matches. Kafka keeps it after `unsubscribe`.
        listener: The listener given last. Kafka keeps it after `unsubscribe`.
    """

    def __init__(self) -> None:
        self.type = SubscriptionType.NONE
        self.topics: frozenset[str] = frozenset()
        self.group_topics: frozenset[str] = frozenset()
        self.pattern: TopicPattern | None = None
        self.broker_pattern: SubscriptionPattern | None = None
        self.listener: ConsumerRebalanceListener | None = None

    @property
    def is_auto_assigned(self) -> bool:
        """True if a group assigns the partitions."""
        return self.type in _AUTO_TYPES

    def register(self, listener: object, wanted: SubscriptionType) -> None:
        """Store the listener, then set the type. As in Kafka the listener is stored even if the type is refused.

        Raises:
            IllegalStateError: Another type is in use.
        """
        if listener is not None and not isinstance(listener, ConsumerRebalanceListener):
            raise wrong_type("a listener", "an object with on_partitions_revoked and on_partitions_assigned", listener)
        self.listener = listener
        self.set_type(wanted)

    def set_type(self, wanted: SubscriptionType) -> None:
        """Set the type of subscription.

        Raises:
            IllegalStateError: Another type is in use.
        """
        if self.type not in (SubscriptionType.NONE, wanted):
            raise IllegalStateError(_EXCLUSIVE)
        self.type = wanted

    def set_topics(self, topics: frozenset[str]) -> bool:
        """Replace the subscribed topics. Return True if they changed."""
        if topics == self.topics:
            return False
        self.topics = topics
        return True

    def set_matched_topics(self, topics: frozenset[str]) -> bool:
        """Replace the subscribed topics by those that the pattern matches. Return True if they changed.

        Raises:
            IllegalArgumentError: No pattern that is matched here is in use.
        """
        if self.type is not SubscriptionType.AUTO_PATTERN:
            raise IllegalArgumentError(
                f"Attempt to subscribe from pattern while subscription type set to {self.type.name}"
            )
        return self.set_topics(topics)

    def set_group_topics(self, topics: frozenset[str]) -> bool:
        """Replace the topics of the group. Return True if this consumer does not subscribe to all of them.

        Raises:
            IllegalStateError: No group assigns the partitions.
        """
        if not self.is_auto_assigned:
            raise IllegalStateError(_EXCLUSIVE)
        self.group_topics = topics
        return not topics <= self.topics

    def clear(self) -> None:
        """Forget type, topics and pattern; keep the listener and the broker's pattern, as Kafka does."""
        self.type = SubscriptionType.NONE
        self.topics = self.group_topics = frozenset()
        self.pattern = None

    def matches(self, topics: set[str]) -> bool:
        """Return True if the pattern matches all topics or, without a pattern, if all are subscribed."""
        if self.pattern is not None:
            return all(map(self.pattern.matches, topics))
        return topics <= self.topics

    def describe(self) -> str:
        """Return Kafka's description; topics are in Java's order of strings."""
        if self.type is SubscriptionType.AUTO_PATTERN:
            return f"Subscribe({self.pattern.pattern if self.pattern else None})"
        if self.type is SubscriptionType.AUTO_PATTERN_RE2J:
            return f"Subscribe({self.broker_pattern})"
        topics = ",".join(sorted(self.topics, key=java_order))
        return f"Subscribe to Share Group({topics})" if self.type is _SHARE else f"Subscribe({topics})"


_SHARE = SubscriptionType.AUTO_TOPICS_SHARE
