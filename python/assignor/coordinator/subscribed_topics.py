"""Which topics the members of a group subscribe to, as far as a coordinator looks into their bytes.

Kafka's coordinator reads a subscription as version 0, which all versions begin with, to know which offsets are still in
use. Where it finds too few bytes for a number, it does without: the topics are not known. Where a length is wrong, its
reader throws something that nobody expects, and the join phase is not completed. Both are kept here.

Source: ClassicGroup.computeSubscribedTopics, ConsumerProtocol.deserializeConsumerProtocolSubscription and
ByteBufferAccessor, Kafka 4.3.1.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assignor.coordinator.requests import Protocols

__all__ = ["CONSUMER", "UnexpectedLengthError", "read_topics", "subscribes_anew"]

CONSUMER = "consumer"
"""The protocol type of groups of consumers, whose subscriptions the coordinator can read."""

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")


class UnexpectedLengthError(Exception):
    """A length in a subscription is negative, or longer than what follows."""


def read_topics(subscription: bytes) -> list[str] | None:
    r"""The topics of a subscription.

    Returns:
        The topics as they come, or None where the bytes end within a number.

    Raises:
        UnexpectedLengthError: A length is not one.

    Example:
        >>> read_topics(b"\0\3" b"\0\0\0\1" b"\0\2t0" b"\xff\xff\xff\xff"), read_topics(b"\0\1")
        (['t0'], None)
    """
    try:
        position = _INT16.size
        (count,) = _INT32.unpack_from(subscription, position)
        position += _INT32.size
        if not 0 <= count <= len(subscription) - position:
            raise UnexpectedLengthError(f"{count} topics")
        topics = []
        for _ in range(count):
            (size,) = _INT16.unpack_from(subscription, position)
            position += _INT16.size
            if not 0 <= size <= len(subscription) - position:
                raise UnexpectedLengthError(f"a topic of {size} bytes")
            topics.append(subscription[position : position + size].decode("utf-8", "replace"))
            position += size
        (size,) = _INT32.unpack_from(subscription, position)
        if size > len(subscription) - position - _INT32.size:
            raise UnexpectedLengthError(f"user data of {size} bytes")
    except struct.error:
        return None
    return topics


def subscribes_anew(protocol_type: str | None, before: Protocols, after: Protocols) -> bool:
    """Whether a member offers other protocols than before, or subscribes to other topics.

    The rest of a consumer's subscription changes each time it joins: its generation, and the partitions it owns.
    """
    if [name for name, _ in before] != [name for name, _ in after]:
        return True
    if protocol_type != CONSUMER:
        return before != after
    return any(_topics(old) != _topics(new) for (_, old), (_, new) in zip(before, after, strict=True))


def _topics(subscription: bytes) -> set[str] | None:
    try:
        topics = read_topics(subscription)
    except UnexpectedLengthError:
        return None
    return None if topics is None else set(topics)
