"""Causes of rebalances: their names, and the facts that have them.

Code that starts a rebalance passes a fact: a named tuple with the details of the event. Its method `explain` returns a
`RebalanceCause` and a sentence for people, which names the member or topic.

The first seven causes are those that documentation for users of Kafka lists. A coordinator sees some of them
indirectly: after a topic changes, the leader joins again; after a process dies, its heartbeats stop. The next causes
are the remaining reasons for which Kafka's coordinator starts a rebalance of a classic group. The last six are causes
that only `assignor.replay` reports, from the log.

Source: the calls of `prepareRebalance` and `maybePrepareRebalanceOrCompleteJoin` in GroupMetadataManager,
kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from assignor.coordinator.members import CONSUMER, BrokenGroupError, read_topics

if TYPE_CHECKING:
    from assignor.coordinator.requests import LeavingMember, Protocols
    from assignor.coordinator.state import ErrorCode

    Explanation = tuple["RebalanceCause", str]

__all__ = [
    "AssignmentNotStored",
    "Fact",
    "MemberJoined",
    "MemberRejoined",
    "MembersLeft",
    "Rebalance",
    "RebalanceCause",
    "SessionExpired",
    "StaticMemberReturned",
    "SyncTimedOut",
    "TooManyMembers",
    "TopicChanged",
]


class RebalanceCause(enum.Enum):
    """Cause of a rebalance; the value is a sentence for people."""

    CONSUMER_SUBSCRIBED = "A consumer subscribed: a new member joined the group."
    CONSUMER_CLOSED = "A consumer was closed: a member left the group."
    CONSUMER_DEAD = "A consumer is considered dead: a member sent no heartbeat within its session timeout."
    PARTITIONS_INCREASED = "The number of partitions of a subscribed topic increased."
    TOPIC_CREATED = "A topic was created that members had already subscribed to."
    TOPIC_DELETED = "A subscribed topic was deleted."
    APPLICATION_CRASHED = "An application crashed: the connection of a member ended, and then its session expired."

    SUBSCRIPTION_CHANGED = "A member joined again with different protocols or a different subscription."
    OWNED_PARTITIONS_CHANGED = "A member joined again with the same topics, for example after it revoked partitions."
    LEADER_REJOINED = "The leader joined again, which always requests a new assignment."
    STATIC_MEMBER_RETURNED = "A static member returned with a new member id before the assignment was complete."
    PROTOCOL_CHANGED = "A static member returned with protocols that change the group's selected protocol."
    MEMBER_REMOVED = "An administrator removed a static member by its instance id."
    SYNC_TIMED_OUT = "A member joined but did not send SyncGroup within the rebalance timeout."
    ASSIGNMENT_NOT_STORED = "The leader's assignment could not be written to the log."
    OVER_CAPACITY = "The loaded group has more members than the coordinator allows."

    PROTOCOL_UPGRADED = "The group changed from the classic protocol to the consumer protocol (KIP-848)."
    PROTOCOL_DOWNGRADED = "The group changed from the consumer protocol (KIP-848) to the classic protocol."
    PARTITIONS_INITIALIZED = "The state of partitions of a share group became ready."
    POLL_INTERVAL_EXCEEDED = "A consumer did not poll within max.poll.interval.ms, so its client left the group."
    REJOIN_TIMED_OUT = "A member did not join again within the rebalance timeout, and lost its place in the group."
    COORDINATOR_MOVED = "The group's coordinator was not available or moved, and sessions expired because of it."


@dataclass(frozen=True, slots=True)
class Rebalance:
    """Start of one rebalance.

    Attributes:
        group_id: The group.
        generation: The generation that ends.
        cause: Cause of the rebalance.
        reason: Sentence that names the member or topic.
        at: Time in milliseconds.
    """

    group_id: str
    generation: int
    cause: RebalanceCause
    reason: str
    at: int


# Facts


class MemberJoined(NamedTuple):
    """Join of a new member."""

    member_id: str
    reason: str | None

    def explain(self) -> Explanation:
        """Return the cause and the sentence of the rebalance."""
        return RebalanceCause.CONSUMER_SUBSCRIBED, _sentence(f"Member {self.member_id} joined", self.reason)


class MemberRejoined(NamedTuple):
    """Repeated join of a member, which requires a new generation.

    Attributes:
        member_id: The member.
        is_leader: True if it leads the group.
        protocol_type: Type of the group's protocols.
        protocols_before: Protocols of its previous join.
        protocols: Protocols of this join.
        changed_topic: For the leader: a subscribed topic that changed since the generation began.
        reason: Reason that the member gives.
    """

    member_id: str
    is_leader: bool
    protocol_type: str | None
    protocols_before: Protocols
    protocols: Protocols
    changed_topic: TopicChanged | None
    reason: str | None

    def explain(self) -> Explanation:
        """Return the cause and the sentence of the rebalance."""
        sentence = _sentence(f"{'Leader' if self.is_leader else 'Member'} {self.member_id} joined again", self.reason)
        if _subscription_differs(self.protocol_type, self.protocols_before, self.protocols):
            return RebalanceCause.SUBSCRIPTION_CHANGED, sentence
        if self.changed_topic is not None:
            cause, change = self.changed_topic.explain()
            return cause, f"{change} {sentence}"
        return RebalanceCause.LEADER_REJOINED if self.is_leader else RebalanceCause.OWNED_PARTITIONS_CHANGED, sentence


class StaticMemberReturned(NamedTuple):
    """Join of a static member without its member id; the member got a new id.

    Attributes:
        group_instance_id: Instance id of the member.
        member_id: New member id.
        changes_protocol: True if the group selects a different protocol with this member.
        reason: Reason that the member gives.
    """

    group_instance_id: str | None
    member_id: str
    changes_protocol: bool
    reason: str | None

    def explain(self) -> Explanation:
        """Return the cause and the sentence of the rebalance."""
        cause = RebalanceCause.PROTOCOL_CHANGED if self.changes_protocol else RebalanceCause.STATIC_MEMBER_RETURNED
        return cause, _sentence(f"Static member {self.group_instance_id!r} returned as {self.member_id}", self.reason)


class MembersLeft(NamedTuple):
    """Departure or removal of members; an entry without a member id is a removal by instance id."""

    members: list[LeavingMember]

    def explain(self) -> Explanation:
        """Return the cause and the sentence of the rebalance."""
        leaving = [member for member in self.members if member.member_id]
        first = (leaving or self.members)[0]
        subject = f"Member {first.member_id}" if first.member_id else f"Static member {first.group_instance_id!r}"
        if len(self.members) > 1:
            subject += f" and {len(self.members) - 1} more"
        if leaving:
            return RebalanceCause.CONSUMER_CLOSED, _sentence(f"{subject} left", first.reason)
        return RebalanceCause.MEMBER_REMOVED, _sentence(f"{subject} was removed", first.reason)


class SessionExpired(NamedTuple):
    """Expiry of the session of a member that sent no heartbeat within its session timeout."""

    member_id: str
    session_timeout_ms: int
    is_connected: bool

    def explain(self) -> Explanation:
        """Return the cause and the sentence of the rebalance."""
        silence = f"no heartbeat for {self.session_timeout_ms} ms"
        if self.is_connected:
            return RebalanceCause.CONSUMER_DEAD, f"Member {self.member_id}: {silence}."
        sentence = f"Member {self.member_id}: its connection ended, and there was {silence}."
        return RebalanceCause.APPLICATION_CRASHED, sentence


class SyncTimedOut(NamedTuple):
    """Timeout of members that did not send SyncGroup within the rebalance timeout."""

    member_ids: list[str]

    def explain(self) -> Explanation:
        """Return the cause and the sentence of the rebalance."""
        members, more = ", ".join(self.member_ids[:3]), len(self.member_ids) - 3
        if more > 0:
            members += f" and {more} more"
        return RebalanceCause.SYNC_TIMED_OUT, f"No SyncGroup arrived in time from {members}."


class AssignmentNotStored(NamedTuple):
    """Failed write of the assignment of a generation to the log."""

    generation: int
    error: ErrorCode

    def explain(self) -> Explanation:
        """Return the cause and the sentence of the rebalance."""
        sentence = f"The assignment of generation {self.generation} could not be written ({self.error.name})."
        return RebalanceCause.ASSIGNMENT_NOT_STORED, sentence


class TopicChanged(NamedTuple):
    """Change of the number of partitions of a subscribed topic; a count of None means that the topic does not exist.

    Example:
        >>> cause, sentence = TopicChanged("orders", 3, 6).explain()
        >>> cause.name, sentence
        ('PARTITIONS_INCREASED', "Topic 'orders' has 6 partitions instead of 3.")
    """

    topic: str
    before: int | None
    after: int | None

    def explain(self) -> Explanation:
        """Return the cause and the sentence of the rebalance."""
        topic, before, after = self
        if after is None:
            return RebalanceCause.TOPIC_DELETED, f"Topic {topic!r} was deleted."
        if before is None:
            return RebalanceCause.TOPIC_CREATED, f"Topic {topic!r} was created with {after} partitions."
        if after > before:
            return RebalanceCause.PARTITIONS_INCREASED, f"Topic {topic!r} has {after} partitions instead of {before}."
        return RebalanceCause.TOPIC_CREATED, f"Topic {topic!r} was deleted and created again with {after} partitions."


class TooManyMembers(NamedTuple):
    """Loaded group with more members than the coordinator allows."""

    members: int
    limit: int

    def explain(self) -> Explanation:
        """Return the cause and the sentence of the rebalance."""
        return RebalanceCause.OVER_CAPACITY, f"The group has {self.members} members; the limit is {self.limit}."


Fact = (
    MemberJoined
    | MemberRejoined
    | StaticMemberReturned
    | MembersLeft
    | SessionExpired
    | SyncTimedOut
    | AssignmentNotStored
    | TopicChanged
    | TooManyMembers
)


def _sentence(subject: str, reason: str | None) -> str:
    text = f"{subject}: {reason}" if reason else subject
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _subscription_differs(protocol_type: str | None, before: Protocols, after: Protocols) -> bool:
    """Return True if a member offers different protocols than before, or subscribes to different topics.

    For consumers only the topics are compared: the generation and the owned partitions change with each join.
    """
    if [name for name, _ in before] != [name for name, _ in after]:
        return True
    if protocol_type != CONSUMER:
        return before != after
    return any(_topics(old) != _topics(new) for (_, old), (_, new) in zip(before, after, strict=True))


def _topics(subscription: bytes) -> set[str] | None:
    try:
        topics = read_topics(subscription)
    except BrokenGroupError:
        return None
    return None if topics is None else set(topics)
