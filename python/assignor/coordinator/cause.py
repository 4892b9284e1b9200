"""Why a group rebalances: a name for each cause, and the sentence that explains it.

The first seven are those that the documentation of brokers lists for users. A coordinator sees some only by what they
lead to: a topic that changed makes the leader join again, and a process that died stops its heartbeats. The others
are what else Kafka's coordinator starts a rebalance for.

Source: the calls of `prepareRebalance` and `maybePrepareRebalanceOrCompleteJoin` in GroupMetadataManager,
kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

__all__ = ["Rebalance", "RebalanceCause"]


class RebalanceCause(enum.Enum):
    """What made a group rebalance; the value is a sentence for people."""

    CONSUMER_SUBSCRIBED = "A consumer subscribed: a new member joined the group."
    CONSUMER_CLOSED = "A consumer was closed: a member left the group."
    CONSUMER_DEAD = "A consumer counts as dead: a member sent no heartbeat within its session timeout."
    PARTITIONS_INCREASED = "The number of partitions of a subscribed topic has increased."
    TOPIC_CREATED = "A topic that was subscribed to before it existed was created."
    TOPIC_DELETED = "A topic that is subscribed to was deleted."
    APPLICATION_CRASHED = "An application crashed: the connection of a member ended, and then its session."

    SUBSCRIPTION_CHANGED = "A member joined again with other protocols or another subscription."
    OWNED_PARTITIONS_CHANGED = "A member joined again with the same topics, as after it gave partitions up."
    LEADER_REJOINED = "The leader joined again, which asks for a new assignment whatever its reason."
    STATIC_MEMBER_RETURNED = "A static member came back under a new member id while the assignment was being made."
    PROTOCOL_CHANGED = "A static member came back with protocols that change the one that the group agrees on."
    MEMBER_REMOVED = "An administrator removed a static member by its instance id."
    SYNC_TIMED_OUT = "A member that had joined did not ask for its assignment within the rebalance timeout."
    ASSIGNMENT_NOT_STORED = "The leader's assignment could not be written to the log."
    OVER_CAPACITY = "The group that was loaded has more members than are allowed."


@dataclass(frozen=True, slots=True)
class Rebalance:
    """One rebalance at its beginning.

    Attributes:
        group_id: The group.
        generation: The generation that ends.
        cause: Why.
        reason: A sentence that names the member or topic that it is about.
        at: When, in milliseconds.
    """

    group_id: str
    generation: int
    cause: RebalanceCause
    reason: str
    at: int
