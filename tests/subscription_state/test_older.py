"""The interface of Kafka 0.9 and 0.10 on the subscription state."""

from __future__ import annotations

import numpy as np
import pytest

from assignor import SubscriptionState
from assignor.errors import (
    IllegalStateError,
    WrongTypeError,
)
from assignor.matching import TopicPattern
from assignor.subscription_state import (
    OffsetAndMetadata,
)
from tests.subscription_state.initial_states import T0, U0, assigned


def test_older_an_assignment_is_needed_after_a_change_of_topics_until_the_group_assigns() -> None:
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


def test_older_an_assignment_is_needed_after_unsubscribe_until_the_user_assigns() -> None:
    state = assigned(T0)

    state.unsubscribe()
    assert state.needs_partition_assignment
    state.assign_from_user([T0])
    assert not state.needs_partition_assignment
    state.need_reassignment()
    state.assign_from_user([T0])  # even one without a change
    assert not state.needs_partition_assignment


def test_older_failed_calls_do_not_change_the_need_of_an_assignment() -> None:
    state = assigned(T0)
    with pytest.raises(IllegalStateError):
        state.subscribe_to_share_group(["u"])
    assert not state.needs_partition_assignment

    state.need_reassignment()
    with pytest.raises(IllegalStateError):
        state.assign_from_user([T0])
    assert state.needs_partition_assignment


def test_older_need_reassignment_removes_group_topics_that_are_not_subscribed() -> None:
    state = SubscriptionState("latest")
    state.subscribe(["t"])
    assert {"t"} == state.group_subscription

    state.group_subscribe(["t", "u"])
    assert {"t", "u"} == state.group_subscription
    state.need_reassignment()
    assert {"t"} == state.group_subscription == state.metadata_topics()


def test_older_user_assignment_is_empty_if_a_group_assigns() -> None:
    state = assigned(T0)
    assert frozenset() == state.user_assignment

    state.unsubscribe()
    state.assign_from_user([T0, U0])
    assert {T0, U0} == state.user_assignment


def test_older_metadata_updates_the_topics_of_a_pattern() -> None:
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


def test_older_a_committed_offset_is_removed_with_the_assignment() -> None:
    state = assigned(T0, U0)
    state.set_committed(T0, OffsetAndMetadata(5))
    state.assign_from_subscribed([U0])
    state.assign_from_subscribed([T0, U0])
    state.set_committed(U0, OffsetAndMetadata(5))

    assert state.committed(T0) is None
    assert state.needs_fetch_committed_offsets


def test_older_internal_topics_are_matched_on_request() -> None:
    state = SubscriptionState("latest")
    state.subscribe(TopicPattern(".*"))

    assert state.update_from_metadata(["t", "__consumer_offsets"])
    assert {"t"} == state.subscription()
    assert state.update_from_metadata(["t", "__consumer_offsets"], include_internal=True)
    assert {"t", "__consumer_offsets"} == state.subscription()


def test_an_equal_partition_of_other_types_does_not_replace_the_assigned_one() -> None:
    state = assigned(T0, U0)

    state.move_partition_to_end(("t", np.int64(0)))  # type: ignore[arg-type]  # deliberately wrong type
    assert [U0, T0] == state.assigned_partitions_list()
    assert {int} == {type(tp.partition) for tp in state.assigned_partitions_list()}


def test_older_committed_offsets_are_fetched_initially_and_on_request() -> None:
    state = assigned(T0, U0)
    assert state.needs_fetch_committed_offsets

    state.set_committed(T0, OffsetAndMetadata(5, 1, "note"))
    assert OffsetAndMetadata(5, 1, "note") == state.committed(T0)
    assert state.needs_fetch_committed_offsets  # U0's offset has not arrived
    state.set_committed(U0, None)
    assert not state.needs_fetch_committed_offsets
    state.need_refresh_commits()
    state.set_committed(T0, None)
    assert state.needs_fetch_committed_offsets
    state.commits_refreshed()
    assert not state.needs_fetch_committed_offsets
    assert state.position(T0) is None  # a committed offset is not a position
    with pytest.raises(WrongTypeError, match="a committed offset must be an OffsetAndMetadata, not int: 5"):
        state.set_committed(T0, 5)
