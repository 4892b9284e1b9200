"""States of a classic group in two tables: the transitions between them, and the answer of each state to each request.

Every change of a group's state is in `TRANSITIONS`. `ANSWERS` gives, for each state, the answer to a request of a known
member with the current generation: an error code, or an action. The checks before the tables (does the group exist, is
the member known, is the generation current) are the same in all states. `group.py` holds the members and the requests
that wait.

A group is created Empty by a join without a member id, or by an offset commit without a generation. A group that does
not exist is described as Dead.

Source: ClassicGroupState, ClassicGroup and GroupMetadataManager, kafka-group-coordinator 4.3.1, and
org.apache.kafka.common.protocol.Errors, kafka-clients 4.3.1. As Kafka's code does, and other than the comments of
ClassicGroupState say, CompletingRebalance answers heartbeats without an error, and Dead answers
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
    """Errors that an answer can carry, with Kafka's names and numbers."""

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
    """Kinds of requests, as `ANSWERS` distinguishes them."""

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

    ADMIT = "let in as a new member, or told to come back with a member id"
    WAIT = "waits"
    ANSWER_IF_UNCHANGED = "the generation; a rebalance if its protocols changed"
    ANSWER_IF_UNCHANGED_FOLLOWER = "the generation; a rebalance if its protocols changed, or it leads"
    ASSIGN = "the assignment"
    KEEP_ALIVE = "no error"
    REMOVE = "members leave one by one"
    STORE = "the offsets are kept"
    DELETE = "the group goes with its offsets"


_GONE = ErrorCode.COORDINATOR_NOT_AVAILABLE

ANSWERS: Mapping[GroupState, Mapping[RequestKind, Action | ErrorCode]] = {
    _EMPTY: {
        RequestKind.JOIN_NEW: Action.ADMIT,
        RequestKind.JOIN: ErrorCode.UNKNOWN_MEMBER_ID,
        RequestKind.SYNC: ErrorCode.UNKNOWN_MEMBER_ID,
        RequestKind.HEARTBEAT: ErrorCode.UNKNOWN_MEMBER_ID,
        RequestKind.LEAVE: Action.REMOVE,
        RequestKind.COMMIT: Action.STORE,
        RequestKind.DELETE: Action.DELETE,
    },
    _PREPARING: {
        RequestKind.JOIN_NEW: Action.ADMIT,
        RequestKind.JOIN: Action.WAIT,
        RequestKind.SYNC: ErrorCode.REBALANCE_IN_PROGRESS,
        RequestKind.HEARTBEAT: ErrorCode.REBALANCE_IN_PROGRESS,
        RequestKind.LEAVE: Action.REMOVE,
        RequestKind.COMMIT: Action.STORE,
        RequestKind.DELETE: ErrorCode.NON_EMPTY_GROUP,
    },
    _COMPLETING: {
        RequestKind.JOIN_NEW: Action.ADMIT,
        RequestKind.JOIN: Action.ANSWER_IF_UNCHANGED,
        RequestKind.SYNC: Action.WAIT,
        RequestKind.HEARTBEAT: Action.KEEP_ALIVE,
        RequestKind.LEAVE: Action.REMOVE,
        RequestKind.COMMIT: ErrorCode.REBALANCE_IN_PROGRESS,
        RequestKind.DELETE: ErrorCode.NON_EMPTY_GROUP,
    },
    _STABLE: {
        RequestKind.JOIN_NEW: Action.ADMIT,
        RequestKind.JOIN: Action.ANSWER_IF_UNCHANGED_FOLLOWER,
        RequestKind.SYNC: Action.ASSIGN,
        RequestKind.HEARTBEAT: Action.KEEP_ALIVE,
        RequestKind.LEAVE: Action.REMOVE,
        RequestKind.COMMIT: Action.STORE,
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
"""Action or error for a request, by the state of its group."""


def next_state(state: GroupState, event: GroupEvent) -> GroupState:
    """Return the state that follows an event.

    Raises:
        IllegalStateError: The event cannot happen in that state.

    Example:
        >>> next_state(GroupState.AWAITING_SYNC, GroupEvent.ASSIGNED).value
        'Stable'
    """
    found = TRANSITIONS[state].get(event)
    if found is None:
        raise IllegalStateError(f"in a group that is {state.value} this cannot happen: {event.value}")
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
    """Return the error code that a member receives when a write to the log fails.

    Source: GroupMetadataManager.appendGroupMetadataErrorToResponseError, kafka-group-coordinator 4.3.1.

    Example:
        >>> response_error(19).name, response_error(16).name, response_error(10).name
        ('COORDINATOR_NOT_AVAILABLE', 'NOT_COORDINATOR', 'UNKNOWN_SERVER_ERROR')
    """
    if log_error in _RESPONSE_ERRORS:
        return _RESPONSE_ERRORS[log_error]
    return ErrorCode(log_error) if log_error in _UNTRANSLATED else ErrorCode.UNKNOWN_SERVER_ERROR
