"""Decoder and encoder of ConsumerProtocol messages: subscription and assignment of a member.

The messages are the blobs in JoinGroup and SyncGroup requests and in the record of a classic group in
`__consumer_offsets`. They begin with an int16 version and are never flexible. Each version of the subscription appends
fields: owned partitions in version 1 (KIP-429), the generation in version 2 (KIP-792), the rack in version 3 (KIP-881).
All versions of the assignment have the same body. Versions above 3 are read and written as 3, and a negative version is
an error. Bytes after the last field are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor import _core
from assignor._engine import choose
from assignor.errors import IllegalArgumentError
from assignor.model import Subscription, TopicPartition
from assignor.validation import as_bytes, check_name, read_bool, read_int, shown, wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.names import Engine
    from assignor.validation import Bytes

__all__ = [
    "DecodedAssignment",
    "DecodedSubscription",
    "decode_assignment",
    "decode_subscription",
    "encode_assignment",
    "encode_subscription",
]


@dataclass(frozen=True, slots=True)
class DecodedSubscription:
    """Decoded subscription of a member.

    Attributes:
        version: The version in the header, which may be above 3.
        topics: The topics in wire order; a topic may be the empty string.
        user_data: The user data of the member's assignor; `b""` and None are different.
        owned_partitions: The partitions that the member owns, in wire order (since version 1).
        generation: The generation of `owned_partitions` (since version 2); None if it is negative.
        rack: The member's rack (since version 3); None if it is empty.
        tolerated: The version of the body, if it is older than the header's version and the tolerant reader was used;
            else None.
    """

    version: int
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned_partitions: tuple[TopicPartition, ...] = ()
    generation: int | None = None
    rack: str | None = None
    tolerated: int | None = None


@dataclass(frozen=True, slots=True)
class DecodedAssignment:
    """Decoded assignment of a member.

    Attributes:
        version: The version in the header, which may be above 3.
        partitions: The assigned partitions in wire order, including duplicates.
        user_data: The user data of the leader's assignor; `b""` and None are different.
    """

    version: int
    partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = None


def decode_subscription(data: Bytes, *, tolerant: bool = False, engine: Engine = "rust") -> DecodedSubscription:
    r"""Decode a subscription.

    Args:
        data: The message, starting with its version.
        tolerant: Accept a message whose body is of an older version than its header, if it ends where that version
            ends. Missing fields get their defaults, and `tolerated` has the body's version. Some Go clients have
            written such messages for years. Kafka's reader rejects them; brokers, which only read the topics, accept
            them.
        engine: "rust" or "reference".

    Returns:
        The subscription, with the values of Kafka 4.4's `ConsumerProtocol.deserializeSubscription`. Invalid UTF-8 is
        replaced by U+FFFD as in Java. A negative length of user data or rack means null.

    Raises:
        WireError: The message is invalid: Kafka's reader throws SchemaException.
        WrongTypeError: `data` is not bytes. None raises its subclass NullArgumentError.

    Example:
        >>> decode_subscription(b"\0\0" b"\0\0\0\1" b"\0\3foo" b"\xff\xff\xff\xff").topics
        ('foo',)
    """
    implementation = choose(engine, _core.decode_subscription, "wire")
    read_bool(tolerant, "tolerant")
    version, topics, user_data, owned, generation, rack, tolerated = implementation(as_bytes(data, "data"), tolerant)
    return DecodedSubscription(
        version=version,
        topics=tuple(topics),
        user_data=user_data,
        owned_partitions=_flat(owned),
        generation=None if generation < 0 else generation,
        rack=rack or None,
        tolerated=tolerated,
    )


def decode_assignment(data: Bytes, *, engine: Engine = "rust") -> DecodedAssignment:
    r"""Decode the assignment of a member. All versions have the same body, so there is no tolerant mode.

    Args:
        data: The message, starting with its version.
        engine: "rust" or "reference".

    Returns:
        The assignment, with the values of Kafka 4.4's `ConsumerProtocol.deserializeAssignment`.

    Raises:
        WireError: The message is invalid: Kafka's reader throws SchemaException. An empty message, which a broker
            sends to a member that its leader left out, is also invalid.
        WrongTypeError: `data` is not bytes. None raises its subclass NullArgumentError.

    Example:
        >>> decode_assignment(b"\0\0" b"\0\0\0\1" b"\0\3foo" b"\0\0\0\1\0\0\0\7" b"\xff\xff\xff\xff").partitions
        (TopicPartition(topic='foo', partition=7),)
    """
    implementation = choose(engine, _core.decode_assignment, "wire")
    version, partitions, user_data = implementation(as_bytes(data, "data"))
    return DecodedAssignment(version=version, partitions=_flat(partitions), user_data=user_data)


def encode_subscription(
    subscription: Subscription | DecodedSubscription, version: int = 3, *, engine: Engine = "rust"
) -> bytes:
    r"""Encode a subscription.

    Args:
        subscription: The subscription, or a result of `decode_subscription`, whose own version is ignored. The group
            instance id is not part of any version.
        version: The version to write; versions above 3 are written as 3. Fields newer than the version are left out.
        engine: "rust" or "reference".

    Returns:
        The message, with the same bytes as Kafka's `ConsumerProtocol.serializeSubscription`. A generation that is None
        or negative is written as -1. A rack of `""` is written, but readers treat it as no rack.

        Order: topics in Java's `String` order, owned partitions by topic and id; duplicates are kept.

    Raises:
        WireError: The version is negative, or a topic or the rack has more than 32,767 bytes in UTF-8.
        IllegalArgumentError: A number is out of range, a name has a lone surrogate, or the subscription has a pattern,
            which ConsumerProtocol cannot carry.
        WrongTypeError: `subscription` is not a subscription, or `version` is not an int. None raises its subclass
            NullArgumentError.

    Example:
        >>> encode_subscription(Subscription(["foo", "bar"]), 0)
        b'\x00\x00\x00\x00\x00\x02\x00\x03bar\x00\x03foo\xff\xff\xff\xff'
    """
    implementation = choose(engine, _core.encode_subscription, "wire")
    if not isinstance(subscription, Subscription | DecodedSubscription):
        raise wrong_type("subscription", "a Subscription or DecodedSubscription", subscription)
    if isinstance(subscription, Subscription) and subscription.pattern is not None:
        raise IllegalArgumentError(
            f"subscription: ConsumerProtocol cannot carry the pattern {', '.join(map(shown, subscription.patterns))}; "
            "resolve it to topics first (`assignor.resolve`)"
        )
    generation, rack = subscription.generation, subscription.rack
    if generation is not None:
        generation = read_int(generation, "subscription: generation", bits=32)
    return implementation(
        read_int(version, "version", bits=16),
        subscription.topics,
        _user_data(subscription.user_data, "subscription"),
        subscription.owned_partitions,
        -1 if generation is None else max(generation, -1),
        None if rack is None else check_name(rack, "subscription: rack"),
    )


def encode_assignment(
    partitions: Iterable[tuple[str, int]] | DecodedAssignment,
    version: int = 3,
    *,
    user_data: Bytes | None = None,
    engine: Engine = "rust",
) -> bytes:
    r"""Encode the assignment of a member.

    Args:
        partitions: The partitions of the member, such as its list from `assign`; or a result of `decode_assignment`,
            whose own version is ignored.
        version: The version to write; versions above 3 are written as 3. All versions have the same body.
        user_data: The user data of the leader's assignor; `b""` and None are different. It must be None for a result
            of `decode_assignment`, which has its own user data.
        engine: "rust" or "reference".

    Returns:
        The message, with the same bytes as Kafka's `ConsumerProtocol.serializeAssignment`.

        Order: topics in order of first appearance, and the partition ids of a topic in the given order; duplicates are
        kept.

    Raises:
        WireError: The version is negative, or a topic has more than 32,767 bytes in UTF-8.
        IllegalArgumentError: A partition id or the version is out of range, a topic has a lone surrogate, or user data
            is given twice.
        WrongTypeError: `partitions` is not an iterable of (topic, partition) tuples, or `version` is not an int. None
            raises its subclass NullArgumentError.

    Example:
        >>> encode_assignment([("foo", 7), ("foo", 1)], 0)
        b'\x00\x00\x00\x00\x00\x01\x00\x03foo\x00\x00\x00\x02\x00\x00\x00\x07\x00\x00\x00\x01\xff\xff\xff\xff'
    """
    implementation = choose(engine, _core.encode_assignment, "wire")
    if isinstance(partitions, DecodedAssignment):
        if user_data is not None:
            raise IllegalArgumentError("user_data: must be None for a DecodedAssignment, which has its own user_data")
        user_data, partitions = partitions.user_data, partitions.partitions
    return implementation(read_int(version, "version", bits=16), partitions, _user_data(user_data, "assignment"))


def _user_data(given: Bytes | None, owner: str) -> bytes | None:
    return None if given is None else as_bytes(given, f"{owner}: user_data")


def _flat(entries: Iterable[tuple[str, list[int]]]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, partition) for topic, partitions in entries for partition in partitions)
