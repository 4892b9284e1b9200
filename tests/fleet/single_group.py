"""Answers of `Fleet` for one group, computed with `assign` and `resolve` for this group alone."""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from assignor import (
    MemberInfo,
    PartitionInfo,
    Subscription,
    TopicPartition,
    assign,
    errors,
    resolve,
)
from assignor.names import AssignorName, GroupProtocol
from assignor.ordering import java_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Row = dict[str, Any]
Assigned = dict[str, list[TopicPartition]]
"""Partitions by member id, by topic and id."""

ASSIGNORS = {
    "classic": ("range", "roundrobin", "sticky", "cooperative-sticky"),
    "consumer": ("uniform", "range"),
    "share": ("simple",),
}
"""Kafka's assignors by protocol; the first one is the default."""

COOPERATIVE = ("classic", "cooperative-sticky")
SHARE = ("share", "simple")
READS_OWNED = {("classic", "sticky"), COOPERATIVE, ("consumer", "uniform"), SHARE}


class Topic(NamedTuple):
    """Topic: its number of partitions, the racks of the first ones, which later ones repeat, and its id."""

    partitions: int
    racks: tuple[tuple[str, ...], ...]
    topic_id: str | None

    def on(self, id: int) -> tuple[str, ...]:
        """Return the racks of a partition."""
        return self.racks[id % len(self.racks)] if any(self.racks) else ()

    def given(self) -> int | list[PartitionInfo]:
        """Return the partitions as `assign` takes them."""
        if not any(self.racks):
            return self.partitions
        return [PartitionInfo(id, self.on(id)) for id in range(self.partitions)]


class Member(NamedTuple):
    """Member, with the topics that it subscribes to by name or by its patterns.

    `given` has the names and patterns of a member with a pattern; `matched` has them as they are matched now.
    """

    id: str
    instance_id: str | None
    rack: str | None
    topics: frozenset[str]
    given: Subscription | None
    matched: Subscription | None
    is_subscribed: bool
    generation: int | None


@dataclass
class Group:
    """Group of a fleet.

    Attributes:
        row: The row of the group.
        topics: The topics of its cluster.
        members: The members by id; the order counts for members with the same instance id.
        assignor: Its protocol and assignor; None if Kafka has no such assignor.
    """

    row: Row
    topics: dict[str, Topic]
    members: list[Member]
    assignor: tuple[str, str] | None

    @property
    def wanted(self) -> frozenset[str]:
        """The names of all topics that members subscribe to."""
        return frozenset[str]().union(*(member.topics for member in self.members))

    @property
    def subscribed(self) -> dict[str, Topic]:
        """The existing topics that members subscribe to, in Java's order."""
        return {topic: self.topics[topic] for topic in sorted(self.wanted & self.topics.keys(), key=java_order)}

    @property
    def runs(self) -> list[tuple[str, str, int, int]]:
        """The current partitions, as runs of ids."""
        if None in (self.row["cluster"], self.row["group_id"]):
            return []
        found = [(run["member_id"], run["topic"], run["start"], run["count"]) for run in self.row["current"]]
        return [run for run in found if None not in run]


def read_group(row: Row, clusters: Sequence[Row]) -> Group:
    """Return the group of a row."""
    rows: list[Row] = next((each["topics"] for each in clusters if each["cluster"] == row["cluster"]), [])
    topics = {
        each["topic"]: Topic(each["partitions"], tuple(map(_racks, each["racks"] or ())), each.get("topic_id"))
        for each in rows
    }
    if None in (row["cluster"], row["group_id"]):
        return Group(row, topics, [], None)
    named = [member for member in row["members"] if member and member["member_id"] is not None]
    members = sorted((_read_member(member, topics) for member in named), key=lambda member: java_order(member.id))
    group = Group(row, topics, members, _assignor_of(named))
    if group.assignor == SHARE:
        try:
            planned(group, owned_now(group))
        except errors.IllegalStateError:
            group.assignor = None  # Kafka's class has no answer
    return group


def _racks(given: Sequence[str | None] | None) -> tuple[str, ...]:
    return tuple(rack for rack in given or () if rack is not None)


