"""Positions of a consumer in its partitions, resets and validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assignor import SubscriptionState, TopicPartition
from assignor.errors import (
    IllegalArgumentError,
    IllegalStateError,
    NoOffsetForPartitionError,
    NullArgumentError,
)
from assignor.subscription_state import (
    AutoOffsetResetStrategy,
    EpochEndOffset,
    FetchPosition,
    LeaderAndEpoch,
    LogTruncation,
    OffsetAndMetadata,
)
from tests.subscription_state.initial_states import (
    CHECKED,
    COMMITTED,
    LEADER,
    NODE,
    NOT_ASSIGNED,
    OTHER,
    T0,
    T1,
    U0,
    UNCOMMITTED,
    assigned,
)


def test_methods_raise_or_do_nothing_if_the_partition_is_not_assigned() -> None:
    state = assigned(T0)
    asked: list[Callable[[], Any]] = [
        lambda: state.seek(U0, 1),
        lambda: state.seek_validated(U0, CHECKED),
        lambda: state.seek_unvalidated(U0, CHECKED),
        lambda: state.position(U0),
        lambda: state.position(U0, CHECKED),
        lambda: state.valid_position(U0),
        lambda: state.pause(U0),
        lambda: state.resume(U0),
        lambda: state.request_offset_reset(U0),
        lambda: state.request_offset_reset([U0], "latest"),
        lambda: state.is_offset_reset_needed(U0),
        lambda: state.reset_strategy(U0),
        lambda: state.awaiting_validation(U0),
        lambda: state.complete_validation(U0),
        lambda: state.partition_lag(U0, COMMITTED),
        lambda: state.partition_lead(U0),
        lambda: state.partition_end_offset(U0, COMMITTED),
        lambda: state.request_partition_end_offset(U0),
        lambda: state.partition_end_offset_requested(U0),
        lambda: state.update_high_watermark(U0, 1),
        lambda: state.update_last_stable_offset(U0, 1),
        lambda: state.update_preferred_read_replica(U0, 1, lambda: 1),
        lambda: state.set_next_allowed_retry([U0], 1),
        lambda: state.mark_pending_revocation([U0]),
        lambda: state.enable_partitions_awaiting_callback([U0]),
        lambda: state.committed(U0),
        lambda: state.set_committed(U0, None),
    ]
    for ask in asked:
        with pytest.raises(IllegalStateError, match=NOT_ASSIGNED):
            ask()
    answers = [
        state.is_assigned(U0),
        state.is_paused(U0),
        state.is_fetchable(U0),
        state.has_valid_position(U0),
        state.try_updating_high_watermark(U0, 1),
        state.try_updating_last_stable_offset(U0, 1),
        state.try_updating_log_start_offset(U0, 1),
        state.try_updating_preferred_read_replica(U0, 1, lambda: 1),
        state.maybe_clear_partition_end_offset_requested(U0),
        state.maybe_validate_position_for_current_leader(True, U0, LEADER),
    ]
    assert [False] * len(answers) == answers
    assert state.position_or_null(U0) is None
    assert state.preferred_read_replica(U0, 0) is None
    assert state.clear_preferred_read_replica(U0) is None
    assert state.maybe_complete_validation(U0, CHECKED, EpochEndOffset(1, 1)) is None
    state.maybe_seek_unvalidated(U0, CHECKED, "latest")
    state.request_failed([U0], 1)
    state.request_offset_reset_if_partition_assigned(U0)
    state.move_partition_to_end(U0)
    assert [T0] == state.assigned_partitions_list()


def test_positions_and_pauses_are_kept_for_partitions_that_stay() -> None:
    state = assigned(T0, T1)
    state.seek(T0, 7)
    state.pause(T0)

    state.assign_from_subscribed([T0, U0])
    assert (7, True) == (state.position(T0).offset, state.is_paused(T0))  # type: ignore[union-attr]  # as in user code

    state.assign_from_subscribed([U0])
    state.assign_from_subscribed([T0])
    assert (None, False) == (state.position(T0), state.is_paused(T0))


def test_fetch_order_is_that_of_the_group_grouped_by_topic() -> None:
    state = assigned(T1, U0, T0)
    assert [T1, T0, U0] == state.assigned_partitions_list()

    state.move_partition_to_end(T1)
    assert [T0, U0, T1] == state.assigned_partitions_list()
    state.move_partition_to_end(("t", 0))  # type: ignore[arg-type]  # as in user code
    assert [U0, T1, T0] == state.assigned_partitions_list()
    assert all(isinstance(tp, TopicPartition) for tp in state.assigned_partitions())


def test_a_position_is_validated_if_both_epochs_are_known() -> None:
    state = assigned(T0)
    for position in (FetchPosition(5), FetchPosition(5, 4), FetchPosition(5, None, LEADER)):
        state.seek_unvalidated(T0, position)
        assert not state.awaiting_validation(T0)

    state.seek_unvalidated(T0, CHECKED)
    assert state.awaiting_validation(T0)
    assert (CHECKED, None) == (state.position(T0), state.valid_position(T0))
    assert {T0: CHECKED} == state.partitions_needing_validation(0)
    with pytest.raises(IllegalStateError, match=r"^Cannot set a new position without a valid current position$"):
        state.position(T0, CHECKED)


@pytest.mark.parametrize("strategy", ["latest", "none"])
def test_validation_keeps_or_moves_the_position_requests_a_reset_or_reports_a_truncation(strategy: str) -> None:
    def after(answer: EpochEndOffset) -> tuple[SubscriptionState, LogTruncation | None]:
        state = assigned(T0, strategy=strategy)
        state.seek_unvalidated(T0, CHECKED)
        return state, state.maybe_complete_validation(T0, CHECKED, answer)

    state, truncation = after(EpochEndOffset(4, 10))
    assert (CHECKED, None) == (state.valid_position(T0), truncation)
    state, truncation = after(EpochEndOffset(3, 8))
    if strategy == "none":
        assert LogTruncation(T0, CHECKED, OffsetAndMetadata(8, 3)) == truncation
        assert state.awaiting_validation(T0)
    else:
        assert (FetchPosition(8, 3, LEADER), None) == (state.valid_position(T0), truncation)
    for unknown in (EpochEndOffset(), EpochEndOffset(-1, 20), EpochEndOffset(4, -1)):
        state, truncation = after(unknown)
        if strategy == "none":
            assert LogTruncation(T0, CHECKED, None) == truncation
        else:
            assert state.is_offset_reset_needed(T0)
    if strategy == "none":
        with pytest.raises(IllegalArgumentError, match=r"^Invalid negative offset$"):
            after(EpochEndOffset(3, -2))


def test_an_answer_about_another_position_is_ignored() -> None:
    state = assigned(T0)
    state.seek_unvalidated(T0, CHECKED)

    assert state.maybe_complete_validation(T0, FetchPosition(10, 4), EpochEndOffset(4, 10)) is None
    assert state.awaiting_validation(T0)


def test_a_position_is_not_validated_if_the_new_leader_does_not_support_validation() -> None:
    state = assigned(T0)
    state.seek_unvalidated(T0, CHECKED)
    asked: list[int] = []

    def too_old(node: int) -> bool:
        asked.append(node)
        return False

    moved = LeaderAndEpoch(OTHER, 6)
    assert not state.maybe_validate_position_for_current_leader(too_old, T0, moved)
    assert ([2], FetchPosition(10, 4, moved)) == (asked, state.valid_position(T0))
    assert not state.maybe_validate_position_for_current_leader(too_old, T0, LeaderAndEpoch(None, 7))
    assert [2] == asked  # not called without a leader
    assert state.maybe_validate_position_for_current_leader(True, T0, LEADER)
    assert state.maybe_validate_position_for_current_leader(True, T0, LEADER)
    state.complete_validation(T0)
    assert not state.maybe_validate_position_for_current_leader(True, T0, LEADER)


def test_a_broker_with_another_address_is_another_leader() -> None:
    state = assigned(T0)
    state.seek_validated(T0, CHECKED)

    moved = LEADER._replace(leader=NODE._replace(host="elsewhere"))
    assert state.maybe_validate_position_for_current_leader(True, T0, moved)


def test_the_answer_to_a_reset_applies_only_to_the_reset_that_is_awaited() -> None:
    state = assigned(T0)
    state.maybe_seek_unvalidated(T0, FetchPosition(3), "latest")
    assert state.position(T0) is None

    state.request_offset_reset(T0, "earliest")
    state.maybe_seek_unvalidated(T0, FetchPosition(3), "latest")
    assert state.is_offset_reset_needed(T0)
    state.maybe_seek_unvalidated(T0, FetchPosition(3), "earliest")
    assert FetchPosition(3) == state.valid_position(T0)
    state.request_offset_reset(T0, "earliest")
    state.maybe_seek_unvalidated(T0, FetchPosition(4), None)  # for any strategy
    assert FetchPosition(4) == state.valid_position(T0)


def test_several_partitions_are_reset_in_one_call() -> None:
    state = assigned(T0, T1)

    state.request_offset_reset([T0, T1], AutoOffsetResetStrategy.EARLIEST)

    assert {T0, T1} == state.partitions_needing_reset(0)
    with pytest.raises(NullArgumentError, match="several partitions require a strategy"):
        state.request_offset_reset([T0, T1])  # type: ignore[call-overload]  # as in user code


def test_without_a_strategy_partitions_without_an_offset_are_listed_in_javas_order() -> None:
    partitions = [TopicPartition(topic, id) for topic in ("orders", "b") for id in (2, 0, 1)]
    state = assigned(*partitions, strategy="none")

    with pytest.raises(NoOffsetForPartitionError) as caught:
        state.reset_initializing_positions(lambda tp: tp.partition != 1)

    message = "Undefined offset with no reset policy for partitions: [b-2, b-0, orders-0, orders-2]"
    assert message == str(caught.value)
    assert {tp for tp in partitions if tp.partition != 1} == caught.value.partitions
    assert set(partitions) == state.initializing_partitions()


def test_failed_requests_are_not_repeated_before_their_retry_time() -> None:
    state = assigned(T0, T1)
    state.request_offset_reset(T0)
    state.seek_unvalidated(T1, CHECKED)
    state.set_next_allowed_retry([T0, T1], 100)

    assert (set(), {}) == (state.partitions_needing_reset(99), state.partitions_needing_validation(99))
    assert ({T0}, {T1: CHECKED}) == (state.partitions_needing_reset(100), state.partitions_needing_validation(100))
    state.request_failed([T0, U0], 200)
    assert set() == state.partitions_needing_reset(100)
    state.complete_validation(T1)
    assert state._assignment.partitions[T1].retry_at is None


def test_the_end_offset_is_the_high_watermark_or_the_last_stable_offset() -> None:
    state = assigned(T0)
    state.seek(T0, 10)
    assert (None, None) == (state.partition_lag(T0, COMMITTED), state.partition_lag(T0, UNCOMMITTED))
    state.request_partition_end_offset(T0)
    assert state.partition_end_offset_requested(T0)

    state.update_high_watermark(T0, 30)
    assert not state.partition_end_offset_requested(T0)
    state.update_last_stable_offset(T0, 25)
    assert (15, 20) == (state.partition_lag(T0, COMMITTED), state.partition_lag(T0, UNCOMMITTED))
    assert (25, 30) == (state.partition_end_offset(T0, COMMITTED), state.partition_end_offset(T0, UNCOMMITTED))
    state.request_partition_end_offset(T0)
    assert state.maybe_clear_partition_end_offset_requested(T0)
    assert not state.maybe_clear_partition_end_offset_requested(T0)


def test_a_partition_with_a_position_is_fetchable_unless_it_is_paused_or_pending() -> None:
    state = assigned(T0)
    assert not state.is_fetchable(T0)
    state.seek(T0, 0)
    assert state.is_fetchable(T0)

    state.pause(T0)
    assert ({T0}, []) == (state.paused_partitions(), state.fetchable_partitions())
    state.resume(T0)
    state.mark_pending_on_assigned_callback([T0], True)
    assert not state.is_fetchable(T0)
    state.enable_partitions_awaiting_callback([T0])
    assert state.is_fetchable(T0)
    assert not state.has_fetchable_partitions(lambda _: False)
    state.mark_pending_revocation([T0])
    assert not state.has_fetchable_partitions()
