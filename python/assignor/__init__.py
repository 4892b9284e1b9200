"""Partition assignment of consumer groups, exactly as Apache Kafka's assignors compute it.

`assign` returns lists; `plan` returns a mapping that builds a member's list only when the program reads it. Both accept
the name of any of Kafka's assignors. `check` finds problems in an assignment. `match_topics` returns the topics that a
pattern matches.

Example:
    >>> from assignor import assign
    >>> assign({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})["C1"]
    [TopicPartition(topic='t0', partition=2), TopicPartition(topic='t1', partition=2)]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assignor import errors
    from assignor._core import Group, Plan, Topics, assign, plan
    from assignor.columns import MemberColumns, TopicColumns
    from assignor.findings import Findings, check
    from assignor.matching import TopicMatcher, match_topics, resolve
    from assignor.matching.explanation import explain_pattern
    from assignor.matching.topic_names import validate_topic
    from assignor.model import MemberInfo, RebalanceProtocol, Subscription
    from assignor.partition_assignor import (
        CooperativeStickyAssignor,
        PartitionAssignor,
        RangeAssignor,
        RoundRobinAssignor,
        StickyAssignor,
    )
    from assignor.subscription_state import SubscriptionState
    from assignor.tuples import Balance, Diff, PartitionInfo, Spans, TopicPartition, WeightedBalance

__all__ = [
    "Balance",
    "CooperativeStickyAssignor",
    "Diff",
    "Findings",
    "Group",
    "MemberColumns",
    "MemberInfo",
    "PartitionAssignor",
    "PartitionInfo",
    "Plan",
    "RangeAssignor",
    "RebalanceProtocol",
    "RoundRobinAssignor",
    "Spans",
    "StickyAssignor",
    "Subscription",
    "SubscriptionState",
    "TopicColumns",
    "TopicMatcher",
    "TopicPartition",
    "Topics",
    "WeightedBalance",
    "assign",
    "check",
    "errors",
    "explain_pattern",
    "match_topics",
    "plan",
    "resolve",
    "validate_topic",
]

_MODULE_OF = {
    "Balance": "tuples",
    "CooperativeStickyAssignor": "partition_assignor",
    "Diff": "tuples",
    "Findings": "findings",
    "Group": "_core",
    "MemberColumns": "columns",
    "MemberInfo": "model",
    "PartitionAssignor": "partition_assignor",
    "PartitionInfo": "tuples",
    "Plan": "_core",
    "RangeAssignor": "partition_assignor",
    "RebalanceProtocol": "model",
    "RoundRobinAssignor": "partition_assignor",
    "Spans": "tuples",
    "StickyAssignor": "partition_assignor",
    "Subscription": "model",
    "SubscriptionState": "subscription_state",
    "TopicColumns": "columns",
    "TopicMatcher": "matching",
    "TopicPartition": "tuples",
    "Topics": "_core",
    "WeightedBalance": "tuples",
    "assign": "_core",
    "check": "findings",
    "explain_pattern": "matching.explanation",
    "match_topics": "matching",
    "plan": "_core",
    "resolve": "matching",
    "validate_topic": "matching.topic_names",
}
"""Public name to the module that defines it. The module is imported when the name is first used."""

_MODULES = (
    "clients",
    "cluster",
    "columns",
    "coordinator",
    "costs",
    "errors",
    "lag",
    "lag_growth",
    "lag_time",
    "lag_time_sums",
    "matching",
    "member",
    "migration",
    "names",
    "offsets",
    "page",
    "reference",
    "replay",
    "report",
    "scaling",
    "server",
    "sources",
    "spark",
    "subscription_state",
    "traffic",
    "weights",
    "wire",
)
"""Public modules. Each is imported when it is first used."""


def __getattr__(name: str) -> Any:
    """Import a public name or module when it is first used, so that a program loads only what it uses."""
    if name == "__version__":
        from importlib.metadata import version

        return version("assignor")
    if name in _MODULES:
        return importlib.import_module(f"assignor.{name}")
    if name in _MODULE_OF:
        value = globals()[name] = getattr(importlib.import_module(f"assignor.{_MODULE_OF[name]}"), name)
        return value
    raise AttributeError(f"module 'assignor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES})
