"""States of a classic group, in two tables: the transitions between states, and each state's answer to each request.

`TRANSITIONS` has every change of a group's state. `ANSWERS` has, for each state, the answer to a request of a known
member with the current generation: an error code or an action. The checks that come before (does the group exist, is
the member known, is the generation current) are the same in all states. `group.py` holds the members and the waiting
requests.

A join without a member id, or an offset commit without a generation, creates an Empty group. A group that does not
exist is described as Dead.

Source: ClassicGroupState, ClassicGroup and GroupMetadataManager, kafka-group-coordinator 4.3.1, and
org.apache.kafka.common.protocol.Errors, kafka-clients 4.3.1. The comments of ClassicGroupState differ from Kafka's code
in two places. This module follows the code: CompletingRebalance answers heartbeats without an error, and Dead answers
COORDINATOR_NOT_AVAILABLE.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from assignor.errors import IllegalStateError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "ANSWERS",
    "COMPLETING",
    "DEAD",
    "EMPTY",
    "PREPARING",
    "STABLE",
    "TRANSITIONS",
    "Action",
    "ErrorCode",
    "GroupEvent",
    "GroupState",
    "RequestKind",
    "next_state",
    "response_error",
]


class ErrorCode(enum.IntEnum):
    """Error codes of answers, with Kafka's names and numbers."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    OFFSET_METADATA_TOO_LARGE = 12
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    UNSUPPORTED_VERSION = 35
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    MEMBER_ID_REQUIRED = 79
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82


class GroupState(enum.Enum):
    """State of a classic group, one of Kafka's five; the value is the name that Kafka's tools show."""

    # `object.__hash__` is implemented in C. The hash of Enum is a Python function, and every request would call it to
    # look up its answer.
    __hash__ = object.__hash__

    EMPTY = "Empty"
    """The group has no members; it may have offsets, and member ids that were issued but not used yet."""

    PREPARING_REBALANCE = "PreparingRebalance"
    """A rebalance has started: the coordinator waits for the joins of the members."""

    COMPLETING_REBALANCE = "CompletingRebalance"
    """The generation has begun: the coordinator waits for the assignment in the leader's SyncGroup."""

    AWAITING_SYNC = COMPLETING_REBALANCE
    """Another name of `COMPLETING_REBALANCE`: its name up to Kafka 1.0."""

    STABLE = "Stable"
    """The assignment is complete; each member gets its part with SyncGroup."""

    DEAD = "Dead"
    """The group was deleted or moved to another coordinator."""

    @property
    def previous_valid_states(self) -> frozenset[GroupState]:
        """States from which Kafka's `transitionTo` allows a transition to this state (`validPreviousStates`).

        Example:
            >>> [state.value for state in GroupState.STABLE.previous_valid_states]
            ['CompletingRebalance']
        """
        return frozenset(before for before, row in TRANSITIONS.items() if self in row.values())


class GroupEvent(enum.Enum):
    """Event that changes the state of a group; the value is its label in a diagram."""

    REBALANCE = "a rebalance starts"
    JOINED = "all members joined, or the join phase timed out"
    EMPTIED = "the join phase ended without members"
    ASSIGNED = "the leader's assignment is written"
    REMOVED = "deleted or moved to another coordinator"


EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
"""The states. In Python 3.11 `GroupState.EMPTY` calls a Python function; these names do not."""

TRANSITIONS: Mapping[GroupState, Mapping[GroupEvent, GroupState]] = {
    EMPTY: {GroupEvent.REBALANCE: PREPARING, GroupEvent.REMOVED: DEAD},
    PREPARING: {GroupEvent.JOINED: COMPLETING, GroupEvent.EMPTIED: EMPTY, GroupEvent.REMOVED: DEAD},
    COMPLETING: {GroupEvent.ASSIGNED: STABLE, GroupEvent.REBALANCE: PREPARING, GroupEvent.REMOVED: DEAD},
    STABLE: {GroupEvent.REBALANCE: PREPARING, GroupEvent.REMOVED: DEAD},
    DEAD: {GroupEvent.REMOVED: DEAD},
}
"""Next state by state and event; an event that a state does not list cannot occur in it."""


class RequestKind(enum.Enum):
    """Kind of request that `ANSWERS` distinguishes."""

    __hash__ = object.__hash__

    JOIN_NEW = "JoinGroup without a member id"
    JOIN = "JoinGroup of a member"
    SYNC = "SyncGroup"
    HEARTBEAT = "Heartbeat"
    LEAVE = "LeaveGroup"
    COMMIT = "OffsetCommit"
    DELETE = "DeleteGroups"


class Action(enum.Enum):
    """Action for a request that is not answered with an error."""

    ADMIT = "admit the member, or return a member id to join with"
    WAIT = "wait"
    ANSWER_IF_UNCHANGED = "return the generation; rebalance if the member's protocols changed"
    ANSWER_IF_UNCHANGED_FOLLOWER = "return the generation; rebalance if the member leads or its protocols changed"
    ASSIGN = "return the assignment"
    KEEP_ALIVE = "no error"
    REMOVE = "remove the members"
    STORE = "store the offsets"
    DELETE = "delete the group and its offsets"


