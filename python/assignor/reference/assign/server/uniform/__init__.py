"""Uniform assignment as in the broker's UniformAssignor: as even as possible, with few moves.

If all members subscribe to the same topics, `homogeneous.py` assigns the group, otherwise `heterogeneous.py`. The
comparison includes names of topics that do not exist.

Source: UniformAssignor and its two builders of kafka-group-coordinator 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.ordering import java_order
from assignor.reference.assign.options import Options
from assignor.reference.assign.server.uniform import heterogeneous, homogeneous
from assignor.reference.assign.server.uniform.target import previous_target
from assignor.reference.assign.table_order import member_order
from assignor.reference.group import Member, Partition


def assign(
    topics: Mapping[str, list[Partition]], members: list[Member], options: Options
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member, sorted by topic and id."""
    is_homogeneous = len({member.topics for member in members}) == 1
    assign_members = homogeneous.assign if is_homogeneous else heterogeneous.assign
    ordered = member_order(members)
    given = assign_members(topics, ordered, previous_target(topics, ordered), options)
    return {
        member.info.member_id: sorted(given[member.info.member_id], key=lambda each: (java_order(each[0]), each[1]))
        for member in members
    }
