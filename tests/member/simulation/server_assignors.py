"""The assignors of the coordinator: range and uniform, as Kafka 4.3.1 has them.

Range is this project's own `assign`; uniform has one way for groups whose members all want the same topics, which trims
what each has to its share and hands the rest out, and another for all other groups, which levels topic by topic. Where
the ids of two topics share a bucket of a hash map, which of them goes first depends on the past, and is not told here.

Source: org.apache.kafka.coordinator.group.assignor.RangeAssignor, UniformHomogeneousAssignmentBuilder and
UniformHeterogeneousAssignmentBuilder, kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from assignor import Subscription, assign
from assignor.ordering import presized_capacity
from tests.member.simulation.hash_tables import hash_map_order, string_hash, uuid_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from uuid import UUID

    from tests.member.simulation.group_member import Partitions

__all__ = ["ASSIGNORS", "GroupSpec", "MemberSpec", "Topic"]

ROUNDS = 16
"""How often the heterogeneous builder goes over all topics at most."""


class Topic(NamedTuple):
    """A topic as the coordinator sees it."""

    id: UUID
    partitions: int


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """What an assignor is told about a member."""

    topics: frozenset[str]
    instance_id: str | None
    target: Partitions


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """What an assignor is told about a group.

    Attributes:
        members: By id, in the order of the coordinator's hash table.
        topics: All topics that exist, by name.
        homogeneous: Whether all members subscribe to the same.
        assigned: All that the target assignment so far gives to anybody, members that left not among them.
    """

    members: Mapping[str, MemberSpec]
    topics: Mapping[str, Topic]
    homogeneous: bool
    assigned: Partitions


Assigned = dict[str, "Partitions"]


def range_assignor(spec: GroupSpec) -> Assigned:
    """Each topic for itself, in contiguous ranges by the order of members; what a member had does not matter."""
    subscriptions = {
        member_id: Subscription(tuple(sorted(member.topics & spec.topics.keys())), group_instance_id=member.instance_id)
        for member_id, member in spec.members.items()
    }
    found = assign({name: topic.partitions for name, topic in spec.topics.items()}, subscriptions)
    return {
        member_id: frozenset((spec.topics[topic].id, partition) for topic, partition in found.get(member_id, ()))
        for member_id in spec.members
    }


def uniform_assignor(spec: GroupSpec) -> Assigned:
    """As level as possible, then with as few moves as possible."""
    return (_homogeneous if spec.homogeneous else _heterogeneous)(spec)


ASSIGNORS: Mapping[str, Callable[[GroupSpec], Assigned]] = {"uniform": uniform_assignor, "range": range_assignor}


def _ids_in_order(spec: GroupSpec, names: frozenset[str]) -> list[UUID]:
    """Ids of the topics that exist, in the order of a set of ids made from a set of names."""
    capacity = presized_capacity(len(names))
    listed = hash_map_order(sorted(names), string_hash, capacity)
    ids = [spec.topics[name].id for name in listed if name in spec.topics]
    return hash_map_order(ids, uuid_hash, capacity)


def _homogeneous(spec: GroupSpec) -> Assigned:
    members = spec.members
    topic_ids = _ids_in_order(spec, next(iter(members.values())).topics)
    if not topic_ids:
        return {}
    counts = {topic.id: topic.partitions for topic in spec.topics.values()}
    free = [
        (id, partition) for id in topic_ids for partition in range(counts[id]) if (id, partition) not in spec.assigned
    ]
    least, extra = divmod(sum(counts[id] for id in topic_ids), len(members))
    found: dict[str, set[tuple[UUID, int]]] = {}
    unfilled: list[tuple[str, int]] = []
    for index, (member_id, member) in enumerate(members.items()):
        quota = least + 1 if extra else least
        has_extra = extra > 0
        by_topic = _by_topic(member.target)
        kept: set[tuple[UUID, int]] = set()
        for topic_id in hash_map_order(by_topic, uuid_hash):
            if topic_id not in counts or topic_id not in topic_ids:
                continue
            numbers = _set_order(by_topic[topic_id])
            kept.update((topic_id, number) for number in numbers[:quota])
            free.extend((topic_id, number) for number in numbers[quota:])
            quota -= min(quota, len(numbers))
        if quota and has_extra and len(members) - index > extra:
            quota -= 1  # somebody further down can take it, who may have it already
            has_extra = False
        if quota:
            unfilled.append((member_id, quota))
        extra -= has_extra
        found[member_id] = kept
    left = iter(free)
    for member_id, quota in unfilled:
        found[member_id].update(partition for _, partition in zip(range(quota), left, strict=False))
    assert next(left, None) is None, "partitions were left over"
    return {member_id: frozenset(partitions) for member_id, partitions in found.items()}


def _by_topic(partitions: Partitions) -> dict[UUID, list[int]]:
    found: dict[UUID, list[int]] = {}
    for topic_id, number in sorted(partitions):
        found.setdefault(topic_id, []).append(number)
    return found


def _set_order(numbers: list[int]) -> list[int]:
    """Numbers in the order of a `HashSet<Integer>` made for so many."""
    return hash_map_order(numbers, int, presized_capacity(len(numbers)))


class _Levels:
    """Members of one topic by how much they have, and who gives or takes next."""

    def __init__(self, members: Sequence[int], sizes: Sequence[int]) -> None:
        self.sizes = sizes
        self.order = sorted(members, key=lambda index: (sizes[index], index))
        self.imbalance = sizes[self.order[-1]] - sizes[self.order[0]]
        self.least, self.least_end, self.next_least = sizes[self.order[0]] - 1, 0, 0
        self.most = sizes[self.order[-1]] + 1
        self.most_start = self.most_end = len(self.order)
        self.next_most = len(self.order) - 1

    @property
    def level(self) -> bool:
        """Whether moving one more would make nothing better."""
        return self.most - self.least <= 1

    def take_least(self) -> int:
        """Who gets the next one: each of the lowest level in turn, then the level rises."""
        if self.next_least >= self.least_end:
            self.least += 1
            while self.least_end < len(self.order) and self.sizes[self.order[self.least_end]] == self.least:
                self.least_end += 1
            self.next_least = 0
        self.next_least += 1
        return self.order[self.next_least - 1]

    def take_most(self) -> int | None:
        """Who gives the next one: each of the highest level in turn, then the level sinks."""
        if self.next_most < self.most_start:
            if self.most_end <= self.most_start and self.most_start > 0:
                self.most = self.sizes[self.order[self.most_start - 1]]
            else:
                self.most -= 1
            while self.most_start > 0 and self.sizes[self.order[self.most_start - 1]] == self.most:
                self.most_start -= 1
            self.next_most = self.most_end - 1
        if self.next_most < 0:
            return None
        self.next_most -= 1
        return self.order[self.next_most + 1]

    def exclude(self) -> None:
        """Whoever was to give last has nothing of this topic to give."""
        at, last = self.next_most + 1, self.most_end - 1
        self.order[at], self.order[last] = self.order[last], self.order[at]
        self.most_end -= 1


def _heterogeneous(spec: GroupSpec) -> Assigned:
    member_ids = list(spec.members)
    subscribers: dict[UUID, list[int]] = defaultdict(list)
    for index, member in enumerate(spec.members.values()):
        for name in sorted(member.topics & spec.topics.keys()):
            subscribers[spec.topics[name].id].append(index)
    if not subscribers:
        return {}
    counts = {topic.id: topic.partitions for topic in spec.topics.values()}
    owners: dict[UUID, list[int]] = {id: [-1] * counts[id] for id in subscribers}
    sizes = [0] * len(member_ids)
    for index, member in enumerate(spec.members.values()):
        for topic_id, number in member.target:
            if index in subscribers.get(topic_id, ()):
                owners[topic_id][number] = index
                sizes[index] += 1

    def weight(id: UUID) -> tuple[float, int, tuple[int, int]]:
        return -counts[id] / len(subscribers[id]), len(subscribers[id]), _signed_halves(id)

    for topic_id in sorted(subscribers, key=weight):
        levels = _Levels(subscribers[topic_id], sizes)
        for number, owner in enumerate(owners[topic_id]):
            if owner == -1:
                _move(owners[topic_id], sizes, number, levels.take_least())
    shared = sorted((id for id in subscribers if len(subscribers[id]) > 1), key=weight)
    _level_topics(shared, subscribers, owners, sizes)
    found: dict[str, set[tuple[UUID, int]]] = {member_id: set() for member_id in member_ids}
    for topic_id, of_topic in owners.items():
        for number, owner in enumerate(of_topic):
            found[member_ids[owner]].add((topic_id, number))
    return {member_id: frozenset(partitions) for member_id, partitions in found.items()}


def _signed_halves(uuid: UUID) -> tuple[int, int]:
    """What `Uuid.compareTo` compares: both halves, as signed numbers."""
    high, low = uuid.int >> 64, uuid.int & (1 << 64) - 1
    return high - (high >> 63 << 64), low - (low >> 63 << 64)


def _move(of_topic: list[int], sizes: list[int], number: int, member: int) -> None:
    if of_topic[number] != -1:
        sizes[of_topic[number]] -= 1
    of_topic[number] = member
    sizes[member] += 1


def _level_topics(
    topics: list[UUID], subscribers: Mapping[UUID, list[int]], owners: Mapping[UUID, list[int]], sizes: list[int]
) -> None:
    last = -1
    for _ in range(ROUNDS):
        for index, topic_id in enumerate(topics):
            if index == last:
                return
            if _level_topic(subscribers[topic_id], owners[topic_id], sizes) or last == -1:
                last = index


def _level_topic(members: list[int], of_topic: list[int], sizes: list[int]) -> int:
    levels = _Levels(members, sizes)
    if levels.imbalance <= 1:
        return 0
    has: dict[int, list[int]] = defaultdict(list)
    for number, owner in enumerate(of_topic):
        has[owner].append(number)
    moved = 0
    while not levels.level:
        giver = levels.take_most()
        while giver is not None and not has[giver]:
            levels.exclude()
            giver = levels.take_most()
        if giver is None:
            break
        number = has[giver].pop()
        taker = levels.take_least()
        if levels.level:
            break
        _move(of_topic, sizes, number, taker)
        moved += 1
    return moved
