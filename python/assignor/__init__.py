"""Who gets which partition, exactly as Apache Kafka decides it.

`assign` answers with lists, `plan` with a lazy mapping of spans, `check` says what is wrong with anybody's assignment;
`match_topics` says which topics a pattern means.

Example:
    >>> from assignor import assign
    >>> assign({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})["C1"]
    [TopicPartition(topic='t0', partition=2), TopicPartition(topic='t1', partition=2)]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from assignor import errors
from assignor.columns import MemberColumns, TopicColumns
from assignor.findings import Findings, check
from assignor.model import (
    Balance,
    Diff,
    MemberInfo,
    PartitionInfo,
    RebalanceProtocol,
    Spans,
    Subscription,
    TopicPartition,
)
from assignor.partition_assignor import PartitionAssignor, RangeAssignor

if TYPE_CHECKING:
    from assignor._core import Group, Plan, Topics, assign, plan
    from assignor.matching import TopicMatcher, match_topics, resolve
    from assignor.matching.explanation import explain_pattern
    from assignor.matching.topic_names import validate_topic
    from assignor.subscription_state import SubscriptionState

__all__ = [
    "Balance",
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
    "Spans",
    "Subscription",
    "SubscriptionState",
    "TopicColumns",
    "TopicMatcher",
    "TopicPartition",
    "Topics",
    "assign",
    "check",
    "errors",
    "explain_pattern",
    "match_topics",
    "plan",
    "resolve",
    "validate_topic",
]

_LATER = {
    "Group": "_core",
    "Plan": "_core",
    "SubscriptionState": "subscription_state",
    "TopicMatcher": "matching",
    "Topics": "_core",
    "assign": "_core",
    "explain_pattern": "matching.explanation",
    "match_topics": "matching",
    "plan": "_core",
    "resolve": "matching",
    "validate_topic": "matching.topic_names",
}


def __getattr__(name: str) -> Any:
    """Load the Rust core when it is first asked for, so that `assignor.reference` works where there is none.

    And the subscription state, which few ask for.
    """
    if name == "__version__":
        from importlib.metadata import version

        return version("assignor")
    if name in _LATER:
        module = importlib.import_module(f"assignor.{_LATER[name]}")
        value = globals()[name] = getattr(module, name)
        return value
    raise AttributeError(f"module 'assignor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
