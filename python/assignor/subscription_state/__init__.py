"""The consumer's subscription state, as Kafka's class of that name keeps it.

`state.py` is the class to use, made in layers that each have a file: `subscribed.py` (what is subscribed or assigned),
`positions.py` (where fetching goes on), `assigned.py` (which partitions there are, and in what order). What is known
about one partition is in `partition_state.py`, and how it moves on in the table of `fetch_state.py`.
"""

from assignor.matching import TopicPattern
from assignor.subscription_state.fetch_state import FetchState
from assignor.subscription_state.position import (
    NO_LEADER,
    EpochEndOffset,
    FetchPosition,
    IsolationLevel,
    LeaderAndEpoch,
    LogTruncation,
    Node,
    OffsetAndMetadata,
)
from assignor.subscription_state.reset_strategy import AutoOffsetResetStrategy, StrategyType
from assignor.subscription_state.state import SubscriptionState
from assignor.subscription_state.subscribing import ConsumerRebalanceListener, SubscriptionPattern, SubscriptionType

__all__ = [
    "NO_LEADER",
    "AutoOffsetResetStrategy",
    "ConsumerRebalanceListener",
    "EpochEndOffset",
    "FetchPosition",
    "FetchState",
    "IsolationLevel",
    "LeaderAndEpoch",
    "LogTruncation",
    "Node",
    "OffsetAndMetadata",
    "StrategyType",
    "SubscriptionPattern",
    "SubscriptionState",
    "SubscriptionType",
    "TopicPattern",
]
