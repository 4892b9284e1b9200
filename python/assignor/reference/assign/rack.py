"""The rack-aware way of range assignment (KIP-881): partitions go first to consumers that are where their replicas are.

It is taken only when some topic needs it, never costs balance, and keeps co-partitioned topics together: topics with
the same consumers and the same number of partitions are solved as one. In such a group step p means the p-th smallest
real id of each topic. Kafka's own class takes p for an id there, and where ids have holes it hands out partitions that
do not exist; that one thing is not reproduced.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from assignor.reference.group import Member, Partition, TopicConsumers


class Remaining:
    """What is still to be given of one topic, and how much each of its consumers may still take.

    `quota` partitions go to everybody and one more to `extra` of them: to whoever first goes over the quota.
    """

    def __init__(self, state: TopicConsumers) -> None:
        self.state = state
        self.quota, self.extra = divmod(len(state.partitions), len(state.consumers))
        self.unassigned = list(state.partitions)
        self.given: dict[str, list[int]] = {member.info.member_id: [] for member in state.consumers}

    def capacity(self, member: Member) -> int:
        """How many more partitions the member may take as things stand."""
        return max(0, self.quota + (self.extra > 0) - len(self.given[member.info.member_id]))

    def give(self, member: Member, partitions: list[Partition]) -> None:
        """Hand partitions over; going over the quota uses up one of the extra ones."""
        given = self.given[member.info.member_id]
        given.extend(partition.id for partition in partitions)
        if len(given) > self.quota:
            self.extra -= 1
        self.unassigned = [partition for partition in self.unassigned if partition not in partitions]

    def give_ranges(self, may_take: Callable[[Member, Partition], bool]) -> None:
        """Each consumer in order takes the first partitions that it may take, up to its capacity."""
        for member in self.state.consumers:
            matching = [partition for partition in self.unassigned if may_take(member, partition)]
            taken = matching[: self.capacity(member)]
            if taken:
                self.give(member, taken)


def assign(states: list[TopicConsumers], prefer_rack_aware: bool) -> list[tuple[TopicConsumers, dict[str, list[int]]]]:
    """What each consumer of each topic gets: first what matches its rack, then what is left."""
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
    """Whether racks can make a difference: consumers and replicas meet on some, and not every partition is on all."""
    consumer_racks = {member.rack for member in state.consumers if member.rack is not None}
    all_racks = frozenset[str]().union(*(partition.racks for partition in state.partitions))
    if not consumer_racks & all_racks:
        return False
    return prefer_rack_aware or any(partition.racks != all_racks for partition in state.partitions)


def racks_match(member: Member, partition: Partition) -> bool:
    """Whether the member is on a rack of the partition; a member without rack is anywhere."""
    return member.rack is None or member.rack in partition.racks


def _give_together(topics: list[Remaining]) -> None:
    """Solve topics with the same consumers and partition counts as one: a consumer gets the same step of each topic."""
    for step in zip(*(topic.state.partitions for topic in topics), strict=True):
        for member in topics[0].state.consumers:
            if all(
                racks_match(member, partition) and topic.capacity(member) > 0
                for topic, partition in zip(topics, step, strict=True)
            ):
                for topic, partition in zip(topics, step, strict=True):
                    topic.give(member, [partition])
                break
