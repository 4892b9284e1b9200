"""The two tables of a classic group: transitions between states, and answers to requests."""

from __future__ import annotations

import itertools

import pytest

from assignor.coordinator import ErrorCode, GroupState, HeartbeatRequest
from assignor.coordinator.coordinator import REQUEST_HANDLERS, TIMER_HANDLERS
from assignor.coordinator.requests import VERSIONS
from assignor.coordinator.state import ANSWERS, TRANSITIONS, Action, GroupEvent, RequestKind, next_state
from assignor.coordinator.timers import TimerKind
from assignor.errors import IllegalStateError

KAFKAS_PREDECESSORS = {
    "EMPTY": {"PREPARING_REBALANCE"},
    "PREPARING_REBALANCE": {"STABLE", "COMPLETING_REBALANCE", "EMPTY"},
    "COMPLETING_REBALANCE": {"PREPARING_REBALANCE"},
    "STABLE": {"COMPLETING_REBALANCE"},
    "DEAD": {"STABLE", "PREPARING_REBALANCE", "COMPLETING_REBALANCE", "EMPTY", "DEAD"},
}
"""`ClassicGroupState.validPreviousStates` of Kafka 4.3.1."""


def test_the_states_are_kafkas_five_with_the_names_of_its_tools() -> None:
    assert ["Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"] == [
        state.value for state in GroupState
    ]


def test_awaiting_sync_is_the_old_name_of_completing_rebalance() -> None:
    assert GroupState.COMPLETING_REBALANCE is GroupState["AWAITING_SYNC"]


def test_predecessors_of_each_state_equal_kafkas() -> None:
    found = {state.name: {before.name for before in state.previous_valid_states} for state in GroupState}

    assert KAFKAS_PREDECESSORS == found


@pytest.mark.parametrize(("state", "event"), list(itertools.product(GroupState, GroupEvent)))
def test_an_event_that_a_state_does_not_list_is_rejected(state: GroupState, event: GroupEvent) -> None:
    if event in TRANSITIONS[state]:
        assert TRANSITIONS[state][event] is next_state(state, event)
    else:
        match = rf"event {event.name} .* cannot occur in a group in state {state.value}"
        with pytest.raises(IllegalStateError, match=match):
            next_state(state, event)


def test_every_state_answers_every_request() -> None:
    assert set(itertools.product(GroupState, RequestKind)) == {
        (state, kind) for state, row in ANSWERS.items() for kind in row
    }


def test_requests_to_a_dead_group_except_delete_get_coordinator_not_available() -> None:
    gone = {kind: answer for kind, answer in ANSWERS[GroupState.DEAD].items() if kind is not RequestKind.DELETE}

    assert {ErrorCode.COORDINATOR_NOT_AVAILABLE} == set(gone.values())


def test_every_action_is_the_answer_of_some_state() -> None:
    assert set(Action) == {answer for row in ANSWERS.values() for answer in row.values() if isinstance(answer, Action)}


def test_every_request_and_every_timer_has_a_handler() -> None:
    assert set(VERSIONS) == {HeartbeatRequest, *REQUEST_HANDLERS}
    assert set(TimerKind) == set(TIMER_HANDLERS)
