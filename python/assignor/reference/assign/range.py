"""Range assignment as Kafka's RangeAssignor does it: every topic on its own, in ranges of consecutive partitions.

Source: RangeAssignor and AbstractPartitionAssignor of kafka-clients 4.4.0 (unchanged in effect since 3.5.0). The
rack-aware way (KIP-881), taken when some topic needs it, is in `rack.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from assignor.model import TopicPartition
from assignor.reference.assign import rack
from assignor.reference.assign.options import Options
from assignor.reference.group import Member, Partition, TopicConsumers, kafka_order


def assign(
    topics: Mapping[str, list[Partition]], members: list[Member], options: Options
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member, topic by topic."""
    states = _consumed_topics(topics, members)
    if any(rack.needs_rack_aware(state, options.prefer_rack_aware) for state in states):
        return _collect(members, rack.assign(states, options.prefer_rack_aware))
    return _collect(members, map(_ranges, states))


def assign_without_racks(
    topics: Mapping[str, list[Partition]], members: list[Member]
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member as if no replica had a rack."""
    return _collect(members, map(_ranges, _consumed_topics(topics, members)))


def _consumed_topics(topics: Mapping[str, list[Partition]], members: list[Member]) -> list[TopicConsumers]:
    ordered = kafka_order(members)
    states = []
    for topic, partitions in topics.items():
        consumers = [member for member in ordered if topic in member.topics]
        if partitions and consumers:
            states.append(TopicConsumers(topic, partitions, consumers))
    return states


def _collect(
    members: list[Member], given_by_topic: Iterable[tuple[TopicConsumers, dict[str, list[int]]]]
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member, given those of each consumer topic by topic."""
    assignment: dict[str, list[TopicPartition]] = {member.info.member_id: [] for member in members}
    for state, given in given_by_topic:
        for member_id, ids in given.items():
            assignment[member_id].extend(TopicPartition(state.topic, id) for id in sorted(ids))
    return assignment


def _ranges(state: TopicConsumers) -> tuple[TopicConsumers, dict[str, list[int]]]:
    """Give each consumer `quota` partitions and the first `extra` consumers one more, in order, without gaps."""
    quota, extra = divmod(len(state.partitions), len(state.consumers))
    given, start = {}, 0
    for place, member in enumerate(state.consumers):
        end = start + quota + (place < extra)
        given[member.info.member_id] = [partition.id for partition in state.partitions[start:end]]
        start = end
    return state, given
