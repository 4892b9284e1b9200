"""Signs that the leader of a group is not a Java client of Kafka 3.5 or newer.

The sticky assignors of other clients and of older Java clients differ from the engine's. A subscription shows which
client wrote it: newer Java clients write version 3, and each of Kafka's assignors has its own format of user data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.errors import WireError
from assignor.reference.bytes import Reader

if TYPE_CHECKING:
    from assignor.reference.replay import ParsedMember

__all__ = ["other_client"]

VERSION = 3
"""Version of subscriptions that Java clients write since Kafka 3.5."""


def other_client(assignor: str, members: list[ParsedMember], leader: str | None) -> str | None:
    """Return the reason why the leader cannot be a Java client of Kafka 3.5 or newer, if there is one."""
    member = next((member for member in members if member.id == leader), None)
    if member is None or isinstance(member.subscription, WireError) or assignor not in IS_USER_DATA:
        return None
    start = f"the leader {leader} is not a Java client of Kafka 3.5 or newer:"
    if member.subscription.version < VERSION:
        return f"{start} its subscription has version {member.subscription.version}"
    if not IS_USER_DATA[assignor](member.subscription.user_data):
        return f"{start} its user data does not have the format of Kafka's {assignor} assignor"
    return None


def is_sticky(data: bytes | None) -> bool:
    """Return True if the data is None, or has partitions by topic and then a generation."""
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
    """Return True if the data has the size of a generation."""
    return data is not None and len(data) == 4


IS_USER_DATA = {"sticky": is_sticky, "cooperative-sticky": is_cooperative}
"""Assignor to the function that checks the format of its user data."""