_GONE = ErrorCode.COORDINATOR_NOT_AVAILABLE

ANSWERS: Mapping[GroupState, Mapping[RequestKind, Action | ErrorCode]] = {
    EMPTY: {
        RequestKind.JOIN_NEW: Action.ADMIT,
        RequestKind.JOIN: ErrorCode.UNKNOWN_MEMBER_ID,
        RequestKind.SYNC: ErrorCode.UNKNOWN_MEMBER_ID,
        RequestKind.HEARTBEAT: ErrorCode.UNKNOWN_MEMBER_ID,
        RequestKind.LEAVE: Action.REMOVE,
        RequestKind.COMMIT: Action.STORE,
        RequestKind.DELETE: Action.DELETE,
    },
    PREPARING: {
        RequestKind.JOIN_NEW: Action.ADMIT,
        RequestKind.JOIN: Action.WAIT,
        RequestKind.SYNC: ErrorCode.REBALANCE_IN_PROGRESS,
        RequestKind.HEARTBEAT: ErrorCode.REBALANCE_IN_PROGRESS,
        RequestKind.LEAVE: Action.REMOVE,
        RequestKind.COMMIT: Action.STORE,
        RequestKind.DELETE: ErrorCode.NON_EMPTY_GROUP,
    },
    COMPLETING: {
        RequestKind.JOIN_NEW: Action.ADMIT,
        RequestKind.JOIN: Action.ANSWER_IF_UNCHANGED,
        RequestKind.SYNC: Action.WAIT,
        RequestKind.HEARTBEAT: Action.KEEP_ALIVE,
        RequestKind.LEAVE: Action.REMOVE,
        RequestKind.COMMIT: ErrorCode.REBALANCE_IN_PROGRESS,
        RequestKind.DELETE: ErrorCode.NON_EMPTY_GROUP,
    },
    STABLE: {
        RequestKind.JOIN_NEW: Action.ADMIT,
        RequestKind.JOIN: Action.ANSWER_IF_UNCHANGED_FOLLOWER,
        RequestKind.SYNC: Action.ASSIGN,
        RequestKind.HEARTBEAT: Action.KEEP_ALIVE,
        RequestKind.LEAVE: Action.REMOVE,
        RequestKind.COMMIT: Action.STORE,
        RequestKind.DELETE: ErrorCode.NON_EMPTY_GROUP,
    },
    DEAD: {
        RequestKind.JOIN_NEW: _GONE,
        RequestKind.JOIN: _GONE,
        RequestKind.SYNC: _GONE,
        RequestKind.HEARTBEAT: _GONE,
        RequestKind.LEAVE: _GONE,
        RequestKind.COMMIT: _GONE,
        RequestKind.DELETE: ErrorCode.GROUP_ID_NOT_FOUND,
    },
}
"""Action or error for a request, by the group's state."""


def next_state(state: GroupState, event: GroupEvent) -> GroupState:
    """Return the state after an event.

    Raises:
        IllegalStateError: The event cannot occur in that state.

    Example:
        >>> next_state(GroupState.AWAITING_SYNC, GroupEvent.ASSIGNED).value
        'Stable'
    """
    found = TRANSITIONS[state].get(event)
    if found is None:
        raise IllegalStateError(f"event {event.name} ({event.value}) cannot occur in a group in state {state.value}")
    return found


_RESPONSE_ERRORS: Mapping[int, ErrorCode] = {
    3: ErrorCode.COORDINATOR_NOT_AVAILABLE,  # UNKNOWN_TOPIC_OR_PARTITION
    6: ErrorCode.NOT_COORDINATOR,  # NOT_LEADER_OR_FOLLOWER
    7: ErrorCode.COORDINATOR_NOT_AVAILABLE,  # REQUEST_TIMED_OUT
    19: ErrorCode.COORDINATOR_NOT_AVAILABLE,  # NOT_ENOUGH_REPLICAS
    56: ErrorCode.NOT_COORDINATOR,  # KAFKA_STORAGE_ERROR
}

_UNTRANSLATED = frozenset(ErrorCode) - {ErrorCode.NONE}


def response_error(log_error: int) -> ErrorCode:
    """Return the error code for a member when a write to the log fails.

    Source: GroupMetadataManager.appendGroupMetadataErrorToResponseError, kafka-group-coordinator 4.3.1.

    Example:
        >>> response_error(19).name, response_error(16).name, response_error(10).name
        ('COORDINATOR_NOT_AVAILABLE', 'NOT_COORDINATOR', 'UNKNOWN_SERVER_ERROR')
    """
    if log_error in _RESPONSE_ERRORS:
        return _RESPONSE_ERRORS[log_error]
    return ErrorCode(log_error) if log_error in _UNTRANSLATED else ErrorCode.UNKNOWN_SERVER_ERROR
