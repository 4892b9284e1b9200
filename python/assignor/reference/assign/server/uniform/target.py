"""The partitions that the members of a group had in the previous target assignment.

Each partition counts for one member: the last one in table order that names it and subscribes to its topic. Partitions
that do not exist do not count. Kafka's own class keeps all owners of a partition, and then fails or gives the partition
to two members.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.reference.group import Member, Partition

Target = dict[str, dict[str, list[int]]]
"""Member id to topics to ids of partitions, in the order in which the member names them.

All topics that a member names are keys, even if none of their partitions counts: they are keys of Kafka's table.
"""


def claims(topics: Mapping[str, list[Partition]], member: Member) -> list[TopicPartition]:
    """Return the existing partitions that a member names, each once, of topics to which it subscribes."""
    existing = {topic: {partition.id for partition in topics.get(topic, ())} for topic, _ in member.owned}
    named = dict.fromkeys(member.owned)
    return [tp for tp in named if tp.topic in member.topics and tp.partition in existing[tp.topic]]


def previous_target(topics: Mapping[str, list[Partition]], members: list[Member]) -> Target:
    """Return what each member had; members come in table order."""
    owners = {partition: member.info.member_id for member in members for partition in claims(topics, member)}
    target: Target = {}
    for member in members:
        had = target[member.info.member_id] = {}
        for partition in dict.fromkeys(member.owned):
            ids = had.setdefault(partition.topic, [])
            if owners.get(partition) == member.info.member_id:
                ids.append(partition.partition)
    return target
