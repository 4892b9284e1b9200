"""Range assignment as in the broker's RangeAssignor: like the client's, but without racks.

Source: RangeAssignor of kafka-group-coordinator 4.4.0.
"""

from __future__ import annotations

from collections.abc import Mapping

from assignor.model import TopicPartition
from assignor.reference.assign import range as client_range
from assignor.reference.assign.options import Options
from assignor.reference.group import Member, Partition


def assign(
    topics: Mapping[str, list[Partition]], members: list[Member], _options: Options
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member, topic by topic."""
    return client_range.assign_without_racks(topics, members)
