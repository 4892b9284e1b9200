"""The consumer's subscription state, equal to Kafka's class of that name.

`state.py` has `SubscriptionState`. Its parts each have their own data: `subscription.py` (what is subscribed),
`assignment.py` (which partitions are assigned, in which order), `partition_state.py` (the state of one partition, whose
transitions are the table of `fetch_state.py`), `committed_offsets.py` (what the design of Kafka 0.9 adds).
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
from assignor.subscription_state.subscription import ConsumerRebalanceListener, SubscriptionPattern, SubscriptionType

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
