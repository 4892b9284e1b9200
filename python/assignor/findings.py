"""`check`: what is wrong with an assignment, whoever made it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor.model import TopicPartition
from assignor.ordering import java_order
from assignor.reference.group import read_members, read_topics
from assignor.validation import check_name, read_partition, wrong_type

if TYPE_CHECKING:
    from assignor.model import PartitionInfo, Subscription


@dataclass(frozen=True, slots=True)
class Findings:
    """What `check` found; true when there is something to report.

    Attributes:
        unowned: Partitions of topics that somebody subscribes to and nobody has.
        doubly_owned: Partitions that are handed out more than once, be it to one member or to several.
        not_subscribed: (member, partition) where the member does not subscribe to the topic.
        unknown: (member, partition) where the topic or the id does not exist.

    Order: by member as the assignment gives them, then topics in Java's order, then ids.
    """

    unowned: tuple[TopicPartition, ...] = ()
    doubly_owned: tuple[TopicPartition, ...] = ()
    not_subscribed: tuple[tuple[str, TopicPartition], ...] = ()
    unknown: tuple[tuple[str, TopicPartition], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.unowned or self.doubly_owned or self.not_subscribed or self.unknown)


def check(
    assignment: Mapping[str, Iterable[tuple[str, int]]],
    partitions_per_topic: Mapping[str, int | Iterable[int | PartitionInfo]],
    subscriptions: Mapping[str, Subscription | Iterable[str]],
) -> Findings:
    """Says what an assignment leaves out, hands out twice or should not hand out.

    It asks nothing of the assignor that made it: range, sticky and hand-made assignments are checked alike.

    Args:
        assignment: Member id to the partitions it has; a `Plan` is fine.
        partitions_per_topic: As `assign` takes it.
        subscriptions: As `assign` takes it. A member that is only in the assignment subscribes to nothing.

    Returns:
        The findings; false when there are none.

    Raises:
        AssignorError: Input that cannot be meant; the message names member or topic and the value.

    Example:
        >>> check({"a": [("t", 0)], "b": [("t", 0)]}, {"t": 2}, {"a": ["t"], "b": ["t"]})
        ... # doctest: +NORMALIZE_WHITESPACE
        Findings(unowned=(TopicPartition(topic='t', partition=1),),
                 doubly_owned=(TopicPartition(topic='t', partition=0),), not_subscribed=(), unknown=())
    """
    topics = {
        topic: [partition.id for partition in found] for topic, found in read_topics(partitions_per_topic).items()
    }
    wanted = {member.info.member_id: member.topics for member in read_members(subscriptions, topics)}
    subscribed = frozenset[str]().union(*wanted.values())
    ids_of = {topic: frozenset(ids) for topic, ids in topics.items()}
    owners: Counter[TopicPartition] = Counter()
    not_subscribed, unknown = [], []
    if not isinstance(assignment, Mapping):
        raise wrong_type("assignment", "a mapping of member ids to partitions", assignment)
    for member, partitions in assignment.items():
        check_name(member, "a member id")
        owned = _read_owned(member, partitions)
        owners.update(owned)
        for partition in sorted(owned, key=_order):
            if partition.partition not in ids_of.get(partition.topic, ()):
                unknown.append((member, partition))
            if partition.topic not in wanted.get(member, ()):
                not_subscribed.append((member, partition))
    return Findings(
        unowned=tuple(
            TopicPartition(topic, id)
            for topic, ids in topics.items()
            if topic in subscribed
            for id in ids
            if (topic, id) not in owners
        ),
        doubly_owned=tuple(sorted((found for found, times in owners.items() if times > 1), key=_order)),
        not_subscribed=tuple(dict.fromkeys(not_subscribed)),
        unknown=tuple(dict.fromkeys(unknown)),
    )


def _order(partition: TopicPartition) -> tuple[bytes, int]:
    return java_order(partition.topic), partition.partition


def _read_owned(member: str, partitions: object) -> list[TopicPartition]:
    if isinstance(partitions, (str, bytes)) or not isinstance(partitions, Iterable):
        raise wrong_type(f"member '{member}': partitions", "an iterable of (topic, partition)", partitions)
    return [TopicPartition(*read_partition(entry, f"member '{member}'")) for entry in partitions]
