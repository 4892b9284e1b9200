"""Uniform assignment of a group whose members subscribe to different topics.

Members keep the partitions of topics that they still subscribe to. Each free partition goes to the subscriber with the
fewest partitions. Several rounds over the topics then move partitions from subscribers with the most partitions to
those with the fewest.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.reference.assign.options import Options
from assignor.reference.assign.server.uniform.balancer import Balancer
from assignor.reference.assign.server.uniform.target import Target, claims
from assignor.reference.assign.table_order import signed_halves
from assignor.reference.group import Member, Partition

ROUNDS = 16
"""The largest number of rounds over all topics."""


def assign(
    topics: Mapping[str, list[Partition]], members: list[Member], target: Target, options: Options
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member; members come in table order."""
    subscribers = {
        topic: [number for number, member in enumerate(members) if topic in member.topics] for topic in topics
    }

    def priority(topic: str) -> tuple[float, int, tuple[int, int]]:
        count = len(subscribers[topic])
        return -len(topics[topic]) / count, count, signed_halves(options.topic_id(topic))

    ordered = sorted((topic for topic in topics if topics[topic] and subscribers[topic]), key=priority)
    owners: dict[str, dict[int, int]] = {topic: {} for topic in ordered}
    # As in Kafka, a partition that two members report counts in the size of both.
    sizes = [len(claims(topics, member)) for member in members]
    for number, member in enumerate(members):
        for topic, ids in target[member.info.member_id].items():
            if ids:
                owners[topic].update(dict.fromkeys(ids, number))

    for topic in ordered:
        _give_free(topics[topic], owners[topic], Balancer(subscribers[topic], sizes), sizes)
    _balance([topic for topic in ordered if len(subscribers[topic]) > 1], subscribers, owners, sizes)
    given: dict[str, list[TopicPartition]] = {member.info.member_id: [] for member in members}
    for topic in ordered:
        for id, number in owners[topic].items():
            given[members[number].info.member_id].append(TopicPartition(topic, id))
    return given


def _give_free(partitions: list[Partition], owners: dict[int, int], balancer: Balancer, sizes: list[int]) -> None:
    """Give each partition without an owner to the next taker."""
    for partition in partitions:
        if partition.id not in owners:
            taker = balancer.next_taker()
            owners[partition.id] = taker
            sizes[taker] += 1


def _balance(
    topics: list[str], subscribers: dict[str, list[int]], owners: dict[str, dict[int, int]], sizes: list[int]
) -> None:
    """Move partitions, topic by topic, until a full round moves nothing or `ROUNDS` is reached."""
    last_changed = None
    for topic in itertools.chain.from_iterable(itertools.repeat(topics, ROUNDS)):
        if topic == last_changed:
            return
        if _balance_topic(owners[topic], Balancer(subscribers[topic], sizes), sizes) or last_changed is None:
            last_changed = topic


def _balance_topic(owners: dict[int, int], balancer: Balancer, sizes: list[int]) -> bool:
    """Move partitions of one topic; return True if any partition moved."""
    if balancer.difference <= 1:
        return False
    has_moved = False
    movable: dict[int, list[int]] = {}
    for id, owner in sorted(owners.items()):
        movable.setdefault(owner, []).append(id)
    while not balancer.is_balanced:
        giver = balancer.next_giver()
        while giver is not None and not movable.get(giver):
            balancer.exclude_giver()
            giver = balancer.next_giver()
        if giver is None:
            break
        id = movable[giver].pop()
        taker = balancer.next_taker()
        if balancer.is_balanced:
            break
        owners[id] = taker
        sizes[giver] -= 1
        sizes[taker] += 1
        has_moved = True
    return has_moved
