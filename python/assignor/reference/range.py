"""Range assignment as Kafka's RangeAssignor does it: every topic on its own, in ranges of consecutive partitions.

Source: RangeAssignor and AbstractPartitionAssignor of kafka-clients 4.4.0 (unchanged in effect since 3.5.0). The
rack-aware way (KIP-881), taken when some topic needs it, is in `rack.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.ordering import java_order
from assignor.plan_json import Parts
from assignor.reference import rack
from assignor.reference.group import Member, TopicConsumers, kafka_order, read_members, read_topics


def assign(
    partitions_per_topic: Mapping[str, object],
    subscriptions: Mapping[str, object],
    *,
    prefer_rack_aware: bool = False,
) -> dict[str, list[TopicPartition]]:
    """Who gets which partition; the same contract as `assignor.assign`.

    Example:
        >>> assign({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})["C1"]
        [TopicPartition(topic='t0', partition=2), TopicPartition(topic='t1', partition=2)]
    """
    _, _, assignment = _solve(partitions_per_topic, subscriptions, prefer_rack_aware)
    return assignment


def parts(
    partitions_per_topic: Mapping[str, object],
    subscriptions: Mapping[str, object],
    *,
    prefer_rack_aware: bool = False,
) -> Parts:
    """The assignment as what a plan is made of: topics, subscriptions, members, and columns of spans."""
    topics, members, assignment = _solve(partitions_per_topic, subscriptions, prefer_rack_aware)
    index = {topic: number for number, topic in enumerate(topics)}
    rows: list[tuple[int, int, int, int]] = []
    for number, partitions in enumerate(assignment.values()):
        for topic, id in partitions:
            if rows and rows[-1][:2] == (number, index[topic]) and rows[-1][2] + rows[-1][3] == id:
                rows[-1] = (*rows[-1][:3], rows[-1][3] + 1)
            else:
                rows.append((number, index[topic], id, 1))
    wanted = list(dict.fromkeys(member.topics for member in members))
    described = [
        (
            member.info.member_id,
            wanted.index(member.topics),
            member.info.group_instance_id,
            member.user_data_bytes,
            member.owned_bytes,
            len((member.rack or "").encode()),
        )
        for member in members
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], []]
    return topics, [sorted(names, key=java_order) for names in wanted], described, columns


def _solve(
    partitions_per_topic: Mapping[str, object], subscriptions: Mapping[str, object], prefer_rack_aware: bool
) -> tuple[list[str], list[Member], dict[str, list[TopicPartition]]]:
    topics = read_topics(partitions_per_topic)
    members = read_members(subscriptions, topics)
    ordered = kafka_order(members)
    states = []
    for topic, partitions in topics.items():
        consumers = [member for member in ordered if topic in member.topics]
        if partitions and consumers:
            states.append(TopicConsumers(topic, partitions, consumers))

    assignment: dict[str, list[TopicPartition]] = {member.info.member_id: [] for member in members}
    rack_aware = any(rack.needs_rack_aware(state, prefer_rack_aware) for state in states)
    for state, given in rack.assign(states, prefer_rack_aware) if rack_aware else map(_ranges, states):
        for member_id, ids in given.items():
            assignment[member_id].extend(TopicPartition(state.topic, id) for id in sorted(ids))
    return list(topics), members, assignment


def _ranges(state: TopicConsumers) -> tuple[TopicConsumers, dict[str, list[int]]]:
    """Everybody gets `quota` partitions and the first `extra` consumers one more, in order, without gaps."""
    quota, extra = divmod(len(state.partitions), len(state.consumers))
    given, start = {}, 0
    for place, member in enumerate(state.consumers):
        end = start + quota + (place < extra)
        given[member.info.member_id] = [partition.id for partition in state.partitions[start:end]]
        start = end
    return state, given
