"""Quirks of Kafka's own class that are kept, one test each."""

from __future__ import annotations

import pytest

from assignor import SubscriptionState
from assignor.errors import (
    IllegalArgumentError,
    IllegalStateError,
    NullArgumentError,
)
from assignor.matching import TopicPattern
from assignor.subscription_state import (
    AutoOffsetResetStrategy,
    FetchPosition,
    OffsetAndMetadata,
    SubscriptionPattern,
    SubscriptionType,
)
from tests.subscription_state.initial_states import (
    CHECKED,
    COMMITTED,
    EXCLUSIVE,
    LEADER,
    NOT_ASSIGNED,
    T0,
    T1,
    U0,
    UNCOMMITTED,
    Listener,
    assigned,
)


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
    assert state.subscription_pattern() is None  # returned only while its type is in use


def test_quirk_a_disallowed_fetch_transition_is_silently_ignored() -> None:
    state = assigned(T0)
    state.request_offset_reset(T0)

    state._assignment.partitions[T0].validate(CHECKED)  # no public method of this class or of Kafka's class does this

    assert state.is_offset_reset_needed(T0)
    assert state.position(T0) is None


def test_quirk_a_null_position_is_an_error_but_makes_the_partition_fetchable() -> None:
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


def test_quirk_a_null_position_can_replace_a_valid_position() -> None:
    state = assigned(T0)
    state.seek(T0, 5)

    state.position(T0, None)

    assert state.has_valid_position(T0)
    assert state.valid_position(T0) is None
    assert state.partition_lag(T0, COMMITTED) is None
    state.complete_validation(T0)
    assert state.position(T0) is None


def test_quirk_the_lead_raises_an_error_if_only_the_log_start_is_known() -> None:
    state = assigned(T0)
    assert state.partition_lead(T0) is None

    assert state.try_updating_log_start_offset(T0, 3)
    with pytest.raises(NullArgumentError):
        state.partition_lead(T0)
    state.seek(T0, 5)
    assert 2 == state.partition_lead(T0)


def test_quirk_a_negative_offset_is_accepted_by_seek_and_rejected_for_commits() -> None:
    state = assigned(T0)
    state.seek(T0, -1)

    assert FetchPosition(-1) == state.position(T0)
    with pytest.raises(IllegalArgumentError, match=r"^Invalid negative offset$"):
        state.all_consumed()


def test_quirk_a_negative_epoch_is_kept_in_a_position_and_dropped_for_commits() -> None:
    state = assigned(T0)
    state.seek_validated(T0, FetchPosition(7, -2))

    assert FetchPosition(7, -2) == state.position(T0)
    assert {T0: OffsetAndMetadata(7)} == state.all_consumed()


def test_quirk_the_lease_of_the_same_replica_is_not_extended() -> None:
    state = assigned(T0)
    state.update_preferred_read_replica(T0, 3, lambda: 100)
    state.update_preferred_read_replica(T0, 3, lambda: pytest.fail("must not be called"))

    assert 3 == state.preferred_read_replica(T0, 100)
    assert state.preferred_read_replica(T0, 101) is None
    assert state.preferred_read_replica(T0, 100) is None  # removed when it expired
    assert state.clear_preferred_read_replica(T0) is None


def test_quirk_a_new_leader_drops_the_replica_and_leaves_its_lease() -> None:
    state = assigned(T0)
    state.seek(T0, 5)
    state.update_preferred_read_replica(T0, 3, lambda: 100)

    state.maybe_validate_position_for_current_leader(True, T0, LEADER)

    assert state.preferred_read_replica(T0, 0) is None
    assert 100 == state._assignment.partitions[T0].replica_expires


def test_quirk_marking_stops_at_the_first_partition_that_is_not_assigned() -> None:
    state = assigned(T0, T1)

    with pytest.raises(IllegalStateError, match=NOT_ASSIGNED):
        state.mark_pending_revocation([T0, U0, T1])

    assert [True, False] == [state._assignment.partitions[tp].pending_revocation for tp in (T0, T1)]


def test_quirk_an_unassigned_added_partition_is_detected_after_the_assignment() -> None:
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
    assert [T0] == state.fetchable_partitions()  # a partition of an unsubscribed topic is not fetched


def test_quirk_an_equal_assignment_by_the_group_increments_the_id() -> None:
    state = assigned(T0)
    assert 1 == state.assignment_id()

    state.assign_from_subscribed([T0])
    assert 2 == state.assignment_id()
    state.unsubscribe()
    state.unsubscribe()
    assert 4 == state.assignment_id()


def test_quirk_an_equal_assignment_by_the_user_sets_only_the_type() -> None:
    state = SubscriptionState("latest")

    assert not state.assign_from_user([])

    assert SubscriptionType.USER_ASSIGNED is state.subscription_type
    assert 0 == state.assignment_id()


def test_quirk_a_user_assignment_of_other_partitions_of_the_same_topics_reports_no_change() -> None:
    state = SubscriptionState("latest")

    assert state.assign_from_user([T0])
    assert not state.assign_from_user([T1])
    assert state.assign_from_user([T1, U0])
    assert 3 == state.assignment_id()


def test_quirk_the_topics_of_a_user_assignment_need_metadata_but_are_not_subscribed() -> None:
    state = SubscriptionState("latest")
    state.assign_from_user([T0])

    assert frozenset() == state.subscription()
    assert {"t"} == state.metadata_topics()
    assert state.needs_metadata("t")
    assert state.check_assignment_matched_subscription([T1])


def test_quirk_a_share_group_lists_all_assigned_partitions_as_fetchable() -> None:
    state = SubscriptionState("latest")
    state.subscribe_to_share_group(["t"])
    state.assign_from_subscribed([T0, T1])
    state.pause(T0)

    assert [T0, T1] == state.fetchable_partitions()
    assert state.has_fetchable_partitions(lambda tp: tp == T0)
    assert not state.is_fetchable(T1)


def test_quirk_partitions_awaiting_the_listener_are_initialized_but_not_those_being_revoked() -> None:
    state = SubscriptionState("latest")
    state.subscribe(["t"])
    state.assign_from_subscribed_awaiting_callback([T0, T1], [T0])
    state.mark_pending_revocation([T1])

    assert {T0} == state.initializing_partitions()
    state.reset_initializing_positions()
    assert [True, False] == [state.is_offset_reset_needed(tp) for tp in (T0, T1)]


def test_quirk_without_a_strategy_argument_the_default_is_used_even_if_it_is_none() -> None:
    state = assigned(T0, strategy="none")

    state.request_offset_reset(T0)

    assert AutoOffsetResetStrategy.NONE == state.reset_strategy(T0)
    assert state.is_offset_reset_needed(T0)


def test_quirk_a_null_default_strategy_counts_as_a_reset_policy() -> None:
    state = SubscriptionState(None)
    state.assign_from_user([T0])

    assert state.has_default_offset_reset_policy()
    state.reset_initializing_positions()
    assert state.is_offset_reset_needed(T0)
    assert state.reset_strategy(T0) is None


def test_quirk_the_lag_overflows_like_javas_long() -> None:
    state = assigned(T0)
    state.seek(T0, 2**63 - 1)
    state.update_high_watermark(T0, -2)

    assert 2**63 - 1 == state.partition_lag(T0, UNCOMMITTED)
