"""Parser of groups: topics with their partitions, and members with their subscriptions, in Kafka's order."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from assignor.errors import IllegalArgumentError, WireError
from assignor.model import MemberInfo, PartitionInfo, Subscription, TopicPartition
from assignor.ordering import java_order
from assignor.reference.matching.pattern import Pattern, check_topic
from assignor.reference.wire import decode_subscription
from assignor.validation import (
    as_bytes,
    check_name,
    is_int,
    is_raised_below,
    read_entries,
    read_index,
    read_items,
    read_subscribed_names,
    shown,
    wrong_type,
)

MAX_INT32 = 2**31 - 1
"""Largest partition id and partition count: both are int32 in Kafka."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Partition of a topic: its id and the racks of its replicas."""

    id: int
    racks: frozenset[str]


@dataclass(frozen=True, slots=True)
class Member:
    """Member of a group: its id, the topics it subscribes to, and the other fields of its subscription.

    `is_from_wire` is True if the subscription was decoded from bytes. `given` lists the topics in the order of the
    subscription.
    """

    info: MemberInfo
    topics: frozenset[str]
    owned: tuple[TopicPartition, ...] = ()
    generation: int | None = None
    user_data: bytes | None = None
    is_from_wire: bool = False
    given: tuple[str, ...] = ()

    @property
    def rack(self) -> str | None:
        """The member's rack; None if it is missing or empty."""
        return self.info.rack or None


@dataclass(frozen=True, slots=True)
class JoinedSubscription(Subscription):
    """Subscription that was decoded from bytes."""


@dataclass(frozen=True, slots=True)
class TopicConsumers:
    """Topic with at least one partition and one consumer: partitions by ascending id, consumers in Kafka's order."""

    topic: str
    partitions: list[Partition]
    consumers: list[Member]


def read_topics(partitions_per_topic: Mapping[str, object]) -> dict[str, list[Partition]]:
    """Parse topics; return them in Java's order, each with its partitions by ascending id."""
    topics: dict[str, list[Partition]] = {}
    for name, partitions in _items(partitions_per_topic, "partitions_per_topic", "topics to partitions"):
        topic = check_name(name, "a topic name")
        topics[topic] = _read_partitions(topic, partitions)
    return {topic: topics[topic] for topic in sorted(topics, key=java_order)}


def read_members(subscriptions: Mapping[str, object], existing: Collection[str]) -> list[Member]:
    """Parse members, in the order of the mapping; patterns are replaced by the existing topics that they match."""
    members = []
    for name, subscription in _items(subscriptions, "subscriptions", "member ids to subscriptions"):
        member_id = check_name(name, "a member id")
        if isinstance(subscription, Subscription):
            info = MemberInfo(member_id, subscription.group_instance_id, subscription.rack)
            names = _wanted(subscription, existing, f"member '{member_id}'")
            members.append(
                Member(
                    info,
                    frozenset(names),
                    subscription.owned_partitions,
                    _generation(subscription.generation),
                    subscription.user_data,
                    isinstance(subscription, JoinedSubscription),
                    given=names,
                )
            )
        else:
            names = read_subscribed_names(subscription, f"member '{member_id}'")
            members.append(Member(MemberInfo(member_id), frozenset(names), given=names))
    return members


def read_joined_members(
    members: Iterable[tuple[str, str | None, bytes]], *, tolerant: bool = False
) -> dict[str, Subscription]:
    """Parse the members of a JoinGroup response, given as (member id, group instance id, `ConsumerProtocol` bytes).

    Raises:
        WireError: A subscription is invalid; `field` begins with the member.

    Example:
        >>> read_joined_members([("a", None, bytes.fromhex("0000 00000001 0001 74 ffffffff"))])["a"].topics
        ('t',)
    """
    found: dict[str, Subscription] = {}
    wanted = "(member id, group instance id, bytes)"
    for place, member in enumerate(read_entries(members, "members", f"an iterable of {wanted}")):
        if not isinstance(member, tuple) or len(member) != 3:
            raise wrong_type(f"members[{place}]", wanted, member)
        member_id, instance_id, data = member
        check_name(member_id, f"members[{place}]: a member id")
        if instance_id is not None:
            check_name(instance_id, f"members[{place}]: a group instance id")
        try:
            read = decode_subscription(as_bytes(data, f"members[{place}]: a subscription"), tolerant)
        except WireError as error:
            raise WireError(error.reason, error.offset, f"member '{member_id}'.{error.field}") from None
        found[member_id] = JoinedSubscription(
            tuple(read.topics),
            group_instance_id=instance_id,
            rack=read.rack_id,
            owned_partitions=tuple(TopicPartition(topic, id) for topic, ids in read.owned_partitions for id in ids),
            generation=read.generation_id if read.generation_id >= 0 else None,
            user_data=read.user_data,
        )
    return found


