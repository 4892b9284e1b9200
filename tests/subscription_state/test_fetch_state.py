"""The table of fetch states, every pair of states, and every way of a partition from one to the other."""

from __future__ import annotations

import itertools

import pytest

from assignor.errors import IllegalStateError
from assignor.subscription_state import AutoOffsetResetStrategy, FetchPosition, FetchState
from assignor.subscription_state.fetch_state import TABLE
from assignor.subscription_state.partition_state import PartitionState

INITIALIZING, FETCHING, AWAIT_RESET, AWAIT_VALIDATION = FetchState

# As Kafka 4.4.0's FetchStates say; the steps that are missing are ignored.
STEPS = {
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
    """A partition in that state, with everything that a step may change."""
    partition = PartitionState()
    partition.fetch_state = state
    partition.position = OLD if TABLE[state].requires_position else None
    partition.reset_strategy = EARLIEST
    partition.retry_at = 100
    return partition


def test_the_table_has_every_state_and_leads_to_no_other() -> None:
    assert set(FetchState) == set(TABLE)
    assert {(state, target) for state, rules in TABLE.items() for target in rules.next} == STEPS


def test_a_position_is_required_where_it_is_kept_and_valid_only_while_fetching() -> None:
    assert [FETCHING, AWAIT_VALIDATION] == [state for state in FetchState if TABLE[state].requires_position]
    assert [FETCHING] == [state for state in FetchState if TABLE[state].valid_position]


@pytest.mark.parametrize(("state", "target"), list(itertools.product(FetchState, FetchState)))
def test_a_step_is_taken_if_the_table_has_it_and_else_silently_ignored(state: FetchState, target: FetchState) -> None:
    partition = in_state(state)
    before = partition.position

    partition.transition(target, NEW, LATEST)

    if (state, target) in STEPS:
        position = NEW if TABLE[target].requires_position else None
        assert (target, position, LATEST, None) == what_a_step_changes(partition)
    else:
        assert (state, before, EARLIEST, 100) == what_a_step_changes(partition)


@pytest.mark.parametrize(("state", "target"), list(itertools.product(FetchState, FetchState)))
def test_a_step_without_the_position_that_it_requires_is_taken_and_an_error(
    state: FetchState, target: FetchState
) -> None:
    partition = in_state(state)

    if (state, target) in STEPS and TABLE[target].requires_position:
        with pytest.raises(IllegalStateError) as caught:
            partition.transition(target, None, LATEST)
        assert f"Transitioned subscription state to {target.name}, but position is null" == str(caught.value)
        assert (target, None, LATEST, None) == what_a_step_changes(partition)
    else:
        partition.transition(target, None, LATEST)


def what_a_step_changes(
    partition: PartitionState,
) -> tuple[FetchState, FetchPosition | None, AutoOffsetResetStrategy | None, int | None]:
    return partition.fetch_state, partition.position, partition.reset_strategy, partition.retry_at


def test_every_state_can_be_reached_and_only_the_first_is_never_reached_again() -> None:
    reached = {target for _, target in STEPS}

    assert {FETCHING, AWAIT_RESET, AWAIT_VALIDATION} == reached
