"""The member's table of transitions has no transition that Kafka's class forbids."""

from __future__ import annotations

import pytest

from assignor.errors import IllegalStateError
from assignor.member import MemberState
from assignor.member.state_machine import TRANSITIONS, Trigger, next_state

UNSUBSCRIBED, JOINING, RECONCILING, ACKNOWLEDGING, STABLE, FENCED, PREPARE_LEAVING, LEAVING, FATAL, STALE = MemberState

# Transitions that Kafka's `transitionTo` accepts and a member never takes.
NEVER_TAKEN = {
    (PREPARE_LEAVING, FENCED),
    (LEAVING, FENCED),
    (UNSUBSCRIBED, PREPARE_LEAVING),
    (JOINING, STABLE),
    (RECONCILING, STABLE),
}


@pytest.mark.parametrize("state", MemberState)
@pytest.mark.parametrize("trigger", Trigger)
def test_a_trigger_that_a_state_does_not_list_is_rejected(state: MemberState, trigger: Trigger) -> None:
    if trigger in TRANSITIONS[state]:
        assert TRANSITIONS[state][trigger] is next_state(state, trigger)
    else:
        with pytest.raises(
            IllegalStateError, match=rf"a member in {state.name} does not allow the trigger {trigger.name} "
        ):
            next_state(state, trigger)


def test_transitions_are_kafkas_without_those_that_are_never_taken() -> None:
    taken = {(state, after) for state, row in TRANSITIONS.items() for after in row.values() if after is not state}
    taken.add((RECONCILING, RECONCILING))
    allowed = {(before, state) for state in MemberState for before in state.previous_valid_states}

    assert set() == taken - allowed
    assert allowed - taken == NEVER_TAKEN


def test_fatal_is_the_only_state_that_a_member_cannot_leave() -> None:
    stuck = [state for state, row in TRANSITIONS.items() if {state} == set(row.values())]

    assert [FATAL] == stuck