def topic_id_of_name(name: str) -> int:
    """Return the id for a topic without a known id: the 128-bit FNV-1a hash of its UTF-8 name.

    Example:
        >>> hex(topic_id_of_name("a"))
        '0xd228cb696f1a8caf78912b704e4a8964'
    """
    id = 0x6C62272E07BB014262B821756295C58D
    for byte in name.encode():
        id = (id ^ byte) * 0x0000000001000000000000000000013B % 2**128
    return id


def _generation(given: int | None) -> int | None:
    """Return a generation; None for a negative number or one that is not an int32."""
    return None if given is None or not 0 <= operator.index(given) <= MAX_INT32 else operator.index(given)


def _wanted(subscription: Subscription, existing: Collection[str], owner: str) -> tuple[str, ...]:
    """Return the topics of a subscription: its names, then other topics that match a pattern, as they exist."""
    patterns = [Pattern(text, subscription.dialect, owner=owner) for text in subscription.patterns]
    if not patterns:
        return subscription.topics
    matching = [topic for topic in map(check_topic, existing) if any(pattern.matches(topic) for pattern in patterns)]
    named = frozenset(subscription.topics)
    return (*subscription.topics, *(topic for topic in matching if topic not in named))


def kafka_order(members: list[Member]) -> list[Member]:
    """Sort members: static ones by instance id, then dynamic ones by member id; equal ones keep the given order."""
    return sorted(members, key=lambda member: member.info)


def _items(mapping: object, what: str, wanted: str) -> Iterator[tuple[object, object]]:
    if not isinstance(mapping, Mapping):
        raise wrong_type(what, f"a mapping of {wanted}", mapping)
    size = _length(mapping, what)
    names = set()
    for key, value in [*read_items(mapping, what)]:
        if isinstance(key, str):
            name = str.__str__(key)
            if name in names:
                raise IllegalArgumentError(f"{what} has '{name}' twice")
            names.add(name)
        yield key, value
        now = _length(mapping, what)
        if now != size:
            raise IllegalArgumentError(f"{what} changed size while it was read: {size} entries, then {now}")


def _length(mapping: Mapping[object, object], what: str) -> int:
    try:
        return len(mapping)
    except (OverflowError, TypeError, ValueError) as error:
        if is_raised_below(error):
            raise
        raise IllegalArgumentError(f"{what} has no valid length: {error}") from None


def _read_partitions(topic: str, partitions: object) -> list[Partition]:
    if is_int(partitions):
        count = _read_int(partitions, f"topic '{topic}': a partition count")
        return [Partition(id, frozenset()) for id in range(count)]
    entries = read_entries(partitions, f"topic '{topic}': partitions", "a count or an iterable of ids")
    found = sorted((_read_partition(topic, entry) for entry in entries), key=lambda partition: partition.id)
    for left, right in itertools.pairwise(found):
        if left.id == right.id:
            raise IllegalArgumentError(f"topic '{topic}': partition {left.id} is given twice")
    return found


def _read_partition(topic: str, entry: object) -> Partition:
    if not isinstance(entry, PartitionInfo):
        return Partition(_read_int(entry, f"topic '{topic}': a partition id"), frozenset())
    id = _read_int(entry.partition, f"topic '{topic}': a partition id")
    where = f"topic '{topic}', partition {id}"
    entries = read_entries(entry.racks, f"{where}: racks", "an iterable of str or None")
    return Partition(id, frozenset(check_name(rack, f"{where}: a rack") for rack in entries if rack is not None))


def _read_int(value: object, what: str) -> int:
    number = read_index(value, what)
    if number < 0:
        raise IllegalArgumentError(f"{what} cannot be negative: {shown(value)}")
    if number > MAX_INT32:
        raise IllegalArgumentError(f"{what} cannot be over {MAX_INT32}: {shown(value)}")
    return number
