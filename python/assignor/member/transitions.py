"""What takes a member from one state to another: one table, state by trigger.

A trigger is what an event comes to once the rest of the member has been looked at: a heartbeat sent is one thing where
it carried an acknowledgement and another where it was the goodbye. Everything that changes a state is in this table,
and `Member` changes its state in no other way. What a state does not list may not happen in it. A state that stays as
it is stands here too, where the trigger is allowed and means nothing: an error that comes after the member has left,
for one.

Each step to another state is one that Kafka's `transitionTo` lets pass (`MemberState.previous_valid_states`). Five that
it would let pass are never taken: PREPARE_LEAVING and LEAVING to FENCED (a member that is leaving anyway goes straight
to UNSUBSCRIBED), UNSUBSCRIBED to PREPARE_LEAVING (there is nothing to leave), and JOINING and RECONCILING to STABLE
(after a join the first assignment is always new, and what is being reconciled always differs from what was).
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from assignor.errors import IllegalStateError
from assignor.member.state import MemberState

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TRANSITIONS", "Trigger", "next_state"]


class Trigger(enum.Enum):
    """What can happen, in words that a diagram can carry."""

    SUBSCRIBED = "subscribed"
    """The application said what it subscribes to."""

    JOIN = "polled with a subscription"
    """The application polls, and a subscription is there."""

    ASSIGNED = "another assignment"
    """The coordinator gave an assignment that differs from the one in effect."""

    RECONCILED = "reconciled"
    """The assignment, or the part of it whose names are known, is in effect."""

    HEARTBEAT_SENT = "heartbeat sent"
    """A heartbeat went out that says nothing about the state."""

    ACKNOWLEDGED = "acknowledgement sent"
    """It acknowledged all there is to reconcile."""

    ACKNOWLEDGED_IN_PART = "acknowledgement sent, more to reconcile"
    """It acknowledged what was reconciled, and there is more by now."""

    LEAVE = "leave"
    """The application unsubscribes."""

    POLL_EXPIRED = "poll timer expired"
    """The application has not polled for too long."""

    RELEASED = "released"
    """The callbacks for the partitions given up came back."""

    REJOIN = "released and polled"
    """The application polls after it had not for too long, and its partitions are released."""

    LEFT = "leave sent"
    """The goodbye went out, or cannot go out as there is no coordinator."""

    LEFT_STALE = "leave sent, poll timer expired"
    """The same, and it was the poll timer that made the member leave."""

    FENCED = "fenced"
    """The coordinator does not know the member, or not at this epoch."""

    FAILED = "fatal error"
    """The coordinator, or the way to it, answered with an error that nothing can mend."""


def _stay(state: MemberState, *triggers: Trigger) -> dict[Trigger, MemberState]:
    return dict.fromkeys((Trigger.SUBSCRIBED, Trigger.HEARTBEAT_SENT, *triggers), state)


# What every state of a member that is in the group, or on its way in, has in common.
_IN_GROUP = {
    Trigger.ASSIGNED: MemberState.RECONCILING,
    Trigger.LEAVE: MemberState.PREPARE_LEAVING,
    Trigger.POLL_EXPIRED: MemberState.PREPARE_LEAVING,
    Trigger.FENCED: MemberState.FENCED,
    Trigger.FAILED: MemberState.FATAL,
}

TRANSITIONS: Mapping[MemberState, Mapping[Trigger, MemberState]] = {
    MemberState.UNSUBSCRIBED: {
        **_stay(MemberState.UNSUBSCRIBED, Trigger.LEAVE, Trigger.RELEASED, Trigger.FENCED),
        Trigger.JOIN: MemberState.JOINING,
        Trigger.FAILED: MemberState.FATAL,
    },
    MemberState.JOINING: {**_stay(MemberState.JOINING), **_IN_GROUP},
    MemberState.RECONCILING: {
        **_stay(MemberState.RECONCILING),
        **_IN_GROUP,
        Trigger.RECONCILED: MemberState.ACKNOWLEDGING,
    },
    MemberState.ACKNOWLEDGING: {
        **_stay(MemberState.ACKNOWLEDGING),
        **_IN_GROUP,
        Trigger.ACKNOWLEDGED: MemberState.STABLE,
        Trigger.ACKNOWLEDGED_IN_PART: MemberState.RECONCILING,
    },
    MemberState.STABLE: {**_stay(MemberState.STABLE), **_IN_GROUP},
    MemberState.FENCED: {
        **_stay(MemberState.FENCED, Trigger.FENCED, Trigger.FAILED),
        Trigger.RELEASED: MemberState.JOINING,
        Trigger.LEAVE: MemberState.UNSUBSCRIBED,
    },
    MemberState.PREPARE_LEAVING: {
        **_stay(MemberState.PREPARE_LEAVING, Trigger.LEAVE),
        Trigger.RELEASED: MemberState.LEAVING,
        Trigger.FENCED: MemberState.UNSUBSCRIBED,
        Trigger.FAILED: MemberState.FATAL,
    },
    MemberState.LEAVING: {
        **_stay(MemberState.LEAVING, Trigger.LEAVE),
        Trigger.LEFT: MemberState.UNSUBSCRIBED,
        Trigger.LEFT_STALE: MemberState.STALE,
        Trigger.FENCED: MemberState.UNSUBSCRIBED,
        Trigger.FAILED: MemberState.FATAL,
    },
    MemberState.FATAL: {
        Trigger.HEARTBEAT_SENT: MemberState.FATAL,
        Trigger.LEAVE: MemberState.FATAL,
        Trigger.RELEASED: MemberState.FATAL,
        Trigger.FENCED: MemberState.FATAL,
        Trigger.FAILED: MemberState.FATAL,
    },
    MemberState.STALE: {
        **_stay(MemberState.STALE, Trigger.LEAVE, Trigger.RELEASED, Trigger.FENCED, Trigger.FAILED),
        Trigger.REJOIN: MemberState.JOINING,
    },
}
"""The next state, by state and trigger; a trigger that a state does not list is not allowed in it."""


def next_state(state: MemberState, trigger: Trigger) -> MemberState:
    """Where a trigger takes a member.

    Raises:
        IllegalStateError: The state does not allow it.

    Example:
        >>> next_state(MemberState.RECONCILING, Trigger.RECONCILED).name
        'ACKNOWLEDGING'
    """
    found = TRANSITIONS[state].get(trigger)
    if found is None:
        raise IllegalStateError(f"a member in {state.name} does not allow: {trigger.value}")
    return found
