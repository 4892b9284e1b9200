"""The consumer's subscription state: what one relies on, quirks of Kafka's class by name, the older design's view."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Collection
from typing import Any

import pytest

import assignor
from assignor import SubscriptionState, TopicPartition, errors
from assignor.errors import (
    AssignorError,
    IllegalArgumentError,
    IllegalStateError,
    NoOffsetForPartitionError,
    NullArgumentError,
    WrongTypeError,
)
from assignor.matching import TopicPattern
from assignor.subscription_state import (
    AutoOffsetResetStrategy,
    ConsumerRebalanceListener,
    EpochEndOffset,
    FetchPosition,
    IsolationLevel,
    LeaderAndEpoch,
    LogTruncation,
    Node,
    OffsetAndMetadata,
    SubscriptionPattern,
    SubscriptionType,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
NODE, OTHER = Node(1, "h1", 9092), Node(2, "h2", 9092)
LEADER = LeaderAndEpoch(NODE, 5)
CHECKED = FetchPosition(10, 4, LEADER)  # both epochs are known, so it is validated where it can be
EXCLUSIVE = "^Subscription to topics, partitions and pattern are mutually exclusive$"
NOT_ASSIGNED = "^No current assignment for partition u-0$"
COMMITTED, UNCOMMITTED = IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED


class Listener:
    """A listener to be told apart from others."""

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Nothing to do."""

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Nothing to do."""


def assigned(*partitions: TopicPartition, strategy: str = "latest") -> SubscriptionState:
    """A state to which a group has assigned these."""
    state = SubscriptionState(strategy)
    state.subscribe({tp.topic for tp in partitions})
    state.assign_from_subscribed(partitions)
    return state


# ---- types exclude each other

ENTRANCES: dict[SubscriptionType, Callable[[SubscriptionState], Any]] = {
    SubscriptionType.AUTO_TOPICS: lambda state: state.subscribe(["t"]),
    SubscriptionType.AUTO_PATTERN: lambda state: state.subscribe(TopicPattern("t")),
    SubscriptionType.AUTO_PATTERN_RE2J: lambda state: state.subscribe(SubscriptionPattern("t")),
    SubscriptionType.AUTO_TOPICS_SHARE: lambda state: state.subscribe_to_share_group(["t"]),
    SubscriptionType.USER_ASSIGNED: lambda state: state.assign_from_user([T0]),
}


@pytest.mark.parametrize("first", ENTRANCES)
@pytest.mark.parametrize("second", ENTRANCES)
def test_types_exclude_each_other_until_unsubscribe(first: SubscriptionType, second: SubscriptionType) -> None:
    state = SubscriptionState("latest")
    assert SubscriptionType.NONE is state.subscription_type
    ENTRANCES[first](state)
    assert first is state.subscription_type

    if first is not second:
        with pytest.raises(IllegalStateError, match=EXCLUSIVE):
            ENTRANCES[second](state)
        assert first is state.subscription_type
        state.unsubscribe()
        assert state.has_no_subscription_or_user_assignment()
    ENTRANCES[second](state)
    assert second is state.subscription_type


@pytest.mark.parametrize("entered", ENTRANCES)
def test_a_group_decides_with_every_type_but_the_users(entered: SubscriptionType) -> None:
    state = SubscriptionState("latest")
    ENTRANCES[entered](state)
    by_group = entered is not SubscriptionType.USER_ASSIGNED

    assert by_group is state.has_auto_assigned_partitions()
    assert (entered is SubscriptionType.AUTO_PATTERN) is state.has_pattern_subscription()
    assert (entered is SubscriptionType.AUTO_PATTERN_RE2J) is state.has_re2j_pattern_subscription()
    if by_group:
        state.group_subscribe(["t"])
        state.assign_from_subscribed([T0])
    else:
        with pytest.raises(IllegalStateError, match=EXCLUSIVE):
            state.group_subscribe(["t"])
        with pytest.raises(IllegalArgumentError, match=r"^Attempt to dynamically assign partitions while manual"):
            state.assign_from_subscribed([T0])


@pytest.mark.parametrize("entered", [SubscriptionType.NONE, *ENTRANCES])
def test_topics_come_from_a_pattern_only_where_one_is_matched_here(entered: SubscriptionType) -> None:
    state = SubscriptionState("latest")
    if entered is not SubscriptionType.NONE:
        ENTRANCES[entered](state)

    if entered is SubscriptionType.AUTO_PATTERN:
        assert state.subscribe_from_pattern(["t"])
        assert not state.subscribe_from_pattern(["t"])
    else:
        message = f"^Attempt to subscribe from pattern while subscription type set to {entered.name}$"
        with pytest.raises(IllegalArgumentError, match=message):
            state.subscribe_from_pattern(["t"])


# ---- quirks of Kafka's class, which are kept


def test_quirk_the_listener_is_stored_before_the_type_is_checked() -> None:
    first, second = Listener(), Listener()
    state = SubscriptionState("latest")
    state.subscribe(["t"], first)

    with pytest.raises(IllegalStateError, match=EXCLUSIVE):
        state.subscribe(TopicPattern(".*"), second)
    assert second is state.rebalance_listener()
    with pytest.raises(IllegalStateError, match=EXCLUSIVE):
        state.subscribe_to_share_group(["t"])
    assert state.rebalance_listener() is None


def test_quirk_unsubscribe_keeps_the_listener_and_the_brokers_pattern() -> None:
    listener = Listener()
    state = SubscriptionState("latest")
    state.subscribe(SubscriptionPattern("t.*"), listener)

    state.unsubscribe()

    assert listener is state.rebalance_listener()
    assert state.subscription_pattern() is None  # it is shown only while it is in use


def test_quirk_a_disallowed_fetch_transition_is_silently_ignored() -> None:
    state = assigned(T0)
    state.request_offset_reset(T0)

    state._states[T0].validate(CHECKED)  # no public method comes to it, in Kafka's class neither

    assert state.is_offset_reset_needed(T0)
    assert state.position(T0) is None


def test_quirk_a_null_position_is_an_error_and_fetched_from_all_the_same() -> None:
    state = assigned(T0)
    state.request_offset_reset(T0)

    with pytest.raises(IllegalStateError, match=r"^Transitioned subscription state to FETCHING, but position is null$"):
        state.seek_validated(T0, None)

    assert state.has_valid_position(T0)
    assert state.is_fetchable(T0)
    assert state.position(T0) is None
    assert state.reset_strategy(T0) is None
    with pytest.raises(NullArgumentError):
        state.all_consumed()


def test_quirk_a_null_position_can_be_set_on_a_valid_one() -> None:
    state = assigned(T0)
    state.seek(T0, 5)

    state.position(T0, None)

    assert state.has_valid_position(T0)
    assert state.valid_position(T0) is None
    assert state.partition_lag(T0, COMMITTED) is None
    state.complete_validation(T0)
    assert state.position(T0) is None


def test_quirk_the_lead_is_a_null_pointer_where_the_start_is_known_and_the_position_is_not() -> None:
    state = assigned(T0)
    assert state.partition_lead(T0) is None

    assert state.try_updating_log_start_offset(T0, 3)
    with pytest.raises(NullArgumentError):
        state.partition_lead(T0)
    state.seek(T0, 5)
    assert 2 == state.partition_lead(T0)


def test_quirk_a_negative_offset_is_sought_and_only_refused_when_it_is_to_be_committed() -> None:
    state = assigned(T0)
    state.seek(T0, -1)

    assert FetchPosition(-1) == state.position(T0)
    with pytest.raises(IllegalArgumentError, match=r"^Invalid negative offset$"):
        state.all_consumed()


def test_quirk_a_negative_epoch_is_kept_in_a_position_and_dropped_from_what_is_committed() -> None:
    state = assigned(T0)
    state.seek_validated(T0, FetchPosition(7, -2))

    assert FetchPosition(7, -2) == state.position(T0)
    assert {T0: OffsetAndMetadata(7)} == state.all_consumed()


def test_quirk_the_lease_of_the_same_replica_is_not_extended() -> None:
    state = assigned(T0)
    state.update_preferred_read_replica(T0, 3, lambda: 100)
    state.update_preferred_read_replica(T0, 3, lambda: pytest.fail("nobody is asked"))

    assert 3 == state.preferred_read_replica(T0, 100)
    assert state.preferred_read_replica(T0, 101) is None
    assert state.preferred_read_replica(T0, 100) is None  # forgotten for good
    assert state.clear_preferred_read_replica(T0) is None


def test_quirk_a_new_leader_drops_the_replica_and_leaves_its_lease() -> None:
    state = assigned(T0)
    state.seek(T0, 5)
    state.update_preferred_read_replica(T0, 3, lambda: 100)

    state.maybe_validate_position_for_current_leader(True, T0, LEADER)

    assert state.preferred_read_replica(T0, 0) is None
    assert 100 == state._states[T0].replica_expires


def test_quirk_marking_stops_at_the_first_partition_that_is_not_assigned() -> None:
    state = assigned(T0, T1)

    with pytest.raises(IllegalStateError, match=NOT_ASSIGNED):
        state.mark_pending_revocation([T0, U0, T1])

    assert [True, False] == [state._states[tp].pending_revocation for tp in (T0, T1)]


def test_quirk_an_added_partition_that_is_not_assigned_is_noticed_after_the_assignment() -> None:
    state = assigned(T0)

    with pytest.raises(IllegalStateError, match=NOT_ASSIGNED):
        state.assign_from_subscribed_awaiting_callback([T1], [U0])

    assert [T1] == state.assigned_partitions_list()


def test_quirk_an_assignment_by_the_group_is_not_checked_against_the_subscription() -> None:
    state = SubscriptionState("latest")
    state.subscribe(["t"])
    assert not state.check_assignment_matched_subscription([T0, U0])

    state.assign_from_subscribed([T0, U0])

    state.seek(T0, 0)
    state.seek(U0, 0)
    assert [T0] == state.fetchable_partitions()  # but one that is not subscribed is not fetched


def test_quirk_an_equal_assignment_by_the_group_still_counts() -> None:
    state = assigned(T0)
    assert 1 == state.assignment_id()

    state.assign_from_subscribed([T0])
    assert 2 == state.assignment_id()
    state.unsubscribe()
    state.unsubscribe()
    assert 4 == state.assignment_id()


def test_quirk_an_equal_assignment_by_the_user_sets_the_type_and_nothing_else() -> None:
    state = SubscriptionState("latest")

    assert not state.assign_from_user([])

    assert SubscriptionType.USER_ASSIGNED is state.subscription_type
    assert 0 == state.assignment_id()


def test_quirk_other_partitions_of_the_same_topics_are_no_change() -> None:
    state = SubscriptionState("latest")

    assert state.assign_from_user([T0])
    assert not state.assign_from_user([T1])
    assert state.assign_from_user([T1, U0])
    assert 3 == state.assignment_id()


def test_quirk_the_topics_of_a_user_assignment_are_metadata_topics_and_no_subscription() -> None:
    state = SubscriptionState("latest")
    state.assign_from_user([T0])

    assert frozenset() == state.subscription()
    assert {"t"} == state.metadata_topics()
    assert state.needs_metadata("t")
    assert state.check_assignment_matched_subscription([T1])


def test_quirk_a_share_group_fetches_whatever_the_state_if_all_are_asked_for() -> None:
    state = SubscriptionState("latest")
    state.subscribe_to_share_group(["t"])
    state.assign_from_subscribed([T0, T1])
    state.pause(T0)

    assert [T0, T1] == state.fetchable_partitions()
    assert state.has_fetchable_partitions(lambda tp: tp == T0)
    assert not state.is_fetchable(T1)


def test_quirk_what_awaits_the_listener_is_initialized_and_what_is_about_to_go_is_not() -> None:
    state = SubscriptionState("latest")
    state.subscribe(["t"])
    state.assign_from_subscribed_awaiting_callback([T0, T1], [T0])
    state.mark_pending_revocation([T1])

    assert {T0} == state.initializing_partitions()
    state.reset_initializing_positions()
    assert [True, False] == [state.is_offset_reset_needed(tp) for tp in (T0, T1)]


def test_quirk_without_a_named_strategy_even_none_is_asked_for() -> None:
    state = assigned(T0, strategy="none")

    state.request_offset_reset(T0)

    assert AutoOffsetResetStrategy.NONE == state.reset_strategy(T0)
    assert state.is_offset_reset_needed(T0)


def test_quirk_a_null_default_strategy_is_a_policy() -> None:
    state = SubscriptionState(None)
    state.assign_from_user([T0])

    assert state.has_default_offset_reset_policy()
    state.reset_initializing_positions()
    assert state.is_offset_reset_needed(T0)
    assert state.reset_strategy(T0) is None


def test_quirk_a_lag_goes_round_where_javas_long_does() -> None:
    state = assigned(T0)
    state.seek(T0, 2**63 - 1)
    state.update_high_watermark(T0, -2)

    assert 2**63 - 1 == state.partition_lag(T0, UNCOMMITTED)


# ---- positions, resets and validation


def test_a_partition_that_is_not_assigned_is_an_error_or_nothing() -> None:
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


def test_positions_and_pauses_stay_with_partitions_that_stay() -> None:
    state = assigned(T0, T1)
    state.seek(T0, 7)
    state.pause(T0)

    state.assign_from_subscribed([T0, U0])
    assert (7, True) == (state.position(T0).offset, state.is_paused(T0))  # type: ignore[union-attr]

    state.assign_from_subscribed([U0])
    state.assign_from_subscribed([T0])
    assert (None, False) == (state.position(T0), state.is_paused(T0))


def test_the_group_gives_the_order_and_topics_stay_together() -> None:
    state = assigned(T1, U0, T0)
    assert [T1, T0, U0] == state.assigned_partitions_list()

    state.move_partition_to_end(T1)
    assert [T0, U0, T1] == state.assigned_partitions_list()
    state.move_partition_to_end(("t", 0))  # type: ignore[arg-type]
    assert [U0, T1, T0] == state.assigned_partitions_list()
    assert all(isinstance(tp, TopicPartition) for tp in state.assigned_partitions())


def test_a_position_is_validated_where_both_epochs_are_known() -> None:
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
def test_a_leaders_answer_moves_on_goes_back_or_reports_a_truncation(strategy: str) -> None:
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


def test_an_answer_about_another_position_is_out_of_date() -> None:
    state = assigned(T0)
    state.seek_unvalidated(T0, CHECKED)

    assert state.maybe_complete_validation(T0, FetchPosition(10, 4), EpochEndOffset(4, 10)) is None
    assert state.awaiting_validation(T0)


def test_a_leader_that_cannot_be_asked_is_followed_without_validation() -> None:
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
    assert [2] == asked  # nobody is asked about nobody
    assert state.maybe_validate_position_for_current_leader(True, T0, LEADER)
    assert state.maybe_validate_position_for_current_leader(True, T0, LEADER)
    state.complete_validation(T0)
    assert not state.maybe_validate_position_for_current_leader(True, T0, LEADER)


def test_a_broker_under_another_address_is_another_leader() -> None:
    state = assigned(T0)
    state.seek_validated(T0, CHECKED)

    moved = LEADER._replace(leader=NODE._replace(host="elsewhere"))
    assert state.maybe_validate_position_for_current_leader(True, T0, moved)


def test_the_answer_to_a_reset_counts_while_the_same_reset_is_awaited() -> None:
    state = assigned(T0)
    state.maybe_seek_unvalidated(T0, FetchPosition(3), "latest")
    assert state.position(T0) is None

    state.request_offset_reset(T0, "earliest")
    state.maybe_seek_unvalidated(T0, FetchPosition(3), "latest")
    assert state.is_offset_reset_needed(T0)
    state.maybe_seek_unvalidated(T0, FetchPosition(3), "earliest")
    assert FetchPosition(3) == state.valid_position(T0)
    state.request_offset_reset(T0, "earliest")
    state.maybe_seek_unvalidated(T0, FetchPosition(4), None)  # whatever strategy
    assert FetchPosition(4) == state.valid_position(T0)


def test_several_partitions_are_reset_at_once() -> None:
    state = assigned(T0, T1)

    state.request_offset_reset([T0, T1], AutoOffsetResetStrategy.EARLIEST)

    assert {T0, T1} == state.partitions_needing_reset(0)
    with pytest.raises(NullArgumentError, match="several partitions need a strategy"):
        state.request_offset_reset([T0, T1])  # type: ignore[call-overload]


def test_without_a_strategy_the_partitions_without_an_offset_are_listed_as_java_lists_them() -> None:
    partitions = [TopicPartition(topic, id) for topic in ("orders", "b") for id in (2, 0, 1)]
    state = assigned(*partitions, strategy="none")

    with pytest.raises(NoOffsetForPartitionError) as caught:
        state.reset_initializing_positions(lambda tp: tp.partition != 1)

    message = "Undefined offset with no reset policy for partitions: [b-2, b-0, orders-0, orders-2]"
    assert message == str(caught.value)
    assert {tp for tp in partitions if tp.partition != 1} == caught.value.partitions
    assert set(partitions) == state.initializing_partitions()


def test_what_failed_is_left_alone_until_it_may_be_repeated() -> None:
    state = assigned(T0, T1)
    state.request_offset_reset(T0)
    state.seek_unvalidated(T1, CHECKED)
    state.set_next_allowed_retry([T0, T1], 100)

    assert (set(), {}) == (state.partitions_needing_reset(99), state.partitions_needing_validation(99))
    assert ({T0}, {T1: CHECKED}) == (state.partitions_needing_reset(100), state.partitions_needing_validation(100))
    state.request_failed([T0, U0], 200)
    assert set() == state.partitions_needing_reset(100)
    state.complete_validation(T1)
    assert state._states[T1].retry_at is None


def test_the_end_is_the_high_watermark_or_the_last_stable_offset() -> None:
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


def test_something_is_fetched_unless_anything_speaks_against_it() -> None:
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


# ---- topics and patterns


def test_a_pattern_has_to_match_the_whole_name() -> None:
    state = SubscriptionState("latest")
    state.subscribe(TopicPattern("t|uv"))

    assert [True, False, True] == [state.matches_subscribed_pattern(topic) for topic in ("t", "u", "uv")]
    assert state.check_assignment_matched_subscription([T0])
    assert not state.check_assignment_matched_subscription([T0, U0])


def test_the_brokers_pattern_is_never_matched_here() -> None:
    state = SubscriptionState("latest")
    state.subscribe(SubscriptionPattern("t"))

    assert SubscriptionPattern("t") == state.subscription_pattern()
    assert not state.matches_subscribed_pattern("t")
    assert not state.check_assignment_matched_subscription([T0])
    assert not state.is_assigned_from_re2j("id")
    state.set_assigned_topic_ids(["id"])
    assert state.is_assigned_from_re2j("id")
    assert {"id"} == state.assigned_topic_ids()
    state.unsubscribe()
    assert not state.is_assigned_from_re2j("id")


def test_metadata_are_needed_of_ones_own_topics_and_of_the_groups() -> None:
    state = SubscriptionState("latest")
    state.subscribe(["t"])

    assert not state.group_subscribe(["t"])
    assert state.group_subscribe(["u"])
    assert {"t", "u"} == state.metadata_topics()
    assert {"t"} == state.subscription()
    state.group_subscribe(["v"])  # replaces
    assert {"t", "v"} == state.metadata_topics()
    state.reset_group_subscription()
    assert {"t"} == state.metadata_topics()
    assert not state.needs_metadata("v")


def test_what_is_given_is_copied() -> None:
    topics, partitions = {"t"}, [T0]
    state = SubscriptionState("latest")
    state.subscribe(topics)
    state.assign_from_subscribed(partitions)

    topics.add("u")
    partitions.append(T1)
    state.assigned_partitions().clear()
    state.assigned_partitions_list().clear()

    assert {"t"} == state.subscription()
    assert [T0] == state.assigned_partitions_list()


@pytest.mark.parametrize(
    ("entered", "text"),
    [
        (bool, "None"),
        (lambda state: state.subscribe(["b", "a"]), "Subscribe(a,b)"),
        (lambda state: state.subscribe(TopicPattern("a.*")), "Subscribe(a.*)"),
        (lambda state: state.subscribe(SubscriptionPattern("r.*")), "Subscribe(r.*)"),
        (lambda state: state.subscribe_to_share_group(["b", "a"]), "Subscribe to Share Group(a,b)"),
        (lambda state: state.assign_from_user([U0, T0]), "Assign([t-0, u-0] , id=1)"),
    ],
)
def test_the_pretty_string_has_a_form_for_each_type(entered: Callable[[SubscriptionState], Any], text: str) -> None:
    state = SubscriptionState("latest")
    entered(state)

    assert text == state.pretty_string()
    assert f"<SubscriptionState {text}>" == repr(state)


# ---- the older design's view


def test_older_an_assignment_is_needed_from_a_change_of_topics_until_it_is_made() -> None:
    state = SubscriptionState("latest")
    assert not state.needs_partition_assignment

    state.subscribe(["t"])
    assert state.needs_partition_assignment
    state.assign_from_subscribed([T0])
    assert not state.needs_partition_assignment
    state.subscribe(["t"])
    assert not state.needs_partition_assignment  # no change
    state.subscribe(["t", "u"])
    assert state.needs_partition_assignment
    state.assign_from_subscribed_awaiting_callback([T0], [T0])
    assert not state.needs_partition_assignment
    state.need_reassignment()
    assert state.needs_partition_assignment


def test_older_unsubscribing_needs_an_assignment_and_the_user_makes_one() -> None:
    state = assigned(T0)

    state.unsubscribe()
    assert state.needs_partition_assignment
    state.assign_from_user([T0])
    assert not state.needs_partition_assignment
    state.need_reassignment()
    state.assign_from_user([T0])  # even one without a change
    assert not state.needs_partition_assignment


def test_older_what_fails_needs_no_assignment_and_makes_none() -> None:
    state = assigned(T0)
    with pytest.raises(IllegalStateError):
        state.subscribe_to_share_group(["u"])
    assert not state.needs_partition_assignment

    state.need_reassignment()
    with pytest.raises(IllegalStateError):
        state.assign_from_user([T0])
    assert state.needs_partition_assignment


def test_older_the_group_grows_by_the_leaders_topics_and_shrinks_to_ones_own() -> None:
    state = SubscriptionState("latest")
    state.subscribe(["t"])
    assert {"t"} == state.group_subscription

    state.group_subscribe(["t", "u"])
    assert {"t", "u"} == state.group_subscription
    state.need_reassignment()
    assert {"t"} == state.group_subscription == state.metadata_topics()


def test_older_the_assignment_of_the_user_is_told_apart() -> None:
    state = assigned(T0)
    assert frozenset() == state.user_assignment

    state.unsubscribe()
    state.assign_from_user([T0, U0])
    assert {T0, U0} == state.user_assignment


def test_older_metadata_change_what_a_pattern_subscribes_to() -> None:
    state = SubscriptionState("latest")
    assert not state.update_from_metadata(["t"])
    state.subscribe(TopicPattern("t.?"))

    assert state.update_from_metadata(["t", "t1", "other"])
    assert {"t", "t1"} == state.subscription()
    assert state.needs_partition_assignment
    state.assign_from_subscribed([T0])
    assert not state.update_from_metadata(["another", "t1", "t"])
    assert not state.needs_partition_assignment
    assert state.update_from_metadata([])
    assert frozenset() == state.subscription()


def test_older_committed_offsets_are_fetched_at_first_and_when_they_are_asked_for() -> None:
    state = assigned(T0, U0)
    assert state.needs_fetch_committed_offsets

    state.set_committed(T0, OffsetAndMetadata(5, 1, "note"))
    assert OffsetAndMetadata(5, 1, "note") == state.committed(T0)
    assert state.needs_fetch_committed_offsets  # the other one's has not arrived
    state.set_committed(U0, None)
    assert not state.needs_fetch_committed_offsets
    state.need_refresh_commits()
    state.set_committed(T0, None)
    assert state.needs_fetch_committed_offsets
    state.commits_refreshed()
    assert not state.needs_fetch_committed_offsets
    assert state.position(T0) is None  # a committed offset is no position
    with pytest.raises(WrongTypeError, match="a committed offset must be an OffsetAndMetadata, not int: 5"):
        state.set_committed(T0, 5)


# ---- bad input names the thing and changes nothing


def odd(value: Any) -> Any:
    """A value of the wrong type, unseen by the type checker."""
    return value


BAD = [
    (lambda state: state.subscribe("t"), "subscribe: topics must be an iterable of topic names, not str: 't'"),
    (lambda state: state.subscribe(None), "subscribe: topics must be an iterable of topic names, not None"),
    (lambda state: state.subscribe(["t", 5]), "subscribe: a topic must be a str, not int: 5"),
    (lambda state: state.subscribe(["t"], "me"), "a listener must be an object with on_partitions_revoked and"),
    (lambda state: state.subscribe_from_pattern("t"), "subscribe_from_pattern: topics must be"),
    (lambda state: state.subscribe_to_share_group(7), "subscribe_to_share_group: topics must be an iterable of topic"),
    (lambda state: state.group_subscribe("t"), "group_subscribe: topics must be an iterable of topic names, not str"),
    (lambda state: state.assign_from_user("t-0"), "assign_from_user: partitions must be an iterable of"),
    (lambda state: state.assign_from_user(T0), "assign_from_user: a partition must be a (topic, partition) tuple"),
    (lambda state: state.assign_from_subscribed(5), "assign_from_subscribed: partitions must be an iterable of"),
    (lambda state: state.assign_from_subscribed([T1, "t-0"]), "assign_from_subscribed: a partition must be a (topic,"),
    (lambda state: state.assign_from_subscribed([("t", "0")]), "assign_from_subscribed: a partition id must be an int"),
    (lambda state: state.assign_from_subscribed([("t", -1)]), "a partition id cannot be negative: -1"),
    (
        lambda state: state.assign_from_subscribed([("t", 2**31)]),
        "a partition id cannot be over 2147483647: 2147483648",
    ),
    (lambda state: state.assign_from_subscribed([("\ud800", 0)]), "a topic has a lone surrogate"),
    (
        lambda state: state.assign_from_subscribed_awaiting_callback([T1], "t-1"),
        "assign_from_subscribed_awaiting_callback: partitions must be an iterable",
    ),
    (
        lambda state: state.seek("t-0", 5),
        "SubscriptionState: a partition must be a (topic, partition) tuple, not str: 't-0'",
    ),
    (
        lambda state: state.seek(["t", 0], 5),
        "SubscriptionState: a partition must be a (topic, partition) tuple, not list",
    ),
    (
        lambda state: state.is_paused(None),
        "SubscriptionState: a partition must be a (topic, partition) tuple, not None",
    ),
    (lambda state: state.seek(T0, "5"), "an offset to seek must be an int, not str: '5'"),
    (lambda state: state.seek(T0, None), "an offset to seek must be an int, not None"),
    (lambda state: state.seek(T0, 2**63), "an offset to seek cannot be over 9223372036854775807: 9223372036854775808"),
    (lambda state: state.seek_validated(T0, 5), "a position must be a FetchPosition, not int: 5"),
    (
        lambda state: state.seek_validated(T0, FetchPosition(odd(1.5))),
        "a position's offset must be an int, not float: 1.5",
    ),
    (
        lambda state: state.seek_validated(T0, FetchPosition(1, odd("4"))),
        "a position's epoch must be an int, not str: '4'",
    ),
    (
        lambda state: state.seek_validated(T0, FetchPosition(1, 4, odd(None))),
        "a leader must be a LeaderAndEpoch, not None",
    ),
    (
        lambda state: state.seek_validated(T0, FetchPosition(1, 4, LeaderAndEpoch(odd(1), 5))),
        "a leader's node must be a Node, not int: 1",
    ),
    (
        lambda state: state.seek_validated(T0, FetchPosition(1, 4, LeaderAndEpoch(NODE, 2**31))),
        "a leader's epoch cannot be over 2147483647",
    ),
    (lambda state: state.maybe_seek_unvalidated(T0, CHECKED, "soon"), "Unknown auto offset reset strategy: soon"),
    (lambda state: state.request_offset_reset(T0, "soon"), "Unknown auto offset reset strategy: soon"),
    (lambda state: state.request_offset_reset(T0, 5), "auto offset reset strategy must be a str, not int: 5"),
    (lambda state: state.partition_lag(T0, "read_committed"), "an isolation level must be an IsolationLevel, not str"),
    (lambda state: state.update_high_watermark(T0, 1.0), "a high watermark must be an int, not float: 1.0"),
    (lambda state: state.update_last_stable_offset(T0, True), "a last stable offset must be an int, not bool: True"),
    (lambda state: state.try_updating_log_start_offset(T0, None), "a log start offset must be an int, not None"),
    (lambda state: state.update_preferred_read_replica(T0, 2**31, lambda: 1), "a preferred replica cannot be over"),
    (
        lambda state: state.update_preferred_read_replica(T0, 1, lambda: None),
        "the time at which a preferred replica expires must be an int, not None",
    ),
    (lambda state: state.preferred_read_replica(T0, "now"), "now must be an int, not str: 'now'"),
    (lambda state: state.set_next_allowed_retry([T0], None), "set_next_allowed_retry: next_allowed must be an int"),
    (lambda state: state.request_failed([T0], 1.5), "request_failed: next_retry must be an int, not float: 1.5"),
    (lambda state: state.partitions_needing_reset(None), "partitions_needing_reset: now must be an int, not None"),
    (lambda state: state.maybe_complete_validation(T0, CHECKED, (1, 2)), "an epoch's end must be an EpochEndOffset"),
    (
        lambda state: state.maybe_validate_position_for_current_leader(True, T0, NODE),
        "a leader must be a LeaderAndEpoch, not Node",
    ),
    (lambda state: state.needs_metadata(5), "needs_metadata: topic must be a str, not int: 5"),
    (lambda state: state.matches_subscribed_pattern(None), "matches_subscribed_pattern: topic must be a str, not None"),
    (lambda state: state.update_from_metadata("t"), "update_from_metadata: topics must be an iterable"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_names_the_thing_and_changes_nothing(call: Callable[[Any], Any], message: str) -> None:
    state = assigned(T0)
    state.seek(T0, 3)
    before = pickle.dumps(state)

    with pytest.raises(AssignorError, match=re.escape(message)) as caught:
        call(state)

    assert isinstance(caught.value, (ValueError, TypeError))
    assert before == pickle.dumps(state)


def test_numbers_of_numpy_are_numbers() -> None:
    import numpy as np

    state = SubscriptionState("latest")
    state.assign_from_user([("t", np.int64(3))])  # type: ignore[list-item]
    state.seek(("t", np.int32(3)), np.int64(5))  # type: ignore[arg-type]

    (tp,) = state.assigned_partitions_list()
    assert (int, int) == (type(tp.partition), type(state.position(tp).offset))  # type: ignore[union-attr]


def test_a_state_can_be_copied_and_pickled() -> None:
    state = assigned(T0, T1)
    state.seek_unvalidated(T0, CHECKED)
    for twin in (copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert {T0: CHECKED} == twin.partitions_needing_validation(0)
        twin.pause(T1)
        assert not state.is_paused(T1)


def test_listeners_of_the_python_clients_fit() -> None:
    kafka = pytest.importorskip("kafka.consumer.subscription_state")
    aiokafka = pytest.importorskip("aiokafka.abc")

    assert isinstance(Listener(), ConsumerRebalanceListener)
    assert issubclass(kafka.ConsumerRebalanceListener, ConsumerRebalanceListener)
    assert issubclass(aiokafka.ConsumerRebalanceListener, ConsumerRebalanceListener)


def test_the_class_is_loaded_when_it_is_first_asked_for() -> None:
    ask = (
        "import sys, assignor; print('assignor.subscription_state' in sys.modules, assignor.SubscriptionState.__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)

    assert "False SubscriptionState\n" == ran.stdout
    assert "SubscriptionState" in assignor.__all__
    assert errors.NoOffsetForPartitionError is NoOffsetForPartitionError
