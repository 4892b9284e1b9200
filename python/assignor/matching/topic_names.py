"""Which names a topic can have, by Kafka's rule."""

from __future__ import annotations

import re

from assignor.errors import IllegalArgumentError
from assignor.validation import shown, wrong_type

__all__ = ["INTERNAL_TOPICS", "LONGEST", "validate_topic"]

LONGEST = 249
"""How many characters a name may have: with the partition's id it has to fit into the name of a folder."""

INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__share_group_state", "__transaction_state"})
"""Topics that the broker keeps for itself (Topic.INTERNAL_TOPICS)."""

_ILLEGAL = re.compile(r"[^a-zA-Z0-9._-]")


def validate_topic(name: str) -> None:
    """Refuse a name that no topic can have.

    Args:
        name: The name.

    Raises:
        IllegalArgumentError: It is empty, `.` or `..`, longer than 249 characters, or has another character than
            `[a-zA-Z0-9._-]`; the message says which and where.
        WrongTypeError: It is no `str`; NullArgumentError, which is one, if it is None.

    Source: org.apache.kafka.common.internals.Topic.validate, kafka-clients 4.4.0.

    Example:
        >>> validate_topic("orders.v1")
        >>> validate_topic("orders/v1")
        Traceback (most recent call last):
        assignor.errors.IllegalArgumentError: topic name 'orders/v1' has '/' at position 6; legal are [a-zA-Z0-9._-]
    """
    if not isinstance(name, str):
        raise wrong_type("a topic name", "a str", name)
    if not name:
        raise IllegalArgumentError("a topic name cannot be empty; give 1 to 249 characters of [a-zA-Z0-9._-]")
    if name in (".", ".."):
        raise IllegalArgumentError(f"topic name '{name}' cannot be used: it means a folder")
    illegal = _ILLEGAL.search(name)
    if illegal:
        where = f"{shown(illegal[0])} at position {illegal.start()}"
        raise IllegalArgumentError(f"topic name {shown(name)} has {where}; legal are [a-zA-Z0-9._-]")
    if len(name) > LONGEST:
        raise IllegalArgumentError(f"topic name {shown(name)} has {len(name)} characters; at most {LONGEST} are legal")
