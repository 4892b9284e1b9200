"""Outcome of what-if scenarios for one group: each step changes the group, and `assign` computes its rebalances."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assignor import Subscription, TopicPartition, errors
from assignor.ordering import java_order
from tests.fleet.group_balance import balance_of
from tests.fleet.single_group import (
    ASSIGNORS,
    Assigned,
    Group,
    Member,
    Row,
    Topic,
    claimed,
    kafka_order,
    matching,
    owned_now,
    planned,
    spans,
    standing,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COOPERATIVE = ("classic", "cooperative-sticky")
MAX_PARTITIONS = 10_000_000
MAX_REBALANCES = 4
"""Limits of a topic, and of the rebalances after one change."""

UUID = re.compile(r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\Z")


class TooManyPartitionsError(Exception):
    """Error for a topic with more partitions than a scenario may have."""


def outcome(group: Group, name: str, steps: Sequence[tuple[Any, ...]]) -> Row:
    """Return the answer of `what_if` for a scenario."""
    after = play(group, steps)
    if group.members and not after.is_computed:
        found: Row = {"rebalances": None, "moved": None, **after.notes}
        return {"scenario": name, **found, **balance_of(after, None, None, {})}
    balance = balance_of(after, after.assigned, after.assignor, claimed(after, after.before))
    found = {"rebalances": after.rebalances, "moved": after.moved, **after.notes}
    return {"scenario": name, **found, **balance}


def assignment(group: Group, steps: Sequence[tuple[Any, ...]]) -> list[Row]:
    """Return the answer of `assign_after` for a scenario."""
    after = play(group, steps)
    return spans(after, after.assigned) if after.is_computed else []


@dataclass
class SimulatedGroup(Group):
    """Group during a scenario.

    Attributes:
        assigned: The partitions of each member.
        before: The partitions from which the last rebalance started.
        rebalances: The number of rebalances.
        moved: The number of partitions that they moved.
        made: The number of new member ids.
        is_known: False after a rebalance of a group that Kafka has no assignor for.
        protocol: The group protocol.
        pattern_changes: The topics gained and lost because a switch of the protocol changes what patterns mean.
        problems: Why steps did not change a topic.
    """

    assigned: Assigned = field(default_factory=dict)
    before: Assigned = field(default_factory=dict)
    rebalances: int = 0
    moved: int = 0
    made: int = 0
    is_known: bool = True
    protocol: str = "classic"
    pattern_changes: list[Row] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def notes(self) -> Row:
        """The columns of an outcome that explain it."""
        return {"pattern_changes": self.pattern_changes, "problems": self.problems}

    @property
    def is_computed(self) -> bool:
        """True if the assignment is that of an assignor."""
        return self.assignor is not None and self.is_known


def play(group: Group, steps: Sequence[tuple[Any, ...]]) -> SimulatedGroup:
    """Return the group after the steps of a scenario."""
    owned = owned_now(group)
    found = SimulatedGroup(group.row, group.topics, group.members, group.assignor, standing(group, owned), owned)
    named = {member["group_protocol"] for member in group.row["members"] if member and member.get("group_protocol")}
    found.protocol = group.assignor[0] if group.assignor else "classic"
    if not group.assignor and len(named) == 1 and named <= ASSIGNORS.keys():
        [found.protocol] = named
    if group.members and group.assignor:
        before, found.assigned = found.assigned, planned(found, owned)
        found.members = [member._replace(generation=None) for member in group.members]  # all have the same one now
        if found.assignor == COOPERATIVE and revokes(before, found.assigned):
            rebalance(found)
        found.rebalances = found.moved = 0
    for kind, *arguments in steps:
        if found.members:
            STEPS[kind](found, *arguments)
    return found


def rebalance(group: SimulatedGroup) -> None:
    """Rebalance a group whose members own what is assigned to them; cooperative members may rebalance repeatedly."""
    if group.assignor is None:
        group.is_known = False
        group.before, group.assigned = {}, standing(group, group.assigned)
        return
    first = owners(group.assigned)
    for _ in range(MAX_REBALANCES):
        group.before, group.assigned = group.assigned, planned(group, group.assigned)
        group.rebalances += 1
        if group.assignor != COOPERATIVE or not revokes(group.before, group.assigned):
            break
    last = owners(group.assigned)
    group.moved += sum(first[each] != last[each] for each in first.keys() & last.keys())


def owners(assigned: Assigned) -> dict[TopicPartition, set[str]]:
    """Return the members that have each partition."""
    found: dict[TopicPartition, set[str]] = defaultdict(set)
    for member, has in assigned.items():
        for partition in has:
            found[partition].add(member)
    return found


def revokes(before: Assigned, after: Assigned) -> bool:
    """Return True if a member loses a partition."""
    return any(set(before.get(member, ())) - set(has) for member, has in after.items())


def add_members(group: SimulatedGroup, count: int) -> None:
    """Add members like the last one in Kafka's order with the most frequent subscription."""
    frequency = Counter(member.topics for member in group.members)
    most = max(frequency.values())
    *_, like = (member for member in kafka_order(group.members) if frequency[member.topics] == most)
    for _ in range(count):
        id = another_id(group, like.id)
        group.members = [*group.members, like._replace(id=id, instance_id=like.instance_id and id)]
    if count:
        rebalance(group)


