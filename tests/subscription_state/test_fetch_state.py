"""The table of fetch states, and every transition of a partition between two states."""

from __future__ import annotations

import itertools
from contextlib import nullcontext

import pytest

from assignor.errors import IllegalStateError
from assignor.subscription_state import AutoOffsetResetStrategy, FetchPosition, FetchState
from assignor.subscription_state.fetch_state import TABLE
from assignor.subscription_state.partition_state import PartitionState

INITIALIZING, FETCHING, AWAIT_RESET, AWAIT_VALIDATION = FetchState

# Transitions of FetchStates in Kafka 4.4.0; others are ignored.
TRANSITIONS = {
    (INITIALIZING, FETCHING),
    (INITIALIZING, AWAIT_RESET),
    (INITIALIZING, AWAIT_VALIDATION),
    (FETCHING, FETCHING),
    (FETCHING, AWAIT_RESET),
    (FETCHING, AWAIT_VALIDATION),
    (AWAIT_RESET, FETCHING),
    (AWAIT_RESET, AWAIT_RESET),
    (AWAIT_VALIDATION, FETCHING),
    (AWAIT_VALIDATION, AWAIT_RESET),
    (AWAIT_VALIDATION, AWAIT_VALIDATION),
}

OLD, NEW = FetchPosition(1), FetchPosition(2)
EARLIEST, LATEST = AutoOffsetResetStrategy.EARLIEST, AutoOffsetResetStrategy.LATEST


def in_state(state: FetchState) -> PartitionState:
    """Return a partition in this state, with a value in every field that a transition may change."""
    partition = PartitionState()
    partition.fetch_state = state
    partition.position = OLD if TABLE[state].requires_position else None
    partition.reset_strategy = EARLIEST
    partition.retry_at = 100
    return partition


def test_the_table_has_every_state_and_transition() -> None:
    assert set(FetchState) == set(TABLE)
    assert {(state, target) for state, rules in TABLE.items() for target in rules.next} == TRANSITIONS


def test_positions_are_required_in_two_states_and_valid_only_while_fetching() -> None:
    assert [FETCHING, AWAIT_VALIDATION] == [state for state in FetchState if TABLE[state].requires_position]
    assert [FETCHING] == [state for state in FetchState if TABLE[state].valid_position]


@pytest.mark.parametrize("given", [NEW, None], ids=["with a position", "without a position"])
@pytest.mark.parametrize(("state", "target"), list(itertools.product(FetchState, FetchState)))
def test_a_transition_is_ignored_if_the_table_does_not_list_it_and_fails_late_without_a_required_position(
    state: FetchState, target: FetchState, given: FetchPosition | None
) -> None:
    partition = in_state(state)
    expected: tuple[object, ...] = (state, partition.position, EARLIEST, 100)
    if (state, target) in TRANSITIONS:
        expected = (target, given if TABLE[target].requires_position else None, LATEST, None)
    fails = (state, target) in TRANSITIONS and TABLE[target].requires_position and given is None

    with pytest.raises(IllegalStateError, match=f"to {target.name}, but position is null") if fails else nullcontext():
        partition.transition(target, given, LATEST)

    assert expected == (partition.fetch_state, partition.position, partition.reset_strategy, partition.retry_at)
