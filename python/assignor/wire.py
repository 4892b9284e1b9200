"""ConsumerProtocol bytes: what a member subscribes to and what its leader assigned to it.

These are the blobs inside JoinGroup and SyncGroup requests and inside a classic group's `__consumer_offsets` record.
Both kinds begin with an int16 version and are never flexible. Each version of the subscription only appends (owned
partitions in 1, KIP-429; the generation in 2, KIP-792; the rack in 3, KIP-881); the assignment has one body. A version
above 3 is read and written as 3, a negative one is refused, and bytes after the last field are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor import _core
from assignor._engine import choose
from assignor.errors import IllegalArgumentError
from assignor.model import Subscription, TopicPartition
from assignor.validation import as_bytes, check_name, read_int, shown, wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor._engine import Engine
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
    """A member's subscription, decoded.

    Attributes:
        version: The header's version, which may be above 3.
        topics: Topics in wire order; the empty string is possible.
        user_data: What the member's assignor added; `b""` and None are different.
        owned_partitions: What the member says it owns, in wire order (version 1).
        generation: The generation in which it owned them (version 2); None where it is negative.
        rack: The member's rack (version 3); None where it is empty.
        tolerated: None, or the version whose body it really was where only the tolerant reader could read it.
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
    """A member's part of an assignment, decoded.

    Attributes:
        version: The header's version, which may be above 3.
        partitions: In wire order, duplicates kept.
        user_data: What the leader's assignor added; `b""` and None are different.
    """

    version: int
    partitions: tuple[TopicPartition, ...]
    user_data: bytes | None = None


def decode_subscription(data: Bytes, *, tolerant: bool = False, engine: Engine = "rust") -> DecodedSubscription:
    r"""Read a subscription.

    Args:
        data: The message, from its version on.
        tolerant: Also read a message whose header promises a newer body than follows, as long as it ends where an older
            body does: the missing fields take their defaults, and `tolerated` says so. Kafka's own reader refuses it;
            brokers, which only look at the topics, let it pass, and some Go clients have written it for years.
        engine: "rust" or "reference".

    Returns:
        The subscription, with the values of Kafka 4.4's `ConsumerProtocol.deserializeSubscription`. Invalid UTF-8 turns
        into U+FFFD by Java's rule, and a negative length of user data or rack is null.

    Raises:
        WireError: Where Kafka's reader throws SchemaException.
        WrongTypeError: `data` is not bytes; NullArgumentError, which is one, if it is None.

    Example:
        >>> decode_subscription(b"\0\0" b"\0\0\0\1" b"\0\3foo" b"\xff\xff\xff\xff").topics
        ('foo',)
    """
    verb = choose(engine, _core.decode_subscription, "wire")
    version, topics, user_data, owned, generation, rack, tolerated = verb(as_bytes(data, "data"), tolerant)
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
    r"""Read a member's part of an assignment. All versions have the same body, so there is nothing to tolerate.

    Args:
        data: The message, from its version on.
        engine: "rust" or "reference".

    Returns:
        The assignment, with the values of Kafka 4.4's `ConsumerProtocol.deserializeAssignment`.

    Raises:
        WireError: Where Kafka's reader throws SchemaException; that includes the empty message, which a broker sends to
            a member that its leader left out.
        WrongTypeError: `data` is not bytes; NullArgumentError, which is one, if it is None.

    Example:
        >>> decode_assignment(b"\0\0" b"\0\0\0\1" b"\0\3foo" b"\0\0\0\1\0\0\0\7" b"\xff\xff\xff\xff").partitions
        (TopicPartition(topic='foo', partition=7),)
    """
    verb = choose(engine, _core.decode_assignment, "wire")
    version, partitions, user_data = verb(as_bytes(data, "data"))
    return DecodedAssignment(version=version, partitions=_flat(partitions), user_data=user_data)


def encode_subscription(
    subscription: Subscription | DecodedSubscription, version: int = 3, *, engine: Engine = "rust"
) -> bytes:
    r"""Write a subscription.

    Args:
        subscription: What the member wants, or what `decode_subscription` returned; its own version is not looked at.
            The group instance id is in no version.
        version: The version to write: one above 3 is written as 3, and fields newer than the version are left out.
        engine: "rust" or "reference".

    Returns:
        The message, byte for byte that of Kafka's `ConsumerProtocol.serializeSubscription`: a generation that is None
        or negative is -1, and a rack of `""` is written, though readers take it for none.

        Order: topics in Java's `String` order, names given twice kept; owned partitions in the order of topic and id,
        duplicates kept.

    Raises:
        WireError: The version is negative, or a topic or the rack has more than 32,767 bytes in UTF-8.
        IllegalArgumentError: A number that its field cannot carry, a name with a lone surrogate, or a pattern: a client
            says which topics it means.
        WrongTypeError: `subscription` is no subscription, or `version` no int; NullArgumentError, which is one, for
            None.

    Example:
        >>> encode_subscription(Subscription(["foo", "bar"]), 0)
        b'\x00\x00\x00\x00\x00\x02\x00\x03bar\x00\x03foo\xff\xff\xff\xff'
    """
    verb = choose(engine, _core.encode_subscription, "wire")
    if not isinstance(subscription, Subscription | DecodedSubscription):
        raise wrong_type("subscription", "a Subscription or DecodedSubscription", subscription)
    if isinstance(subscription, Subscription) and subscription.pattern is not None:
        raise IllegalArgumentError(
            f"subscription: the message has no place for a pattern {shown(subscription.pattern)} but for topics; "
            "find out by `resolve` which ones it means"
        )
    generation, rack = subscription.generation, subscription.rack
    if generation is not None:
        generation = read_int(generation, "subscription: generation", bits=32)
    return verb(
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
    r"""Write a member's part of an assignment.

    Args:
        partitions: What the member gets, such as its list from `assign`; or what `decode_assignment` returned, whose
            own version is not looked at.
        version: The version to write; one above 3 is written as 3. All of them have the same body.
        user_data: What the leader's assignor adds; `b""` and None are different. What `decode_assignment` returned
            brings its own.
        engine: "rust" or "reference".

    Returns:
        The message, byte for byte that of Kafka's `ConsumerProtocol.serializeAssignment`.

        Order: topics as they first appear, and partition ids in the order given within their topic, duplicates kept.

    Raises:
        WireError: The version is negative, or a topic has more than 32,767 bytes in UTF-8.
        IllegalArgumentError: An id or the version is a number that its field cannot carry, a topic has a lone
            surrogate, or there are two user data.
        WrongTypeError: `partitions` is no iterable of (topic, partition) tuples, or `version` no int;
            NullArgumentError, which is one, for None.

    Example:
        >>> encode_assignment([("foo", 7), ("foo", 1)], 0)
        b'\x00\x00\x00\x00\x00\x01\x00\x03foo\x00\x00\x00\x02\x00\x00\x00\x07\x00\x00\x00\x01\xff\xff\xff\xff'
    """
    verb = choose(engine, _core.encode_assignment, "wire")
    if isinstance(partitions, DecodedAssignment):
        if user_data is not None:
            raise IllegalArgumentError("user_data: what decode_assignment returned brings its own; replace it there")
        user_data, partitions = partitions.user_data, partitions.partitions
    return verb(read_int(version, "version", bits=16), partitions, _user_data(user_data, "assignment"))


def _user_data(given: Bytes | None, owner: str) -> bytes | None:
    return None if given is None else as_bytes(given, f"{owner}: user_data")


def _flat(entries: Iterable[tuple[str, list[int]]]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, partition) for topic, partitions in entries for partition in partitions)