def _read_member(row: Row, topics: Mapping[str, Topic]) -> Member:
    names, given = row.get("topics"), None
    by_pattern = row.get("pattern") is not None
    if by_pattern or (names and row.get("dialect") == "librdkafka"):
        given = Subscription(tuple(names or ()), pattern=row.get("pattern"), dialect=row.get("dialect") or "java")
        given = given if given.patterns else None
    if given:
        names = [*given.topics, *matching(given, topics)]
    is_subscribed = names is not None
    generation = row.get("generation")
    return Member(
        row["member_id"],
        row.get("group_instance_id"),
        row.get("rack"),
        frozenset(names or ()),
        given,
        given,
        is_subscribed,
        None if generation is None or generation < 0 else generation,
    )


def matching(subscription: Subscription, topics: Iterable[str]) -> Sequence[str]:
    """Return the topics that match a pattern; names that are not ASCII never match."""
    by_pattern = replace(subscription, topics=())
    return resolve({"": by_pattern}, [topic for topic in topics if topic.isascii()])[""]


def _assignor_of(rows: Sequence[Row]) -> tuple[str, str] | None:
    """Return the protocol and the assignor that all members name; None if they differ or Kafka has no such assignor."""
    protocols = {row["group_protocol"] for row in rows if row.get("group_protocol") is not None} or {"classic"}
    names = {row["assignor"] for row in rows if row.get("assignor") is not None}
    if len(protocols) > 1 or len(names) > 1 or not rows:
        return None
    [protocol] = protocols
    known = ASSIGNORS.get(protocol, ())
    name = next(iter(names or known), None)
    return (protocol, name) if name in known else None


def kafka_order(members: Iterable[Member]) -> list[Member]:
    """Sort members: static ones by instance id, then dynamic ones by member id; equal ones keep the given order."""
    return sorted(members, key=lambda member: MemberInfo(member.id, member.instance_id))


# ---- assignments


def claims(runs: Iterable[tuple[str, str, int, int]], ids: Iterable[str], topics: Mapping[str, Topic]) -> Assigned:
    """Return the existing partitions that members own."""
    found: dict[str, set[TopicPartition]] = defaultdict(set)
    for member, topic, start, count in runs:
        if topic in topics:
            last = min(start + count, topics[topic].partitions)
            found[member] |= {TopicPartition(topic, id) for id in range(start, last)}
    return {id: sorted(found[id], key=in_order) for id in ids}


def in_order(partition: TopicPartition) -> tuple[bytes, int]:
    """Return the key by which partitions are sorted: by topic in Java's order, then by id."""
    return java_order(partition.topic), partition.partition


def claimed(group: Group, owned: Assigned) -> Assigned:
    """Return the owned partitions from which the group's assignor starts."""
    if group.assignor not in READS_OWNED:
        return {}
    if group.assignor == SHARE:
        return owned
    topics = group.subscribed
    return {
        id: [each for each in has if each.topic in topics and each.partition < topics[each.topic].partitions]
        for id, has in owned.items()
    }


def planned(group: Group, owned: Assigned) -> Assigned:
    """Return the answer of the group's assignor."""
    assert group.assignor
    protocol, assignor = group.assignor
    has = claimed(group, owned)
    subscriptions = {
        member.id: Subscription(
            tuple(sorted(member.topics)),
            group_instance_id=member.instance_id,
            rack=member.rack,
            owned_partitions=tuple(has.get(member.id, ())),
            generation=member.generation,
        )
        for member in group.members
    }
    topics = {name: topic.given() for name, topic in group.subscribed.items()}
    named = {*group.subscribed, *(each.topic for owned in has.values() for each in owned)} & group.topics.keys()
    ids = {name: topic_id for name in named if (topic_id := group.topics[name].topic_id)}
    return assign(
        topics,
        subscriptions,
        assignor=cast(AssignorName, assignor),
        group_protocol=cast(GroupProtocol, protocol),
        topic_ids=ids,
    )


def owned_now(group: Group) -> Assigned:
    """Return the partitions that the members own in the row; those of a share group need not exist."""
    if group.assignor == SHARE:
        found: dict[str, set[TopicPartition]] = defaultdict(set)
        for id, topic, start, count in group.runs:
            found[id] |= {TopicPartition(topic, partition) for partition in range(start, start + count)}
        order = sorted(group.members, key=lambda member: java_order(member.id))
        return {member.id: sorted(found[member.id], key=in_order) for member in order}
    return claims(group.runs, [member.id for member in group.members], group.topics)


