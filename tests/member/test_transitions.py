"""The member's table of transitions: every state with every trigger, and no transition that Kafka's class forbids."""

from __future__ import annotations

import pytest

from assignor.errors import IllegalStateError
from assignor.member import MemberState
from assignor.member.state_machine import TRANSITIONS, Trigger, next_state

UNSUBSCRIBED, JOINING, RECONCILING, ACKNOWLEDGING, STABLE, FENCED, PREPARE_LEAVING, LEAVING, FATAL, STALE = MemberState
IN_GROUP = {JOINING, RECONCILING, ACKNOWLEDGING, STABLE}

# Transitions that Kafka's `transitionTo` accepts and a member never takes.
NEVER_TAKEN = {
    (PREPARE_LEAVING, FENCED),
    (LEAVING, FENCED),
    (UNSUBSCRIBED, PREPARE_LEAVING),
    (JOINING, STABLE),
    (RECONCILING, STABLE),
}

# The same table by trigger: the next state for each state that allows the trigger.
LEADS = {
    Trigger.SUBSCRIBED: {state: state for state in MemberState if state is not FATAL},
    Trigger.JOIN: {UNSUBSCRIBED: JOINING},
    Trigger.ASSIGNED: dict.fromkeys(IN_GROUP, RECONCILING),
    Trigger.RECONCILED: {RECONCILING: ACKNOWLEDGING},
    Trigger.HEARTBEAT_SENT: {state: state for state in MemberState},
    Trigger.ACKNOWLEDGED: {ACKNOWLEDGING: STABLE},
    Trigger.ACKNOWLEDGED_IN_PART: {ACKNOWLEDGING: RECONCILING},
    Trigger.LEAVE: dict.fromkeys(IN_GROUP, PREPARE_LEAVING)
    | {FENCED: UNSUBSCRIBED}
    | {state: state for state in (UNSUBSCRIBED, PREPARE_LEAVING, LEAVING, FATAL, STALE)},
    Trigger.POLL_EXPIRED: dict.fromkeys(IN_GROUP, PREPARE_LEAVING),
    Trigger.RELEASED: {PREPARE_LEAVING: LEAVING, FENCED: JOINING}
    | {state: state for state in (UNSUBSCRIBED, FATAL, STALE)},
    Trigger.REJOIN: {STALE: JOINING},
    Trigger.LEFT: {LEAVING: UNSUBSCRIBED},
    Trigger.LEFT_STALE: {LEAVING: STALE},
    Trigger.FENCED: dict.fromkeys(IN_GROUP, FENCED)
    | {PREPARE_LEAVING: UNSUBSCRIBED, LEAVING: UNSUBSCRIBED}
    | {state: state for state in (UNSUBSCRIBED, FENCED, FATAL, STALE)},
    Trigger.FAILED: dict.fromkeys([*IN_GROUP, PREPARE_LEAVING, LEAVING, UNSUBSCRIBED, FATAL], FATAL)
    | {FENCED: FENCED, STALE: STALE},
}


@pytest.mark.parametrize("state", MemberState)
@pytest.mark.parametrize("trigger", Trigger)
def test_every_state_and_trigger_is_as_listed(state: MemberState, trigger: Trigger) -> None:
    wanted = LEADS[trigger].get(state)
    if wanted is None:
        match = rf"a member in {state.name} does not allow the trigger {trigger.name} "
        with pytest.raises(IllegalStateError, match=match):
            next_state(state, trigger)

    assert wanted is TRANSITIONS[state].get(trigger)
    assert wanted is None or wanted is next_state(state, trigger)


def test_transitions_are_kafkas_without_those_that_are_never_taken() -> None:
    taken = {(state, after) for state, row in TRANSITIONS.items() for after in row.values() if after is not state}
    taken.add((RECONCILING, RECONCILING))
    allowed = {(before, state) for state in MemberState for before in state.previous_valid_states}

    assert set() == taken - allowed
    assert allowed - taken == NEVER_TAKEN


def test_fatal_is_the_only_state_that_a_member_cannot_leave() -> None:
    stuck = [state for state, row in TRANSITIONS.items() if {state} == set(row.values())]

    assert [FATAL] == stuck