def remove_members(group: SimulatedGroup, count: int) -> None:
    """Remove the last members in Kafka's order."""
    stay = {member.id for member in kafka_order(group.members)[: max(len(group.members) - count, 0)]}
    group.members = [member for member in group.members if member.id in stay]
    if count:
        rebalance(group)


def multiply_partitions(group: SimulatedGroup, factor: int) -> None:
    """Multiply the number of partitions of each topic; 0 and 1 change nothing."""
    change_topics(group, {name: topic.partitions * max(factor, 1) for name, topic in group.topics.items()})


def grow_partitions(group: SimulatedGroup, topic: str, count: int) -> None:
    """Increase the number of partitions of a topic, if it exists and has fewer."""
    if topic not in group.topics:
        group.problems.append(f"topic '{topic}' does not exist, so it does not grow")
    elif count < (now := group.topics[topic].partitions):
        group.problems.append(f"topic '{topic}' has {now} partitions and cannot shrink to {count}")
    change_topics(group, {topic: max(count, group.topics[topic].partitions)} if topic in group.topics else {})


def set_racks(group: SimulatedGroup, racks: Sequence[str]) -> None:
    """Put the members on racks in turn, in Kafka's order."""
    if racks:
        rack = dict(zip((member.id for member in kafka_order(group.members)), itertools.cycle(racks), strict=False))
        group.members = [member._replace(rack=rack[member.id]) for member in group.members]
        rebalance(group)


def add_topic(group: SimulatedGroup, topic: str, count: int) -> None:
    """Add a topic, to which members subscribe unless they have a pattern that does not match it."""

    def subscribed(member: Member) -> Member:
        matched = member.matched
        if member.given and not (matched and (topic in matched.topics or matching(matched, [topic]))):
            return member
        return member._replace(topics=member.topics | {topic}, is_subscribed=True)

    if topic in group.topics and count != (now := group.topics[topic].partitions):
        group.problems.append(f"topic '{topic}' exists with {now} partitions, so it is not added with {count}")
    before, group.members = group.members, [subscribed(member) for member in group.members]
    change_topics(group, {} if topic in group.topics else {topic: count}, is_changed=before != group.members)


def make_static(group: SimulatedGroup) -> None:
    """Give each dynamic member its id as instance id."""
    before, group.members = (
        group.members,
        [
            member if member.instance_id is not None else member._replace(instance_id=member.id)
            for member in group.members
        ],
    )
    if before != group.members:
        rebalance(group)


def rolling_restart(group: SimulatedGroup, instance_ids: bool | None = None) -> None:
    """Restart each member in Kafka's order; a dynamic one leaves, and joins again with another id."""
    for member in kafka_order(group.members):
        is_static = member.instance_id is not None if instance_ids is None else instance_ids
        if not is_static:
            place = group.members.index(member)
            others = [each for each in group.members if each != member]
            again = member._replace(id=another_id(group, member.id))
            for group.members in (others, [*others[:place], again, *others[place:]]):
                rebalance(group)


