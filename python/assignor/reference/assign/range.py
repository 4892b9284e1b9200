"""Range assignment as in Kafka's RangeAssignor: each topic is split into ranges of consecutive partitions.

Rack-aware assignment (KIP-881), used if racks matter for some topic, is in `rack.py`.

Source: RangeAssignor and AbstractPartitionAssignor of kafka-clients 4.4.0 (same behaviour since 3.5.0).
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
    """Return the partitions of each member, ignoring racks."""
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
    """Merge the partitions that each topic gives its consumers into one list per member."""
    assignment: dict[str, list[TopicPartition]] = {member.info.member_id: [] for member in members}
    for state, given in given_by_topic:
        for member_id, ids in given.items():
            assignment[member_id].extend(TopicPartition(state.topic, id) for id in sorted(ids))
    return assignment


def _ranges(state: TopicConsumers) -> tuple[TopicConsumers, dict[str, list[int]]]:
    """Assign consecutive ranges in order: `quota` partitions per consumer, one more for the first `extra` consumers."""
    quota, extra = divmod(len(state.partitions), len(state.consumers))
    given, start = {}, 0
    for place, member in enumerate(state.consumers):
        end = start + quota + (place < extra)
        given[member.info.member_id] = [partition.id for partition in state.partitions[start:end]]
        start = end
    return state, given
