"""The ten states of a member under KIP-848, and the transitions that Kafka's own class allows.

Source: org.apache.kafka.clients.consumer.internals.MemberState, kafka-clients 4.4.0 (and 4.3.1, which has the same
table) and 3.7.0; KIP-848. The tables have the transitions that `transitionTo` accepts. `state_machine.py` has the
triggers that change the state.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from assignor.errors import IllegalArgumentError, NullArgumentError
from assignor.validation import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MemberState"]


class _ExactNames(enum.EnumType):
    """Enum type whose failed lookups raise Java's errors: IllegalArgumentException, NullPointerException for null."""

    def __getitem__(cls, name: Any) -> Any:
        found = cls.__members__.get(name) if isinstance(name, str) else None
        if found is None:
            raise _unknown(name)
        return found


class MemberState(enum.Enum, metaclass=_ExactNames):
    """State of a member, in the order of Kafka's documentation.

    `MemberState("STABLE")` and `MemberState["STABLE"]` return a state by its exact name.

    Raises:
        IllegalArgumentError: No state has exactly this name.
        NullArgumentError: The name is None.

    Example:
        >>> MemberState("STABLE").can_handle_new_assignment()
        True
        >>> sorted(state.name for state in MemberState.UNSUBSCRIBED.previous_valid_states)
        ['FENCED', 'LEAVING', 'PREPARE_LEAVING']
    """

    UNSUBSCRIBED = "UNSUBSCRIBED"
    """The member has no subscription: it is not in the group, sends no heartbeats, and may commit offsets."""

    JOINING = "JOINING"
    """The member joins the group: its heartbeats have epoch 0 until an answer has an epoch above 0."""

    RECONCILING = "RECONCILING"
    """The member reconciles a new assignment: topic names, commit, callbacks. Heartbeats continue."""

    ACKNOWLEDGING = "ACKNOWLEDGING"
    """The member has reconciled its assignment; the next heartbeat, which is sent immediately, acknowledges it."""

    STABLE = "STABLE"
    """The member is in the group and has reconciled its assignment."""

    FENCED = "FENCED"
    """The coordinator does not know the member or its epoch: the member releases its partitions and joins again."""

    PREPARE_LEAVING = "PREPARE_LEAVING"
    """The member releases its partitions before it leaves."""

    LEAVING = "LEAVING"
    """The member has released its partitions; the heartbeat with epoch -1 or -2 is sent immediately."""

    FATAL = "FATAL"
    """The member had an unrecoverable error: it sends nothing and cannot leave this state."""

    STALE = "STALE"
    """The member left because the application did not poll within `max.poll.interval.ms`; it joins at the next poll."""

    __hash__ = object.__hash__  # in C; the hash of Enum is a Python function

    @property
    def previous_valid_states(self) -> frozenset[MemberState]:
        """States from which Kafka 4.x allows a transition to this state; staying in a state is always allowed."""
        return _PREVIOUS[self]

    @property
    def previous_valid_states_3_7(self) -> frozenset[MemberState]:
        """States from which Kafka 3.7.0 allows a transition to this state."""
        return _PREVIOUS_3_7.get(self, _PREVIOUS[self])

    def can_handle_new_assignment(self) -> bool:
        """Return True if the member reconciles a new assignment in this state."""
        return self in _PREVIOUS[MemberState.RECONCILING]

    def can_commit(self) -> bool:
        """Return True if the member may commit offsets in this state.

        A member may commit while it is in the group with a valid epoch, and while it releases partitions. In
        `UNSUBSCRIBED` it commits like a client without a group. `Member.commit_identity` returns the fields of the
        request.
        """
        return self in _COMMITTING

    @classmethod
    def _missing_(cls, value: object) -> MemberState:
        raise _unknown(value)


def _unknown(name: object) -> IllegalArgumentError | NullArgumentError:
    if name is None:
        return NullArgumentError("MemberState: the name of a state must be a str, not None")
    return IllegalArgumentError(f"MemberState: unknown state {shown(name)}; names are exact, such as 'STABLE'")


_UNSUBSCRIBED, _JOINING, _RECONCILING, _ACKNOWLEDGING, _STABLE, _FENCED, _PREPARE_LEAVING, _LEAVING, _FATAL, _STALE = (
    MemberState
)

_IN_GROUP = frozenset({_JOINING, _RECONCILING, _ACKNOWLEDGING, _STABLE})

_PREVIOUS: Mapping[MemberState, frozenset[MemberState]] = {
    _UNSUBSCRIBED: frozenset({_PREPARE_LEAVING, _LEAVING, _FENCED}),
    _JOINING: frozenset({_FENCED, _UNSUBSCRIBED, _STALE}),
    _RECONCILING: _IN_GROUP,
    _ACKNOWLEDGING: frozenset({_RECONCILING}),
    _STABLE: frozenset({_JOINING, _ACKNOWLEDGING, _RECONCILING}),
    _FENCED: _IN_GROUP | {_PREPARE_LEAVING, _LEAVING},
    _PREPARE_LEAVING: _IN_GROUP | {_UNSUBSCRIBED},
    _LEAVING: frozenset({_PREPARE_LEAVING}),
    _FATAL: _IN_GROUP | {_PREPARE_LEAVING, _LEAVING, _UNSUBSCRIBED},
    _STALE: frozenset({_LEAVING}),
}

# Rows that differ in 3.7.0.
_PREVIOUS_3_7: Mapping[MemberState, frozenset[MemberState]] = {
    _UNSUBSCRIBED: frozenset({_PREPARE_LEAVING, _LEAVING}),
    _PREPARE_LEAVING: _IN_GROUP | {_UNSUBSCRIBED, _FENCED},
    _STALE: _IN_GROUP,
}

_COMMITTING = frozenset({_UNSUBSCRIBED, _RECONCILING, _ACKNOWLEDGING, _STABLE, _PREPARE_LEAVING})
