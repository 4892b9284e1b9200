"""Share assignment of a group whose members subscribe to different topics.

Each topic is shared among its subscribers, independently of the other topics. A member keeps the partitions of topics
that no member of the group subscribes to, or that are deleted, because no topic of the group removes them.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.ordering import computed_order, expected_capacity, table_order
from assignor.reference.assign.options import Options
from assignor.reference.assign.server.simple.shares import Shares, owners_per_partition, quotas
from assignor.reference.assign.server.simple.target import Target, no_member_left
from assignor.reference.assign.table_order import numbers_in_set
from assignor.reference.group import Member, Partition


def assign(
    topics: Mapping[str, list[Partition]], members: list[Member], target: list[Target], _options: Options
) -> list[list[TopicPartition]]:
    """Return the partitions of each member; members come in table order."""
    subscribers = {topic: [index for index, member in enumerate(members) if topic in member.topics] for topic in topics}
    shared = [topic for topic in topics if subscribers[topic]]
    if not shared:
        return [[] for _ in members]
    given = [
        [TopicPartition(topic, id) for topic, ids in had.items() if not subscribers.get(topic) for id in ids]
        for had in target
    ]
    for topic in shared:
        ids = [partition.id for partition in topics[topic]]
        had = [numbers_in_set(of_member.get(topic, [])) for of_member in target]
        for index, held in _share(topic, ids, subscribers[topic], had).items():
            given[index] += [TopicPartition(topic, id) for id in held]
    return given


def _share(topic: str, ids: list[int], subscribers: list[int], had: list[list[int]]) -> dict[int, dict[int, None]]:
    """Share the partitions of a topic; return the ids of each member.

    Args:
        topic: The topic.
        ids: Ids of the partitions that can be assigned.
        subscribers: Subscribers of the topic.
        had: Ids that each member of the group had.
    """
    shares = Shares[int](
        quotas(subscribers, len(ids)),
        owners_per_partition(len(subscribers), len(ids)),
        lambda id: no_member_left(TopicPartition(topic, id)),
    )
    for index, held in enumerate(had):
        for id in held:
            shares.keep(index, id)
    shares.revoke_from_members(lambda held: table_order(held, held, natural=held))
    shares.revoke_from_partitions()
    for id in ids:
        shares.add(id)
    listed = computed_order(shares.calls, lambda id: id, expected_capacity(len(ids)), lambda id: id)
    shares.hand_out(listed, len(had))
    return shares.held
