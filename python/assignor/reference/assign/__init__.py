"""Partition assignment: the one place that chooses which assignor computes an assignment.

An assignor is one function of plain data in a file of its own. To add one, write its file and add its row to
`ASSIGNORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assignor.model import TopicPartition
from assignor.reference.assign import range as range_assignor
from assignor.reference.group import Member, Partition, read_members, read_topics

Assign = Callable[[Mapping[str, list[Partition]], list[Member], bool], dict[str, list[TopicPartition]]]
"""Topics, members and `prefer_rack_aware` in; the partitions of each member out."""

DEFAULT = "range"
ASSIGNORS: Mapping[str, Assign] = {"range": range_assignor.assign}
"""The assignors by Kafka's names."""


def assign(
    partitions_per_topic: Mapping[str, object],
    subscriptions: Mapping[str, object],
    *,
    assignor: str = DEFAULT,
    prefer_rack_aware: bool = False,
) -> dict[str, list[TopicPartition]]:
    """Return who gets which partition; the same contract as `assignor.assign`.

    Example:
        >>> assign({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})["C1"]
        [TopicPartition(topic='t0', partition=2), TopicPartition(topic='t1', partition=2)]
    """
    topics = read_topics(partitions_per_topic)
    return ASSIGNORS[assignor](topics, read_members(subscriptions, topics), prefer_rack_aware)