def use(group: SimulatedGroup, assignor: str, group_protocol: str) -> None:
    """Switch the group to another assignor."""
    before, group.assignor = group.assignor, (group_protocol, assignor)
    if group_protocol != group.protocol:
        group.protocol = group_protocol
        switch_patterns(group)
    if before != group.assignor:
        rebalance(group)


def switch_patterns(group: SimulatedGroup) -> None:
    """Match the patterns of members as their clients and the broker do in another group protocol."""
    changes: dict[Subscription, Row] = {}
    switched = {}
    for member in kafka_order(group.members):
        if not member.given:
            continue
        matched, sent, has_problem = translated(member, group.protocol)
        topics = frozenset[str]()
        if matched:
            by_name = (name for name in matched.topics if name in group.topics)
            topics = frozenset({*member.given.topics, *by_name, *matching(matched, group.topics)})
        switched[member.id] = member._replace(topics=topics, matched=matched)
        gained, lost = (
            sorted(changed & group.topics.keys(), key=java_order)
            for changed in (topics - member.topics, member.topics - topics)
        )
        if gained or lost or has_problem:
            patterns = list(member.given.patterns)
            change = {"patterns": patterns, "sent": sent, "gained": gained, "lost": lost, "problem": has_problem}
            changes.setdefault(member.given, {"members": [], **change})["members"].append(member.id)
    group.members = [switched.get(member.id, member) for member in group.members]
    group.pattern_changes += sorted(changes.values(), key=lambda change: change["members"])


def translated(member: Member, protocol: str) -> tuple[Subscription | None, str | None, bool]:
    """Return the patterns as they are matched in a protocol, the text that the broker gets, and True for a problem."""
    assert member.given
    match protocol, member.given.dialect:
        case "consumer", "librdkafka":
            sent = "|".join(pattern for pattern in member.given.patterns if pattern.startswith("^"))
            if not sent:
                return member.given, None, False
            names = tuple(pattern for pattern in member.given.patterns if not pattern.startswith("^"))
            by_broker = Subscription(names, pattern=sent, dialect="re2j")
            try:
                matching(by_broker, [])
            except errors.InvalidPatternError:
                return None, sent, True
            except errors.UnsupportedPatternError:
                return member.given, sent, True
            return by_broker, sent, False
        case ("consumer", "python") | ("classic", "re2j") | ("share", _):
            return member.matched, None, True
    return member.given, None, False


def change_topics(group: SimulatedGroup, counts: Mapping[str, int], *, is_changed: bool = False) -> None:
    """Change numbers of partitions, and rebalance if topics of the group change."""
    before = {name: topic.partitions for name, topic in group.subscribed.items()} if not is_changed else None
    new = Topic(0, (), None)
    group.topics = group.topics | {
        name: group.topics.get(name, new)._replace(partitions=count) for name, count in counts.items()
    }
    after = {name: topic.partitions for name, topic in group.subscribed.items()}
    if max(after.values(), default=0) > MAX_PARTITIONS:
        raise TooManyPartitionsError
    if before != after:
        rebalance(group)


STEPS = {
    step.__name__: step
    for step in (
        *(add_members, remove_members, multiply_partitions, grow_partitions, set_racks, add_topic),
        *(make_static, rolling_restart, use),
    )
}


def another_id(group: SimulatedGroup, id: str) -> str:
    """Return a new member id: the given one without its UUID, and a UUID made of hashes of group, member and number."""
    group.made += 1
    seed = f"{group.row['group_id']}\0{id}\0{group.made}".encode()
    high = fnv(0xCBF2_9CE4_8422_2325, seed)
    low = fnv(high, seed)
    beginning = UUID.sub("", id) if UUID.search(id) else f"{id}-"
    return (
        f"{beginning}{high >> 32:08x}-{high >> 16 & 0xFFFF:04x}-4{high & 0xFFF:03x}"
        f"-{low >> 48 & 0x3FFF | 0x8000:04x}-{low & 0xFFFF_FFFF_FFFF:012x}"
    )


def fnv(state: int, data: bytes) -> int:
    """Continue the 64-bit FNV-1a hash of a state with data."""
    for byte in data:
        state = (state ^ byte) * 0x0100_0000_01B3 % 2**64
    return state
