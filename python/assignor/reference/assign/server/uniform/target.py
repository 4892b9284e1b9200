"""Previous target assignment of a group.

Each partition has one previous owner: the last member in table order that reports it and subscribes to its topic.
Partitions that do not exist are ignored. Kafka keeps all owners of a partition, and then fails or assigns the partition
to two members.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.reference.group import Member, Partition

Target = dict[str, dict[str, list[int]]]
"""Member id to topics to partition ids, in the order in which the member reports them.

All topics that a member reports are keys, even those without a partition here, because Kafka's table has them too.
"""


def claims(topics: Mapping[str, list[Partition]], member: Member) -> list[TopicPartition]:
    """Return the existing partitions that a member reports, without duplicates, of topics that it subscribes to."""
    existing = {topic: {partition.id for partition in topics.get(topic, ())} for topic, _ in member.owned}
    named = dict.fromkeys(member.owned)
    return [tp for tp in named if tp.topic in member.topics and tp.partition in existing[tp.topic]]


def previous_target(topics: Mapping[str, list[Partition]], members: list[Member]) -> Target:
    """Return the previous target of each member; members come in table order."""
    owners = {partition: member.info.member_id for member in members for partition in claims(topics, member)}
    target: Target = {}
    for member in members:
        had = target[member.info.member_id] = {}
        for partition in dict.fromkeys(member.owned):
            ids = had.setdefault(partition.topic, [])
            if owners.get(partition) == member.info.member_id:
                ids.append(partition.partition)
    return target
