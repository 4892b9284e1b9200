"""Behaviour of the subscription state that the traces of the vectors do not show.

The vectors of the kind `subscription_state` prove everything else: they have all operations of Kafka's class, and the
whole visible state after each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from assignor import SubscriptionState, TopicPartition
from assignor.errors import IllegalStateError, NoOffsetForPartitionError, NullArgumentError
from assignor.matching import TopicPattern
from assignor.subscription_state import (
    EpochEndOffset,
    FetchPosition,
    LeaderAndEpoch,
    LogTruncation,
    OffsetAndMetadata,
    SubscriptionPattern,
)
from tests.subscription_state.initial_states import (
    CHECKED,
    COMMITTED,
    LEADER,
    NODE,
    OTHER,
    T0,
    T1,
    U0,
    UNCOMMITTED,
    assigned,
)


def test_the_client_never_matches_the_brokers_pattern() -> None:
    state = SubscriptionState("latest")
    assert not state.has_re2j_pattern_subscription()
    state.subscribe(SubscriptionPattern("t"))

    assert state.has_re2j_pattern_subscription()
    assert not state.matches_subscribed_pattern("t")
    assert not state.check_assignment_matched_subscription([T0])
    assert not state.is_assigned_from_re2j("id")
    state.set_assigned_topic_ids(["id"])
    assert state.is_assigned_from_re2j("id")
    assert {"id"} == state.assigned_topic_ids()
    state.unsubscribe()
    assert not state.is_assigned_from_re2j("id")


def test_collections_are_copied_in_and_out() -> None:
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
def test_the_pretty_string_shows_each_type(entered: Callable[[SubscriptionState], Any], text: str) -> None:
    state = SubscriptionState("latest")
    entered(state)

    assert text == state.pretty_string()
    assert f"<SubscriptionState {text}>" == repr(state)


def test_some_partitions_are_fetchable_if_one_is_that_the_predicate_accepts() -> None:
    state = assigned(T0)
    state.seek(T0, 0)
    assert state.has_fetchable_partitions()
    assert not state.has_fetchable_partitions(lambda _: False)

    state.mark_pending_on_assigned_callback([T0], True)
    assert not state.has_fetchable_partitions()
    state.mark_pending_on_assigned_callback([T0], False)
    assert state.has_fetchable_partitions(lambda tp: tp == T0)

    share = SubscriptionState("latest")
    share.subscribe_to_share_group(["t"])
    share.assign_from_subscribed([T0, T1])
    assert share.has_fetchable_partitions(lambda tp: tp == T0)
    assert not share.has_fetchable_partitions(lambda _: False)


def test_quirk_a_null_position_is_an_error_but_makes_the_partition_fetchable() -> None:
    state = assigned(T0)
    state.request_offset_reset(T0)

    with pytest.raises(IllegalStateError, match=r"^Transitioned subscription state to FETCHING, but position is null$"):
        state.seek_validated(T0, None)

    assert state.has_valid_position(T0)
    assert state.is_fetchable(T0)
    assert (None, None) == (state.position(T0), state.reset_strategy(T0))
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


def test_the_time_at_which_a_replica_expires_is_not_read_for_the_same_replica() -> None:
    state = assigned(T0)
    state.update_preferred_read_replica(T0, 3, lambda: 100)

    state.update_preferred_read_replica(T0, 3, lambda: pytest.fail("must not be called"))


@pytest.mark.parametrize(
    ("end", "divergent"),
    [
        (EpochEndOffset(3, 8), OffsetAndMetadata(8, 3)),
        (EpochEndOffset(), None),
        (EpochEndOffset(-1, 20), None),
        (EpochEndOffset(4, -1), None),
    ],
)
def test_without_a_reset_strategy_validation_reports_a_truncation(
    end: EpochEndOffset, divergent: OffsetAndMetadata | None
) -> None:
    state = assigned(T0, strategy="none")
    state.seek_unvalidated(T0, CHECKED)

    assert LogTruncation(T0, CHECKED, divergent) == state.maybe_complete_validation(T0, CHECKED, end)
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


def test_a_broker_with_another_address_is_another_leader() -> None:
    state = assigned(T0)
    state.seek_validated(T0, CHECKED)

    moved = LEADER._replace(leader=NODE._replace(host="elsewhere"))
    assert state.maybe_validate_position_for_current_leader(True, T0, moved)


def test_several_partitions_are_reset_only_with_a_strategy() -> None:
    state = assigned(T0, T1)

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


def test_plain_tuples_are_partitions() -> None:
    state = assigned(T1, U0, T0)

    state.move_partition_to_end(("t", 1))  # type: ignore[arg-type]  # as in user code

    assert [T0, U0, T1] == state.assigned_partitions_list()
    assert all(isinstance(tp, TopicPartition) for tp in state.assigned_partitions())
