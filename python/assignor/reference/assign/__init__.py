"""Partition assignment: the one place that chooses which assignor computes an assignment.

An assignor is one function of plain data in a file of its own. To add one, write its file and add its row to
`ASSIGNORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assignor.model import TopicPartition
from assignor.reference.assign import range as range_assignor
from assignor.reference.assign import round_robin, sticky
from assignor.reference.assign.options import Options
from assignor.reference.assign.server import range as server_range
from assignor.reference.assign.server import uniform
from assignor.reference.group import Member, Partition, read_members, read_topics

Assign = Callable[[Mapping[str, list[Partition]], list[Member], Options], dict[str, list[TopicPartition]]]
"""Function of an assignor: it takes topics, members and options, and returns the partitions of each member."""

ASSIGNORS: Mapping[tuple[str, str], Assign] = {
    ("classic", "range"): range_assignor.assign,
    ("classic", "roundrobin"): round_robin.assign,
    ("classic", "sticky"): sticky.assign,
    ("classic", "cooperative-sticky"): sticky.assign_cooperatively,
    ("consumer", "uniform"): uniform.assign,
    ("consumer", "range"): server_range.assign,
}
"""The assignors by group protocol and Kafka's name."""

DEFAULTS: Mapping[str, str] = {"classic": "range", "consumer": "uniform"}
"""The assignor that Kafka uses if a group does not name one, by group protocol."""


def chosen(assignor: str | None, group_protocol: str) -> Assign:
    """Return the assignor of a name; without a name, the default of the protocol."""
    return ASSIGNORS[group_protocol, DEFAULTS[group_protocol] if assignor is None else assignor]


def assign(
    partitions_per_topic: Mapping[str, object],
    subscriptions: Mapping[str, object],
    *,
    assignor: str | None = None,
    group_protocol: str = "classic",
    topic_ids: Mapping[str, int] | None = None,
    prefer_rack_aware: bool = False,
) -> dict[str, list[TopicPartition]]:
    """Return who gets which partition; the same contract as `assignor.assign`.

    Example:
        >>> assign({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})["C1"]
        [TopicPartition(topic='t0', partition=2), TopicPartition(topic='t1', partition=2)]
    """
    topics = read_topics(partitions_per_topic)
    members = read_members(subscriptions, topics)
    return chosen(assignor, group_protocol)(topics, members, Options(prefer_rack_aware, topic_ids or {}))
