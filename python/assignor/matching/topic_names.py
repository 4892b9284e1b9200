"""Kafka's rules for topic names."""

from __future__ import annotations

import re

from assignor.errors import IllegalArgumentError
from assignor.validation import shown, wrong_type

__all__ = ["INTERNAL_TOPICS", "LONGEST", "validate_topic"]

LONGEST = 249
"""Maximum length of a name. It leaves room for a partition id: Kafka uses both together as the name of a directory."""

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__share_group_state", "__transaction_state"})
"""Kafka's internal topics (Topic.INTERNAL_TOPICS)."""

_ILLEGAL = re.compile(r"[^a-zA-Z0-9._-]")


def validate_topic(name: str) -> None:
    """Raise if Kafka does not allow a topic name.

    Args:
        name: The name.

    Raises:
        IllegalArgumentError: The name is empty, `.` or `..`, longer than 249 characters, or has a character other than
            `[a-zA-Z0-9._-]`; the message names the character and its position.
        WrongTypeError: The name is not a `str`. None raises NullArgumentError, a subclass.

    Source: org.apache.kafka.common.internals.Topic.validate, kafka-clients 4.4.0.

    Example:
        >>> validate_topic("orders.v1")
        >>> validate_topic("orders/v1")
        Traceback (most recent call last):
        assignor.errors.IllegalArgumentError: topic name 'orders/v1' has '/' at position 6; allowed are [a-zA-Z0-9._-]
    """
    if not isinstance(name, str):
        raise wrong_type("a topic name", "a str", name)
    if not name:
        raise IllegalArgumentError("a topic name must not be empty; allowed are 1 to 249 characters of [a-zA-Z0-9._-]")
    if name in (".", ".."):
        raise IllegalArgumentError(f"topic name '{name}' is not allowed: it is the name of a directory")
    illegal = _ILLEGAL.search(name)
    if illegal:
        where = f"{shown(illegal[0])} at position {illegal.start()}"
        raise IllegalArgumentError(f"topic name {shown(name)} has {where}; allowed are [a-zA-Z0-9._-]")
    if len(name) > LONGEST:
        raise IllegalArgumentError(f"topic name {shown(name)} has {len(name)} characters; the limit is {LONGEST}")