def standing(group: Group, owned: Assigned) -> Assigned:
    """Return the owned partitions of subscribed topics; the first owner of a partition counts."""
    found: Assigned = {}
    taken: set[TopicPartition] = set()
    for member in group.members:
        known = [each for each in owned.get(member.id, ()) if each.topic in group.topics.keys() & member.topics]
        found[member.id] = [each for each in known if each not in taken]
        taken.update(found[member.id])
    return found


# ---- answers


def resolved(group: Group) -> list[Row]:
    """Return the answer of `resolve`."""
    rows = {member["member_id"]: member for member in group.row["members"] if member}
    return [
        {
            "member_id": member.id,
            "group_instance_id": member.instance_id,
            "rack": member.rack,
            "topics": sorted(member.topics & group.topics.keys(), key=java_order),
            "assignor": rows[member.id].get("assignor"),
            "group_protocol": rows[member.id].get("group_protocol"),
            "generation": member.generation,
            "unknown_topics": sorted(member.topics - group.topics.keys(), key=java_order),
        }
        for member in kafka_order(group.members)
    ]


def spans(group: Group, assigned: Assigned) -> list[Row]:
    """Return an assignment as spans, with members in Kafka's order."""
    return [
        {"member_id": member.id, "topic": topic, "start": start, "count": count}
        for member in kafka_order(group.members)
        for topic, of_topic in itertools.groupby(assigned[member.id], key=lambda each: each.topic)
        for start, count in runs_of(each.partition for each in of_topic)
    ]


def assignment(group: Group) -> list[Row]:
    """Return the answer of `assign`."""
    return spans(group, planned(group, owned_now(group))) if group.assignor else []


def moves(group: Group) -> list[Row]:
    """Return the answer of `moves`: all partitions whose owner changes, as spans."""
    if group.members and not group.assignor:
        return []
    givers: dict[tuple[str, int], set[str | None]] = defaultdict(set)
    for member, topic, start, count in group.runs:
        for id in range(start, start + count):
            givers[topic, id].add(member)
    plan = planned(group, owned_now(group)) if group.members else {}
    takers: dict[tuple[str, int], set[str]] = defaultdict(set)
    for member, has in plan.items():
        for partition in has:
            takers[partition].add(member)
    ids: dict[tuple[str, str | None, str | None], list[int]] = defaultdict(list)
    for topic, id in sorted({*givers, *takers}):
        before, after = givers.get((topic, id), set()), takers.get((topic, id), set())
        changes: Iterable[tuple[str | None, str | None]]
        if group.assignor == SHARE:
            changes = itertools.zip_longest(sorted(filter(None, before - after)), sorted(after - before))
        else:
            taker = next(iter(after), None)
            changes = ((giver, taker) for giver in (before or {None}) - {taker})
        for giver, taker in changes:
            ids[topic, giver, taker].append(id)
    found = [
        {"topic": topic, "start": start, "count": count, "from_member": giver, "to_member": taker}
        for (topic, giver, taker), of_pair in ids.items()
        for start, count in runs_of(of_pair)
    ]
    return sorted(found, key=move_order)


def move_order(row: Row) -> tuple[Any, ...]:
    """Return the key by which moves are sorted: those that begin at the same partition by owners, None first."""
    return java_order(row["topic"]), row["start"], row["from_member"] or "", row["to_member"] or ""


def runs_of(ids: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending ids as runs: the first id and the number of ids."""
    found: list[tuple[int, int]] = []
    for id in ids:
        if found and sum(found[-1]) == id:
            found[-1] = found[-1][0], found[-1][1] + 1
        else:
            found.append((id, 1))
    return found


def has_problem(group: Group) -> bool:
    """Return True if a group is not computed, or if `current` has a partition of a member twice."""
    if group.members and not group.assignor:
        return True
    keys = ("member_id", "topic", "start", "count")
    spans = [tuple(run[key] for key in keys) for run in group.row["current"] if None not in run.values()]
    is_named = None not in (group.row["cluster"], group.row["group_id"])
    return is_named and any(
        one[:2] == other[:2] and one[2] < other[2] + other[3] and other[2] < one[2] + one[3]
        for one, other in itertools.combinations(spans, 2)
    )
