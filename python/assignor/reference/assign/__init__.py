"""Choice of the assignor that computes an assignment.

Each assignor is a function in its own file. To add one, write its file and add it to `ASSIGNORS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from assignor.model import TopicPartition
from assignor.reference.assign import range as range_assignor
from assignor.reference.assign import round_robin, sticky
from assignor.reference.assign.options import Options
from assignor.reference.assign.server import range as server_range
from assignor.reference.assign.server import simple, uniform
from assignor.reference.group import Member, Partition, read_members, read_topics

if TYPE_CHECKING:
    from assignor.names import AssignorName, GroupProtocol

Assign = Callable[[Mapping[str, list[Partition]], list[Member], Options], dict[str, list[TopicPartition]]]
"""Function that assigns: it takes topics, members and options, and returns the partitions of each member."""

ASSIGNORS: Mapping[tuple[str, str], Assign] = {
    ("classic", "range"): range_assignor.assign,
    ("classic", "roundrobin"): round_robin.assign,
    ("classic", "sticky"): sticky.assign,
    ("classic", "cooperative-sticky"): sticky.assign_cooperatively,
    ("consumer", "uniform"): uniform.assign,
    ("consumer", "range"): server_range.assign,
    ("share", "simple"): simple.assign,
}
"""Assignors by group protocol and Kafka's name."""

DEFAULTS: Mapping[str, str] = {"classic": "range", "consumer": "uniform", "share": "simple"}
"""Kafka's default assignor of each group protocol."""


def chosen(assignor: str | None, group_protocol: str) -> Assign:
    """Return an assignor by name, or the default of the group protocol if the name is None."""
    return ASSIGNORS[group_protocol, DEFAULTS[group_protocol] if assignor is None else assignor]


def assign(
    partitions_per_topic: Mapping[str, object],
    subscriptions: Mapping[str, object],
    *,
    assignor: AssignorName | None = None,
    group_protocol: GroupProtocol = "classic",
    topic_ids: Mapping[str, int] | None = None,
    prefer_rack_aware: bool = False,
) -> dict[str, list[TopicPartition]]:
    """Return the partitions of each member, as `assignor.assign` does.

    Example:
        >>> assign({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})["C1"]
        [TopicPartition(topic='t0', partition=2), TopicPartition(topic='t1', partition=2)]
    """
    topics = read_topics(partitions_per_topic)
    members = read_members(subscriptions, topics)
    return chosen(assignor, group_protocol)(topics, members, Options(prefer_rack_aware, topic_ids or {}))
