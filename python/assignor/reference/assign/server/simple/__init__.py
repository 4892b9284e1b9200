"""Assignment of share groups as in the broker's SimpleAssignor: a partition may have several owners.

The number of owners of a partition is that of members divided by that of partitions, rounded up. Each member has a
quota of these shares. Members keep partitions of the previous target up to their quota. If all members subscribe to the
same topics, `homogeneous.py` assigns the group, otherwise `heterogeneous.py`. The comparison includes names of topics
that do not exist.

Unlike `uniform`, the previous target counts as it is, also its partitions that do not exist or cannot be assigned.

Source: SimpleAssignor and its two builders of kafka-group-coordinator 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.ordering import java_order
from assignor.reference.assign.options import Options
from assignor.reference.assign.server.simple import heterogeneous, homogeneous
from assignor.reference.assign.server.simple.target import previous_target
from assignor.reference.assign.table_order import member_order
from assignor.reference.group import Member, Partition


def assign(
    topics: Mapping[str, list[Partition]], members: list[Member], options: Options
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member, sorted by topic and id.

    Raises:
        IllegalStateError: No member is left for a partition, where Kafka's class raises an exception.
        NotDeterminedError: Kafka's answer differs from process to process.
    """
    is_homogeneous = len({member.topics for member in members}) == 1
    assign_members = homogeneous.assign if is_homogeneous else heterogeneous.assign
    ordered = member_order(members)
    given = assign_members(topics, ordered, [previous_target(member) for member in ordered], options)
    of_member = {member.info.member_id: of for member, of in zip(ordered, given, strict=True)}
    return {
        member.info.member_id: sorted(
            of_member[member.info.member_id], key=lambda partition: (java_order(partition.topic), partition.partition)
        )
        for member in members
    }
