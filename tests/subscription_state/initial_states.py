"""Partitions, leaders, a listener and assigned states for tests of the subscription state."""

from __future__ import annotations

from collections.abc import Collection

from assignor import SubscriptionState, TopicPartition
from assignor.subscription_state import (
    FetchPosition,
    IsolationLevel,
    LeaderAndEpoch,
    Node,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
NODE, OTHER = Node(1, "h1", 9092), Node(2, "h2", 9092)
LEADER = LeaderAndEpoch(NODE, 5)
CHECKED = FetchPosition(10, 4, LEADER)  # can be validated, because both epochs are known
COMMITTED, UNCOMMITTED = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED


class Listener:
    """A listener that does nothing."""

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Do nothing."""

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Do nothing."""


def assigned(*partitions: TopicPartition, strategy: str = "latest") -> SubscriptionState:
    """Return a state in which a group has assigned these partitions."""
    state = SubscriptionState(strategy)
    state.subscribe({tp.topic for tp in partitions})
    state.assign_from_subscribed(partitions)
    return state
