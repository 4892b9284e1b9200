"""Signs that the leader of a group is not a Java client of Kafka 3.5 or newer.

Sticky assignors of other clients and of older Java clients have other rules than the engine. A subscription shows which
client wrote it: newer Java clients write version 3, and each of Kafka's assignors writes user data of one form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.errors import WireError
from assignor.reference.bytes import Reader

if TYPE_CHECKING:
    from assignor.reference.replay import ParsedMember

__all__ = ["other_client"]

VERSION = 3
"""The version of subscriptions that Java clients write since Kafka 3.5."""


def other_client(assignor: str, members: list[ParsedMember], leader: str | None) -> str | None:
    """Return the reason why the leader cannot be such a client; None if there is no sign of it."""
    member = next((member for member in members if member.id == leader), None)
    if member is None or isinstance(member.subscription, WireError) or assignor not in IS_USER_DATA:
        return None
    said = f"the leader {leader} is not a Java client of Kafka 3.5 or newer:"
    if member.subscription.version < VERSION:
        return f"{said} its subscription has version {member.subscription.version}"
    if not IS_USER_DATA[assignor](member.subscription.user_data):
        return f"{said} its user data is not that of Kafka's {assignor}"
    return None


def is_sticky(data: bytes | None) -> bool:
    """Return True if the data is None, or partitions by topic followed by a generation."""
    if data is None:
        return True
    reader = Reader(data)
    try:
        for _ in range(reader.count(6, "topics")):
            reader.string("topic")
            for _ in range(reader.count(4, "partitions")):
                reader.integer("i", "partition")
        reader.integer("i", "generation")
    except WireError:
        return False
    return reader.remaining == 0


def is_cooperative(data: bytes | None) -> bool:
    """Return True if the data is a generation."""
    return data is not None and len(data) == 4


IS_USER_DATA = {"sticky": is_sticky, "cooperative-sticky": is_cooperative}
"""Assignor to a function that is true for user data of that assignor."""
