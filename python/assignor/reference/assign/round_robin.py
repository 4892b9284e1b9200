"""Round-robin assignment as in Kafka's RoundRobinAssignor: partitions go to the members in turn.

Members form a ring in Kafka's order, and a pointer starts at the first member. For each partition, the pointer moves
forward until its member subscribes to the topic. That member gets the partition, and the pointer moves to the next
member.

Source: RoundRobinAssignor of kafka-clients 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.reference.assign.options import Options
from assignor.reference.group import Member, Partition, kafka_order


def assign(
    topics: Mapping[str, list[Partition]], members: list[Member], _options: Options
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member, topic by topic."""
    assignment: dict[str, list[TopicPartition]] = {member.info.member_id: [] for member in members}
    ring = kafka_order(members)
    place = 0
    for topic, partitions in topics.items():
        if not any(topic in member.topics for member in ring):
            continue
        for partition in partitions:
            while topic not in ring[place].topics:
                place = (place + 1) % len(ring)
            assignment[ring[place].info.member_id].append(TopicPartition(topic, partition.id))
            place = (place + 1) % len(ring)
    return assignment
