"""Rack-aware range assignment (KIP-881): consumers get partitions with a replica on their rack first.

It is used only if racks matter for some topic. It can change which consumers get one partition more. Topics with
the same consumers and the same number of partitions are co-partitioned: they are assigned together, so that a consumer
gets the same partitions of each. Step p assigns the p-th smallest partition id of each of these topics. Kafka takes p
itself as the id. If ids have gaps, Kafka therefore assigns partitions that do not exist; this defect is not reproduced.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from assignor.reference.group import Member, Partition, TopicConsumers


class Remaining:
    """Partitions of a topic that are not assigned yet, and the capacity of its consumers.

    Each consumer gets `quota` partitions. `extra` consumers get one more: the first ones to which `give` assigns more
    than the quota.
    """

    def __init__(self, state: TopicConsumers) -> None:
        self.state = state
        self.quota, self.extra = divmod(len(state.partitions), len(state.consumers))
        self.unassigned = list(state.partitions)
        self.given: dict[str, list[int]] = {member.info.member_id: [] for member in state.consumers}

    def capacity(self, member: Member) -> int:
        """Return how many more partitions the member can get now."""
        return max(0, self.quota + (self.extra > 0) - len(self.given[member.info.member_id]))

    def give(self, member: Member, partitions: list[Partition]) -> None:
        """Assign partitions to a member; a member that exceeds the quota uses up one extra partition."""
        given = self.given[member.info.member_id]
        given.extend(partition.id for partition in partitions)
        if len(given) > self.quota:
            self.extra -= 1
        self.unassigned = [partition for partition in self.unassigned if partition not in partitions]

    def give_ranges(self, may_take: Callable[[Member, Partition], bool]) -> None:
        """Assign to each consumer in turn the first partitions that it may take, up to its capacity."""
        for member in self.state.consumers:
            matching = [partition for partition in self.unassigned if may_take(member, partition)]
            taken = matching[: self.capacity(member)]
            if taken:
                self.give(member, taken)


def assign(states: list[TopicConsumers], prefer_rack_aware: bool) -> list[tuple[TopicConsumers, dict[str, list[int]]]]:
    """Assign the partitions of each topic: first by rack, then the rest."""
    topics = [Remaining(state) for state in states]
    together: dict[tuple[frozenset[tuple[str, str | None]], int], list[Remaining]] = defaultdict(list)
    for topic in topics:
        consumers = frozenset((member.info.member_id, member.rack) for member in topic.state.consumers)
        together[consumers, len(topic.state.partitions)].append(topic)
    for group in together.values():
        if len(group) > 1:
            _give_together(group)
        elif needs_rack_aware(group[0].state, prefer_rack_aware):
            group[0].give_ranges(racks_match)
    for topic in topics:
        topic.give_ranges(lambda _member, _partition: True)
    return [(topic.state, topic.given) for topic in topics]


def needs_rack_aware(state: TopicConsumers, prefer_rack_aware: bool) -> bool:
    """Return True if racks matter: a consumer shares a rack with a replica, and partitions are on different racks."""
    consumer_racks = {member.rack for member in state.consumers if member.rack is not None}
    all_racks = frozenset[str]().union(*(partition.racks for partition in state.partitions))
    if not consumer_racks & all_racks:
        return False
    return prefer_rack_aware or any(partition.racks != all_racks for partition in state.partitions)


def racks_match(member: Member, partition: Partition) -> bool:
    """Return True if the member has no rack, or a replica of the partition is on its rack."""
    return member.rack is None or member.rack in partition.racks


def _give_together(topics: list[Remaining]) -> None:
    """Assign co-partitioned topics step by step: the same consumer gets the partition of a step in each topic."""
    for step in zip(*(topic.state.partitions for topic in topics), strict=True):
        for member in topics[0].state.consumers:
            if all(
                racks_match(member, partition) and topic.capacity(member) > 0
                for topic, partition in zip(topics, step, strict=True)
            ):
                for topic, partition in zip(topics, step, strict=True):
                    topic.give(member, [partition])
                break
