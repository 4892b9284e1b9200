"""Range assignment as Kafka's RangeAssignor does it: every topic on its own, in ranges of consecutive partitions.

Source: RangeAssignor and AbstractPartitionAssignor of kafka-clients 4.4.0 (unchanged in effect since 3.5.0). The
rack-aware way (KIP-881), taken when some topic needs it, is in `rack.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.reference.assign import rack
from assignor.reference.assign.options import Options
from assignor.reference.group import Member, Partition, TopicConsumers, kafka_order


def assign(
    topics: Mapping[str, list[Partition]], members: list[Member], options: Options
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member, topic by topic."""
    ordered = kafka_order(members)
    states = []
    for topic, partitions in topics.items():
        consumers = [member for member in ordered if topic in member.topics]
        if partitions and consumers:
            states.append(TopicConsumers(topic, partitions, consumers))

    assignment: dict[str, list[TopicPartition]] = {member.info.member_id: [] for member in members}
    rack_aware = any(rack.needs_rack_aware(state, options.prefer_rack_aware) for state in states)
    for state, given in rack.assign(states, options.prefer_rack_aware) if rack_aware else map(_ranges, states):
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
