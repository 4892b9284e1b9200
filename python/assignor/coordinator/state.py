"""The states of a classic group, in two tables: what takes a group from one to another, and how each answers requests.

Whatever changes a group's state is in `TRANSITIONS`, and nothing else changes it. `ANSWERS` says for each state what
becomes of a request of a member that the group knows, at the right generation: an error, or what is done with it. What
comes before the tables is the same in all states: whether the group is there, who is asking, and at which generation.
What comes after them are the members, their timers and their requests that wait; `group.py` has those.

A group is born Empty when somebody joins without a member id, or commits an offset without being a member. A group that
is not there counts as Dead to whoever asks for its state.

Source: ClassicGroupState, ClassicGroup and GroupMetadataManager, kafka-group-coordinator 4.3.1. The comments of
ClassicGroupState and this machine differ in two places, where Kafka's code does: heartbeats in CompletingRebalance are
answered without an error, and a Dead group answers COORDINATOR_NOT_AVAILABLE.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from assignor.coordinator.error_codes import ErrorCode
from assignor.errors import IllegalStateError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ANSWERS", "TRANSITIONS", "Deed", "GroupEvent", "GroupState", "RequestKind", "next_state"]


class GroupState(enum.Enum):
    """Kafka's five states; the value is the name that Kafka's tools show."""

    __hash__ = object.__hash__  # each request looks its answer up, and an enum's own hash is a call of Python's

    EMPTY = "Empty"
    """No members; there may be offsets, and member ids that were given out and are not used yet."""

    PREPARING_REBALANCE = "PreparingRebalance"
    """The members are asked to join the next generation; their joins wait for each other."""

    COMPLETING_REBALANCE = "CompletingRebalance"
    """The generation has begun; the members' syncs wait for the leader's, which brings the assignment."""

    AWAITING_SYNC = COMPLETING_REBALANCE
    """Its name up to Kafka 1.0."""

    STABLE = "Stable"
    """Every member can have its assignment."""

    DEAD = "Dead"
    """The group was deleted, or moved to another coordinator."""

    @property
    def previous_valid_states(self) -> frozenset[GroupState]:
        """The states from which Kafka's own `transitionTo` lets a group come (`validPreviousStates`).

        Example:
            >>> [state.value for state in GroupState.STABLE.previous_valid_states]
            ['CompletingRebalance']
        """
        return frozenset(before for before, row in TRANSITIONS.items() if self in row.values())


class GroupEvent(enum.Enum):
    """What happens to a group, in words that a diagram can carry."""

    REBALANCE = "a rebalance begins"
    JOINED = "everybody joined, or the time is over"
    EMPTIED = "the time is over and nobody is left"
    ASSIGNED = "the leader's assignment is written"
    REMOVED = "deleted, or moved away"


_EMPTY, _PREPARING, _COMPLETING, _STABLE, _DEAD = GroupState

TRANSITIONS: Mapping[GroupState, Mapping[GroupEvent, GroupState]] = {
    _EMPTY: {GroupEvent.REBALANCE: _PREPARING, GroupEvent.REMOVED: _DEAD},
    _PREPARING: {GroupEvent.JOINED: _COMPLETING, GroupEvent.EMPTIED: _EMPTY, GroupEvent.REMOVED: _DEAD},
    _COMPLETING: {GroupEvent.ASSIGNED: _STABLE, GroupEvent.REBALANCE: _PREPARING, GroupEvent.REMOVED: _DEAD},
    _STABLE: {GroupEvent.REBALANCE: _PREPARING, GroupEvent.REMOVED: _DEAD},
    _DEAD: {GroupEvent.REMOVED: _DEAD},
}
"""The next state, by state and event; an event that a state does not list cannot happen in it."""


class RequestKind(enum.Enum):
    """What can be asked of a group."""

    __hash__ = object.__hash__

    JOIN_NEW = "JoinGroup without a member id"
    JOIN = "JoinGroup of a member"
    SYNC = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    LEAVE = "LeaveGroup"
    COMMIT = "OffsetCommit"
    DELETE = "DeleteGroups"


class Deed(enum.Enum):
    """What is done with a request that is not answered with an error."""

    ADMIT = "let in as a new member, or told to come back with a member id"
    PARK = "waits"
    ANSWER_IF_UNCHANGED = "the generation; a rebalance if its protocols changed"
    ANSWER_IF_UNCHANGED_FOLLOWER = "the generation; a rebalance if its protocols changed, or it leads"
    ASSIGN = "the assignment"
    KEEP_ALIVE = "no error"
    REMOVE = "members leave one by one"
    STORE = "the offsets are kept"
    DELETE = "the group goes with its offsets"


_GONE = ErrorCode.COORDINATOR_NOT_AVAILABLE

ANSWERS: Mapping[GroupState, Mapping[RequestKind, Deed | ErrorCode]] = {
    _EMPTY: {
        RequestKind.JOIN_NEW: Deed.ADMIT,
        RequestKind.JOIN: ErrorCode.UNKNOWN_MEMBER_ID,
        RequestKind.SYNC: ErrorCode.UNKNOWN_MEMBER_ID,
        RequestKind.HEARTBEAT: ErrorCode.UNKNOWN_MEMBER_ID,
        RequestKind.LEAVE: Deed.REMOVE,
        RequestKind.COMMIT: Deed.STORE,
        RequestKind.DELETE: Deed.DELETE,
    },
    _PREPARING: {
        RequestKind.JOIN_NEW: Deed.ADMIT,
        RequestKind.JOIN: Deed.PARK,
        RequestKind.SYNC: ErrorCode.REBALANCE_IN_PROGRESS,
        RequestKind.HEARTBEAT: ErrorCode.REBALANCE_IN_PROGRESS,
        RequestKind.LEAVE: Deed.REMOVE,
        RequestKind.COMMIT: Deed.STORE,
        RequestKind.DELETE: ErrorCode.NON_EMPTY_GROUP,
    },
    _COMPLETING: {
        RequestKind.JOIN_NEW: Deed.ADMIT,
        RequestKind.JOIN: Deed.ANSWER_IF_UNCHANGED,
        RequestKind.SYNC: Deed.PARK,
        RequestKind.HEARTBEAT: Deed.KEEP_ALIVE,
        RequestKind.LEAVE: Deed.REMOVE,
        RequestKind.COMMIT: ErrorCode.REBALANCE_IN_PROGRESS,
        RequestKind.DELETE: ErrorCode.NON_EMPTY_GROUP,
    },
    _STABLE: {
        RequestKind.JOIN_NEW: Deed.ADMIT,
        RequestKind.JOIN: Deed.ANSWER_IF_UNCHANGED_FOLLOWER,
        RequestKind.SYNC: Deed.ASSIGN,
        RequestKind.HEARTBEAT: Deed.KEEP_ALIVE,
        RequestKind.LEAVE: Deed.REMOVE,
        RequestKind.COMMIT: Deed.STORE,
        RequestKind.DELETE: ErrorCode.NON_EMPTY_GROUP,
    },
    _DEAD: {
        RequestKind.JOIN_NEW: _GONE,
        RequestKind.JOIN: _GONE,
        RequestKind.SYNC: _GONE,
        RequestKind.HEARTBEAT: _GONE,
        RequestKind.LEAVE: _GONE,
        RequestKind.COMMIT: _GONE,
        RequestKind.DELETE: ErrorCode.GROUP_ID_NOT_FOUND,
    },
}
"""What becomes of a request, by the state of its group."""


def next_state(state: GroupState, event: GroupEvent) -> GroupState:
    """Where an event takes a group.

    Raises:
        IllegalStateError: It cannot happen in that state.

    Example:
        >>> next_state(GroupState.AWAITING_SYNC, GroupEvent.ASSIGNED).value
        'Stable'
    """
    found = TRANSITIONS[state].get(event)
    if found is None:
        raise IllegalStateError(f"in a group that is {state.value} this cannot happen: {event.value}")
    return found
