"""The ten states of a consumer group's member under KIP-848, and which may follow which in Kafka's own class.

Source: org.apache.kafka.clients.consumer.internals.MemberState, kafka-clients 4.4.0 (and 4.3.1, which has the same
table) and 3.7.0; KIP-848. Its documentation names the states, these tables say what `transitionTo` lets pass. What
makes a member go from one to another is in `state_machine.py`.
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
    """Lookups whose failure is Java's: `valueOf` throws IllegalArgumentException, or NullPointerException for null."""

    def __getitem__(cls, name: Any) -> Any:
        found = cls.__members__.get(name) if isinstance(name, str) else None
        if found is None:
            raise _unknown(name)
        return found


class MemberState(enum.Enum, metaclass=_ExactNames):
    """Where a member stands, in the order in which Kafka's documentation lists the states.

    `MemberState("STABLE")` and `MemberState["STABLE"]` find a state by its name, which must be exact.

    Raises:
        IllegalArgumentError: The name is not exactly that of a state.
        NullArgumentError: The name is None.

    Example:
        >>> MemberState("STABLE").can_handle_new_assignment()
        True
        >>> sorted(state.name for state in MemberState.UNSUBSCRIBED.previous_valid_states)
        ['FENCED', 'LEAVING', 'PREPARE_LEAVING']
    """

    UNSUBSCRIBED = "UNSUBSCRIBED"
    """Has a group id and no subscription: not in the group, sends no heartbeat, may commit offsets."""

    JOINING = "JOINING"
    """Wants into the group: its heartbeats have epoch 0 until one is answered with an epoch above 0."""

    RECONCILING = "RECONCILING"
    """Was given another assignment and is turning its own into it, by names, commit and callbacks; heartbeats go on."""

    ACKNOWLEDGING = "ACKNOWLEDGING"
    """Has reconciled; until the next heartbeat, which goes out without waiting for the interval, has said so."""

    STABLE = "STABLE"
    """Is in the group and has reconciled all it was given."""

    FENCED = "FENCED"
    """The coordinator does not know it, or not at this epoch: it gives its partitions up and joins again."""

    PREPARE_LEAVING = "PREPARE_LEAVING"
    """Is about to leave and releases its partitions first."""

    LEAVING = "LEAVING"
    """Has released them; until the heartbeat with epoch -1 or -2 is sent, which does not wait for the interval."""

    FATAL = "FATAL"
    """Met an error that nothing can mend: sends nothing any more and has no way out."""

    STALE = "STALE"
    """Left since the application did not poll within `max.poll.interval.ms`; joins again when it polls."""

    __hash__ = object.__hash__  # a state is equal to nothing else; Enum's own takes longer

    @property
    def previous_valid_states(self) -> frozenset[MemberState]:
        """The states from which Kafka 4.x lets a member come here; staying where one is is always allowed."""
        return _PREVIOUS[self]

    @property
    def previous_valid_states_3_7(self) -> frozenset[MemberState]:
        """The same in Kafka 3.7.0."""
        return _PREVIOUS_3_7.get(self, _PREVIOUS[self])

    def can_handle_new_assignment(self) -> bool:
        """Whether an assignment that arrives is to be reconciled: in the group, and meaning to stay."""
        return self in _PREVIOUS[MemberState.RECONCILING]

    def can_commit(self) -> bool:
        """Whether offsets may be committed.

        In the group at a valid epoch, while releasing what one had, and in `UNSUBSCRIBED`, where one is no member and
        commits as a client without a group would; `Member.commit_identity` says what to put into the request.
        """
        return self in _COMMITTING

    @classmethod
    def _missing_(cls, value: object) -> MemberState:
        raise _unknown(value)


def _unknown(name: object) -> IllegalArgumentError | NullArgumentError:
    if name is None:
        return NullArgumentError("MemberState: a name is needed, got None")
    return IllegalArgumentError(f"MemberState: no state has the name {shown(name)}; names are exact, such as 'STABLE'")


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

# Where 3.7.0 has another row.
_PREVIOUS_3_7: Mapping[MemberState, frozenset[MemberState]] = {
    _UNSUBSCRIBED: frozenset({_PREPARE_LEAVING, _LEAVING}),
    _PREPARE_LEAVING: _IN_GROUP | {_UNSUBSCRIBED, _FENCED},
    _STALE: _IN_GROUP,
}

_COMMITTING = frozenset({_UNSUBSCRIBED, _RECONCILING, _ACKNOWLEDGING, _STABLE, _PREPARE_LEAVING})
