"""Stuck members of a watch: members that stop committing although records wait, and those that have nothing to read."""

from __future__ import annotations

import pyarrow as pa
import pytest

from assignor.cluster.log import LogEnd
from assignor.replay.conditions import Conditions
from assignor.replay.stuck_members import confirm
from assignor.replay.watch_state import WatchState
from assignor.replay.watcher import Watcher
from tests.live.stuck import COMMITTED, DEADLINE, INTERVAL, LAST, Measuring, silent
from tests.live.test_watcher import LATER, batch, commit, generation

WAIT = 10 * INTERVAL
"""Milliseconds for which records wait until the member is stuck."""


def stuck(watcher: Watcher) -> set[str]:
    return watcher.conditions.groups["billing"].stuck


def test_a_silent_member_is_stuck_when_records_have_waited_for_ten_intervals() -> None:
    watcher = silent(cluster="blue")
    lag = Measuring(watcher)

    assert ([], LAST + 3_000 + WAIT) == lag.measure(LAST + 3_000, COMMITTED + 1)
    assert ([], LAST + 3_000 + WAIT) == lag.measure(LAST + 3_000 + WAIT - 1, COMMITTED + 90)
    assert set() == stuck(watcher)
    (event,), due = lag.measure(LAST + 3_000 + WAIT, COMMITTED + 90)

    assert due is None
    assert ("blue", "billing", "m", None) == (event["cluster"], event["group"], event["member"], event["until"])
    assert (LAST, LAST + 3_000 + WAIT, INTERVAL) == (event["since"], event["at"], event["usual_interval_ms"])
    assert {"m"} == stuck(watcher)
    assert ([], None) == lag.measure(LAST + 9_000 + WAIT, COMMITTED + 90)


def test_a_stuck_member_is_found_within_ten_intervals_and_one_measurement() -> None:
    watcher = silent()
    lag = Measuring(watcher)
    for at in range(LAST + 9_000, DEADLINE + 9_000, 10_000):  # the first measurement is almost 10 s after the commit
        found, due = lag.measure(at, COMMITTED + 50)
        assert found == []

    assert due is not None
    assert due <= DEADLINE + 10_000
    assert 1 == len(lag.measure(due, COMMITTED + 50)[0])


def test_a_member_without_records_to_read_is_not_stuck() -> None:
    watcher = silent()
    lag = Measuring(watcher)

    for at in range(LAST, LAST + 10 * WAIT, 10_000):
        assert ([], None) == lag.measure(at, COMMITTED)
    assert set() == stuck(watcher)


def test_a_member_that_reads_a_late_record_in_time_is_not_stuck() -> None:
    watcher = silent()
    lag = Measuring(watcher)
    lag.measure(DEADLINE, COMMITTED)
    assert ([], DEADLINE + 1_000 + WAIT) == lag.measure(DEADLINE + 1_000, COMMITTED + 1)
    late = DEADLINE + 1_000 + INTERVAL
    assert [] == watcher.push(batch(commit(50, late, COMMITTED + 1)), {3: 51}, received=late)
    assert ([], None) == lag.measure(DEADLINE + 1_000 + WAIT, COMMITTED + 1)


def test_a_wait_ends_when_the_lag_is_0_and_begins_again() -> None:
    lag = Measuring(silent())
    lag.measure(LAST + 1_000, COMMITTED + 1)
    lag.measure(LAST + 2_000, COMMITTED)

    assert ([], LAST + 3_000 + WAIT) == lag.measure(LAST + 3_000, COMMITTED + 1)


def test_a_wait_begins_anew_when_the_broker_of_the_records_answers_again() -> None:
    lag = Measuring(silent())

    assert ([], LAST + 1_000 + WAIT) == lag.measure(LAST + 1_000, COMMITTED + 1)
    assert ([], None) == lag.measure(LAST + 1_000 + WAIT, None)
    assert ([], LAST + 2_000 + 2 * WAIT) == lag.measure(LAST + 2_000 + WAIT, COMMITTED + 1)


def test_a_wait_begins_anew_after_a_time_without_measurements() -> None:
    lag = Measuring(silent())
    lag.measure(LAST + 1_000, COMMITTED + 1)

    assert ([], LATER + WAIT) == lag.measure(LATER, COMMITTED + 1)


