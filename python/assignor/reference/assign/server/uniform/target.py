"""What the members of a group had in the previous target assignment.

Each partition counts for one member: the last one in table order that names it and subscribes to its topic. Partitions
that do not exist do not count. Kafka's own class counts each claim, and then fails or gives a partition twice.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.reference.group import Member, Partition

Target = dict[str, dict[str, list[int]]]
"""Member id to topics to ids of partitions, in the order in which the member names them.

All topics that a member names are keys, also those of which no partition counts: they are keys of Kafka's table.
"""


def previous_target(topics: Mapping[str, list[Partition]], members: list[Member]) -> Target:
    """Return what each member had; members come in table order."""
    existing = {TopicPartition(topic, partition.id) for topic, ids in topics.items() for partition in ids}
    owners = {
        partition: member.info.member_id
        for member in members
        for partition in member.owned
        if partition in existing and partition.topic in member.topics
    }
    target: Target = {}
    for member in members:
        had = target[member.info.member_id] = {}
        for partition in dict.fromkeys(member.owned):
            ids = had.setdefault(partition.topic, [])
            if owners.get(partition) == member.info.member_id:
                ids.append(partition.partition)
    return target
