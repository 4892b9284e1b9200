"""Uniform assignment of a group whose members all subscribe to the same topics.

The quota of a member is the total number of partitions divided by the number of members, rounded down. Until the
remainder is used up, members get a bonus of one partition. A member keeps its partitions up to its quota. The other
partitions go to the members below their quota. A member gets all its missing partitions before the next member gets
any.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.ordering import java_order, presized_capacity, string_hash, table_order
from assignor.reference.assign.options import Options
from assignor.reference.assign.server.uniform.target import Target
from assignor.reference.assign.table_order import numbers_in_set, topics_by_id
from assignor.reference.group import Member, Partition


def assign(
    topics: Mapping[str, list[Partition]], members: list[Member], target: Target, options: Options
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member; members come in table order."""
    wanted = members[0].topics
    held = {TopicPartition(topic, id) for had in target.values() for topic, ids in had.items() for id in ids}
    free = [partition for partition in _partitions_by_id(topics, members[0], options) if partition not in held]
    low, extra = divmod(sum(len(topics.get(topic, ())) for topic in wanted), len(members))
    given: dict[str, list[TopicPartition]] = {}
    unfilled = []
    for index, member in enumerate(members):
        had_bonus = extra > 0
        quota = low + had_bonus
        kept = given[member.info.member_id] = []
        had = target[member.info.member_id]
        for topic in topics_by_id(had, options):
            ids = had[topic]
            if len(ids) > quota:
                ids = numbers_in_set(ids)
                free += [TopicPartition(topic, id) for id in ids[quota:]]
            kept += [TopicPartition(topic, id) for id in ids[:quota]]
            quota -= len(ids[:quota])
        if quota > 0 and had_bonus and len(members) - index > extra:
            # The member does not own enough partitions to use its bonus. Leave the bonus to a later member that may
            # already own one partition more. Enough members follow to use all bonuses.
            quota -= 1
            had_bonus = False
        if quota > 0:
            unfilled.append((member.info.member_id, quota))
        extra -= had_bonus
    for member_id, quota in unfilled:
        given[member_id] += free[:quota]
        del free[:quota]
    return given


def _partitions_by_id(topics: Mapping[str, list[Partition]], member: Member, options: Options) -> list[TopicPartition]:
    """Return all partitions: topics in the order of a set of topic ids, partitions by ascending id.

    Kafka builds the set of ids from a member's set of names. Names of topics that do not exist have places in the set
    of names, and count in the number of buckets of both sets.
    """
    capacity = presized_capacity(len(member.topics))
    names = dict.fromkeys(member.given)
    by_name = table_order(names, list(map(string_hash, names)), capacity, list(map(java_order, names)))
    ordered = topics_by_id([topic for topic in by_name if topic in topics], options, capacity)
    return [TopicPartition(topic, partition.id) for topic in ordered for partition in topics[topic]]
