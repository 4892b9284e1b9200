"""Subscription of one consumer: its type, topics, patterns and listener.

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
    """Type of a subscription; after one is chosen, only `unsubscribe` allows another."""

    NONE = "NONE"
    AUTO_TOPICS = "AUTO_TOPICS"
    AUTO_PATTERN = "AUTO_PATTERN"
    AUTO_PATTERN_RE2J = "AUTO_PATTERN_RE2J"
    USER_ASSIGNED = "USER_ASSIGNED"
    AUTO_TOPICS_SHARE = "AUTO_TOPICS_SHARE"

    __hash__ = object.__hash__  # in C; the hash of Enum is a Python function


_AUTO_TYPES = frozenset(SubscriptionType) - {SubscriptionType.NONE, SubscriptionType.USER_ASSIGNED}
_EXCLUSIVE = "Subscription to topics, partitions and pattern are mutually exclusive"


@dataclass(frozen=True, slots=True)
class SubscriptionPattern:
    """A pattern in RE2/J's dialect that the broker matches (KIP-848).

    Attributes:
        pattern: The pattern.

    Raises:
        WrongTypeError: The pattern is not a str.
    """

    pattern: str

    def __post_init__(self) -> None:
        """Check that the pattern is text."""
        check_name(self.pattern, "SubscriptionPattern: pattern")

    def __str__(self) -> str:
        return self.pattern


@runtime_checkable
class ConsumerRebalanceListener(Protocol):
    """Callbacks for changes of the assignment; listeners of kafka-python and aiokafka are compatible."""

    def on_partitions_revoked(self, revoked: Collection[TopicPartition], /) -> object:
        """Handle partitions that are about to be revoked."""

    def on_partitions_assigned(self, assigned: Collection[TopicPartition], /) -> object:
        """Handle partitions that were added."""


class ConsumerSubscription:
    """Subscription of one consumer.

    Types exclude each other: the type changes only from or to `NONE`.

    Attributes:
        type: Current type.
        topics: Subscribed topics; for `USER_ASSIGNED` the topics of the assigned partitions.
        group_topics: Topics of all members of the group, known to its leader.
        pattern: Pattern that the client matches; None without one.
        broker_pattern: Last pattern for the broker. As in Kafka, `unsubscribe` keeps it.
        listener: Last listener. As in Kafka, `unsubscribe` keeps it.
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
        """Store the listener, then set the type. As in Kafka, the listener is stored even if setting the type fails.

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
            IllegalArgumentError: The subscription is not a pattern that the client matches.
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
        """Clear type, topics and pattern; as in Kafka, keep the listener and the broker's pattern."""
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
