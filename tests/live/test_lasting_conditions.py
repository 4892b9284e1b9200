"""Long rebalances and growing lag of a watch: when they begin and end, and what is neither."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor.lag import partition_lag
from assignor.replay.conditions import Conditions
from assignor.replay.growing_lag import (
    MOST_MEASUREMENTS,
    UNKNOWN_INTERVAL_MS,
    GroupMeasurement,
    GrowingLag,
    note_growth,
)
from assignor.replay.lag_progress import LagProgress
from assignor.replay.long_rebalances import DEFAULT_TIMEOUT_MS, LongRebalances
from assignor.replay.watch_state import WatchState
from assignor.replay.watcher import Watcher
from tests.live.test_watcher import batch, generation, record, started
from tests.replay.logs import member
from tests.support.record_bytes import write_record

if TYPE_CHECKING:
    from collections.abc import Sequence

STEP = 10_000
"""Milliseconds between two measurements or polls."""


class Rebalancing:
    """Polls of the groups in a rebalance, 10 s apart, for a rebalance timeout of 60 s."""

    def __init__(self) -> None:
        self.conditions = Conditions()
        self.at = 0
        self._rebalances = LongRebalances()

    def poll(self, *groups: str, times: int = 1, **generation: str) -> list[str]:
        """Return the sentences of some polls."""
        found: list[str] = []
        for _ in range(times):
            self._rebalances.note({"event": "generation", "group": group} for group in generation.values())
            found += self._rebalances.observe(self.at, groups, lambda _: 60_000, self.conditions)
            self.at += STEP
        return found


def test_a_rebalance_that_exceeds_the_rebalance_timeout_is_long_until_it_ends() -> None:
    polls = Rebalancing()

    assert [] == polls.poll("billing", times=7)
    assert [
        "group billing has been in a rebalance since 1970-01-01 00:00:00.000, longer than its largest rebalance "
        "timeout of 60.0 s"
    ] == polls.poll("billing", times=5)
    assert 0 == polls.conditions.groups["billing"].rebalancing_since
    assert polls.conditions.groups["billing"].is_problem
    assert ["the rebalance of group billing is over after 2 min"] == polls.poll()
    assert polls.conditions.groups["billing"].rebalancing_since is None
    assert [] == polls.poll(times=9)


def test_rebalances_that_end_are_not_long() -> None:
    polls = Rebalancing()

    assert [] == polls.poll("billing", times=6) + polls.poll() + polls.poll("billing", times=7)


def test_a_group_that_rebalances_again_and_again_has_no_long_rebalance() -> None:
    polls = Rebalancing()

    assert [] == polls.poll("billing", times=30, generation="billing")
    assert 1 == len(polls.poll("billing", times=30, generation="other"))


def test_a_time_without_answers_is_no_rebalance() -> None:
    polls = Rebalancing()
    assert [] == polls.poll("billing", times=3)
    polls.at += 3_600_000

    assert [] == polls.poll("billing", times=7)
    assert 1 == len(polls.poll("billing"))


def timeouts(*values: int) -> dict[str, Any]:
    """Return the record of a generation whose members have these rebalance timeouts."""
    members = [
        {**member(f"m{number}", ["orders"]), "rebalanceTimeout": value, "sessionTimeout": 10_000}
        for number, value in enumerate(values)
    ]
    value = {"protocolType": "consumer", "generation": 1, "protocol": "range", "leader": "m0", "members": members}
    return record(0, 1_000, 3, write_record(2, {"group": "billing"}, value, version=3))


def test_the_largest_rebalance_timeout_of_a_group_is_that_of_its_last_record() -> None:
    watcher = started()
    assert DEFAULT_TIMEOUT_MS == watcher.rebalance_timeout("billing")

    watcher.push(batch(timeouts(90_000)), {3: 1})
    watcher.push(batch({**timeouts(1), "offset": 1}, {**timeouts(60_000, 70_000, 5_000), "offset": 2}), {3: 3})
    assert 70_000 == watcher.rebalance_timeout("billing")
    restarted = Watcher(state=WatchState.from_bytes(watcher.state("c").to_bytes()))
    assert 70_000 == restarted.rebalance_timeout("billing")

    restarted.push(batch({**record(0, 9_000, 3, write_record(2, {"group": "billing"})), "offset": 3}), {3: 4})
    assert DEFAULT_TIMEOUT_MS == restarted.rebalance_timeout("billing")


def test_a_record_without_rebalance_timeout_has_the_session_timeout() -> None:
    watcher = started()
    members = [{**member("m", ["orders"]), "sessionTimeout": 10_000}]
    for each in members:
        del each["groupInstanceId"]
    value = {"protocolType": "consumer", "generation": 1, "protocol": "range", "leader": "m", "members": members}
    watcher.push(batch(record(0, 1_000, 3, write_record(2, {"group": "old"}, value, version=0))), {3: 1})

    assert 10_000 == watcher.rebalance_timeout("old")


# ---- growing lag


def grown(
    lags: Sequence[int | None], *, produced: int = 10, interval: float | None = 5_000, step: int = STEP
) -> list[bool]:
    """Return whether the lag grows at each of some measurements of one generation."""
    growing = GrowingLag()
    return [
        "g" in growing.add(number * step, [GroupMeasurement("g", lag, produced, interval, 1)])
        for number, lag in enumerate(lags)
    ]


def test_lag_that_rises_in_six_windows_grows_until_it_falls() -> None:
    lags = [10, 20, 30, 40, 50, 60, 70, 20]

    assert [False] * 5 + [True, True, False] == grown(lags)


@pytest.mark.parametrize(
    ("lags", "reason"),
    [
        ([0] * 30, "it is 0"),
        ([5_000] * 30, "it stays"),
        ([0, 10, 20, 30, 40] * 6, "it falls with each commit"),
        ([50, 40, 30, 20, 10] * 6, "it falls"),
        ([None] * 30, "it is not known"),
        ([10, 20, 30, None] * 6, "it is not known for long enough"),
    ],
)
def test_lag_does_not_grow(lags: list[int | None], reason: str) -> None:
    assert not any(grown(lags)), reason


def test_growth_is_compared_in_windows_of_two_intervals() -> None:
    between_commits = [number * 10 for number in range(12)]  # 12 measurements between two commits, 2 min apart

    assert not any(grown(between_commits * 4, interval=120_000))
    falling_behind = [start + lag for start in range(0, 7_000, 1_000) for lag in between_commits * 2]
    assert grown(falling_behind, interval=120_000)[-1]


def test_an_unknown_interval_is_assumed_to_be_long() -> None:
    rising = [number * 10 for number in range(1, 5 * MOST_MEASUREMENTS)]
    found = grown(rising, interval=None)

    first = found.index(True)
    assert UNKNOWN_INTERVAL_MS * 2 * 5 <= first * STEP


def test_slow_growth_among_many_records_does_not_count() -> None:
    assert not any(grown([100 + number for number in range(30)], produced=1_000))


def test_lag_that_grows_for_long_goes_on_growing_in_bounded_memory() -> None:
    assert all(grown([number * 10 for number in range(5 * MOST_MEASUREMENTS)])[6:])


def test_growth_ends_with_the_generation_and_with_the_group() -> None:
    growing = GrowingLag()
    conditions = Conditions()
    texts = []
    for number, generation_number in enumerate([1] * 6 + [2] * 6):
        measured = [GroupMeasurement("a\nb", 10 + number, 1, 5_000, generation_number)]
        texts += note_growth(growing.add(number * STEP, measured), conditions, {})
    assert 0 != conditions.groups["a\nb"].growing_since
    texts += note_growth(growing.add(12 * STEP, []), conditions, {})

    began = [f"lag of group a\\nb grows: from {first} to {first + 5} records since" for first in (10, 16)]
    assert [f"{began[0]} 1970-01-01 00:00:00.000", "lag of group a\\nb no longer grows"] == texts[:2]
    assert [f"{began[1]} 1970-01-01 00:01:00.000", "lag of group a\\nb no longer grows"] == texts[2:]
    assert not conditions.groups["a\nb"].is_problem


def test_progress_has_produced_records_and_the_usual_interval() -> None:
    progress = LagProgress()
    groups = {"group_id": ["g", "g", "h"], "topic": ["t"] * 3, "partition": pa.array([0, 1, 0], pa.int32())}
    for number in range(8):
        # Partition 0 of g commits at each measurement, partition 1 at every second one, and h never.
        committed = pa.array([10 * number, 10 * (number // 2 * 2), None], pa.int64())
        positions = pa.table({**groups, "member_id": ["m", "m", "m"], "committed": committed})
        places = {"topic": ["t", "t"], "partition": pa.array([0, 1], pa.int32())}
        ends = {"start_offset": [0, 0], "end_offset": [100 + 10 * number, 100 + 5 * number]}
        progress.add(number * STEP, partition_lag(positions, pa.table({**places, **ends})))

    assert [
        {"group_id": "g", "produced": 15, "interval": 15_000},
        {"group_id": "h", "produced": 0, "interval": None},
    ] == progress.groups().sort_by("group_id").to_pylist()


def test_a_group_without_members_has_no_growing_lag() -> None:
    growing = GrowingLag()

    assert not any(growing.add(number * STEP, [GroupMeasurement("g", number, 9, 1, None)]) for number in range(30))


def test_a_generation_event_names_the_group() -> None:
    (event,) = [
        each for each in started().push(batch(generation(0, 1_000, 1)), {3: 1}) if each["event"] == "generation"
    ]

    assert "billing" == event["group"]
