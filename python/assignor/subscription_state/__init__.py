"""The consumer's subscription state, equal to Kafka's class of the same name.

`state.py` has `SubscriptionState`. Its parts are in `subscription.py` (the subscription), `assignment.py` (the assigned
partitions and their order), `partition_state.py` (the state of one partition, with the transitions of
`fetch_state.py`), and `committed_offsets.py` (additions from Kafka 0.9).
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
