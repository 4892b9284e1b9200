"""Invalid input is rejected by name without a change; numpy numbers, pickling and listeners work."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import assignor
from assignor import SubscriptionState, errors
from assignor.errors import (
    AssignorError,
    NoOffsetForPartitionError,
)
from assignor.subscription_state import (
    ConsumerRebalanceListener,
    FetchPosition,
    LeaderAndEpoch,
)
from tests.subscription_state.initial_states import CHECKED, NODE, T0, T1, Listener, assigned


def untyped(value: Any) -> Any:
    """Return a value of a wrong type, hidden from the type checker."""
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
        lambda state: state.seek_validated(T0, FetchPosition(untyped(1.5))),
        "a position's offset must be an int, not float: 1.5",
    ),
    (
        lambda state: state.seek_validated(T0, FetchPosition(1, untyped("4"))),
        "a position's epoch must be an int, not str: '4'",
    ),
    (
        lambda state: state.seek_validated(T0, FetchPosition(1, 4, untyped(None))),
        "a leader must be a LeaderAndEpoch, not None",
    ),
    (
        lambda state: state.seek_validated(T0, FetchPosition(1, 4, LeaderAndEpoch(untyped(1), 5))),
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
def test_invalid_input_is_rejected_by_name_and_changes_nothing(call: Callable[[Any], Any], message: str) -> None:
    state = assigned(T0)
    state.seek(T0, 3)
    before = pickle.dumps(state)

    with pytest.raises(AssignorError, match=re.escape(message)) as caught:
        call(state)

    assert isinstance(caught.value, (ValueError, TypeError))
    assert before == pickle.dumps(state)


def test_numpy_numbers_are_accepted() -> None:
    import numpy as np

    state = SubscriptionState("latest")
    state.assign_from_user([("t", np.int64(3))])  # type: ignore[list-item]  # deliberately wrong type
    state.seek(("t", np.int32(3)), np.int64(5))  # type: ignore[arg-type]  # deliberately wrong type

    (tp,) = state.assigned_partitions_list()
    assert (int, int) == (type(tp.partition), type(state.position(tp).offset))  # type: ignore[union-attr]  # deliberately wrong type


def test_a_state_can_be_copied_and_pickled() -> None:
    state = assigned(T0, T1)
    state.seek_unvalidated(T0, CHECKED)
    for clone in (copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        assert {T0: CHECKED} == clone.partitions_needing_validation(0)
        clone.pause(T1)
        assert not state.is_paused(T1)


def test_listeners_of_the_python_clients_are_compatible() -> None:
    kafka = pytest.importorskip("kafka.consumer.subscription_state")
    aiokafka = pytest.importorskip("aiokafka.abc")

    assert isinstance(Listener(), ConsumerRebalanceListener)
    assert issubclass(kafka.ConsumerRebalanceListener, ConsumerRebalanceListener)
    assert issubclass(aiokafka.ConsumerRebalanceListener, ConsumerRebalanceListener)


def test_the_class_is_loaded_on_first_use() -> None:
    program = (
        "import sys, assignor; print('assignor.subscription_state' in sys.modules, assignor.SubscriptionState.__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "False SubscriptionState\n" == ran.stdout
    assert "SubscriptionState" in assignor.__all__
    assert errors.NoOffsetForPartitionError is NoOffsetForPartitionError
