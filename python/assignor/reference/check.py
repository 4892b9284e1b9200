"""Check of an assignment from any source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from assignor.model import TopicPartition
from assignor.ordering import java_order
from assignor.reference.group import read_members, read_topics
from assignor.validation import check_name, read_entries, read_items, read_partition, wrong_type

if TYPE_CHECKING:
    from assignor.names import GroupProtocol

Owned = tuple[str, TopicPartition]
"""A member and a partition that is assigned to it."""


def check(
    assignment: Mapping[str, Iterable[tuple[str, int]]],
    partitions_per_topic: Mapping[str, object],
    subscriptions: Mapping[str, object],
    *,
    group_protocol: GroupProtocol = "classic",
) -> tuple[tuple[TopicPartition, ...], tuple[TopicPartition, ...], tuple[Owned, ...], tuple[Owned, ...]]:
    """Check an assignment; return the fields of `assignor.Findings`: unowned, doubly_owned, not_subscribed, unknown.

    A partition of a share group may have several owners; it is doubly owned if one member has it twice.

    Example:
        >>> check({"a": [("t", 0)]}, {"t": 2}, {"a": ["t"]})
        ((TopicPartition(topic='t', partition=1),), (), (), ())
        >>> any(check({"a": [("t", 0)], "b": [("t", 0)]}, {"t": 1}, {"a": ["t"], "b": ["t"]}, group_protocol="share"))
        False
    """
    topics = {
        topic: [partition.id for partition in found] for topic, found in read_topics(partitions_per_topic).items()
    }
    wanted = {member.info.member_id: member.topics for member in read_members(subscriptions, topics)}
    subscribed = frozenset[str]().union(*wanted.values())
    ids_of = {topic: frozenset(ids) for topic, ids in topics.items()}
    owners: Counter[TopicPartition] = Counter()
    owned_twice = set[TopicPartition]()
    not_subscribed, unknown = [], []
    if not isinstance(assignment, Mapping):
        raise wrong_type("assignment", "a mapping of member ids to partitions", assignment)
    for member, partitions in read_items(assignment, "assignment"):
        check_name(member, "a member id")
        owned = _read_owned(member, partitions)
        owners.update(owned)
        owned_twice.update(partition for partition, times in Counter(owned).items() if times > 1)
        for partition in sorted(owned, key=_order):
            if partition.partition not in ids_of.get(partition.topic, ()):
                unknown.append((member, partition))
            if partition.topic not in wanted.get(member, ()):
                not_subscribed.append((member, partition))
    unowned = tuple(
        TopicPartition(topic, id)
        for topic, ids in topics.items()
        if topic in subscribed
        for id in ids
        if (topic, id) not in owners
    )
    if group_protocol != "share":
        owned_twice = {partition for partition, times in owners.items() if times > 1}
    doubly_owned = tuple(sorted(owned_twice, key=_order))
    return unowned, doubly_owned, tuple(dict.fromkeys(not_subscribed)), tuple(dict.fromkeys(unknown))


def _order(partition: TopicPartition) -> tuple[bytes, int]:
    return java_order(partition.topic), partition.partition


def _read_owned(member: str, partitions: object) -> list[TopicPartition]:
    if not isinstance(partitions, Iterable):
        raise wrong_type(f"member '{member}': partitions", "an iterable of (topic, partition)", partitions)
    entries = read_entries(partitions, f"member '{member}': partitions", "an iterable of (topic, partition)")
    return [TopicPartition(*read_partition(entry, f"member '{member}'")) for entry in entries]