@pytest.mark.parametrize("has_moved", [True, False])
def test_a_wait_begins_anew_when_the_coordinator_answers_again(has_moved: bool) -> None:
    watcher = silent()
    lag = Measuring(watcher)
    lag.measure(LAST + 1_000, COMMITTED + 1)
    lost = LAST + WAIT
    if has_moved:
        for broker in (1, 2, 2):
            watcher.observe_leaders({3: broker}, lost)
    else:
        watcher.interrupt([3], lost)
    watcher.interrupt([4], lost + 9_000)

    assert ([], lost + WAIT) == lag.measure(LAST + 1_000 + WAIT, COMMITTED + 1)
    assert 1 == len(lag.measure(lost + WAIT, COMMITTED + 1)[0])


@pytest.mark.parametrize(
    ("waiting", "due"), [((0,), LAST + WAIT), ((1,), LAST + 12 * WAIT), ((0, 1), LAST + WAIT), ((2,), LAST + WAIT)]
)
def test_records_wait_for_ten_usual_intervals_of_their_partition(waiting: tuple[int, ...], due: int) -> None:
    conditions = Conditions()
    silent_member = {
        "event": "stuck",
        "group": "g",
        "cluster": "",
        "member": "m",
        "until": None,
        "topic_partitions": [["t", 0], ["t", 1], ["t", 2]],
        "usual_interval_ms": INTERVAL,
        "partition_intervals_ms": [INTERVAL, 12 * INTERVAL, None],
    }
    conditions.apply([silent_member])
    rows = [{"group_id": "g", "topic": "t", "partition": each, "waiting_since": LAST} for each in waiting]
    table = pa.Table.from_pylist(rows)

    assert ([], due) == confirm(conditions, table, due - 1, {})
    assert ["m"] == [event["member"] for event in confirm(conditions, table, due, {})[0]]


def test_deleted_records_do_not_wait() -> None:
    lag = Measuring(silent())

    assert ([], None) == lag.measure(LAST + 1_000, COMMITTED + 5, start=COMMITTED + 5)
    assert ([], LAST + 2_000 + WAIT) == lag.measure(LAST + 2_000, COMMITTED + 6, start=COMMITTED + 5)


@pytest.mark.parametrize("is_confirmed", [True, False])
@pytest.mark.parametrize("is_restarted", [True, False])
def test_the_end_is_reported_if_the_beginning_was(is_confirmed: bool, is_restarted: bool) -> None:
    watcher = silent()
    lag = Measuring(watcher)
    if is_confirmed:
        lag.measure(LAST + 1_000, COMMITTED + 1)
        lag.measure(LAST + 1_000 + WAIT, COMMITTED + 1)
    if is_restarted:
        watcher = Watcher(state=WatchState.from_bytes(watcher.state("c").to_bytes()))
    assert is_confirmed == bool(stuck(watcher))

    found = watcher.push(batch(commit(50, LATER + 5_000, COMMITTED + 1)), {3: 51}, received=LATER + 5_000)

    assert [(LAST, LATER + 5_000)] * is_confirmed == [(event["since"], event["until"]) for event in found]
    assert set() == stuck(watcher)
    assert {} == watcher.conditions.groups["billing"].silent


def test_a_candidate_is_kept_across_a_restart() -> None:
    watcher = silent()
    restarted = Watcher(state=WatchState.from_bytes(watcher.state("c").to_bytes()))
    lag = Measuring(restarted)

    lag.measure(DEADLINE + 1_000, COMMITTED + 1)
    (event,), _ = lag.measure(DEADLINE + 1_000 + WAIT, COMMITTED + 1)

    assert (LAST, "m", [["orders", 0]]) == (event["since"], event["member"], event["topic_partitions"])


def test_a_silent_member_of_the_first_reading_is_a_candidate() -> None:
    watcher = Watcher()
    rows = [commit(number, number * INTERVAL) for number in range(1, 13)]
    watcher.push(batch(generation(0, 1_000, 1), *rows), {3: 13})
    watcher.settle({3: LogEnd(13, 13)}, LATER)
    watcher.start()

    assert ["m"] == list(watcher.conditions.groups["billing"].silent)
    lag = Measuring(watcher)
    lag.measure(LATER, COMMITTED + 1)
    assert 1 == len(lag.measure(LATER + WAIT, COMMITTED + 1)[0])
