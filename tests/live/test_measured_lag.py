"""Lag that a watch prints: which groups, in which fields, and that no line can be taken for an event of a replay."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa

from assignor.cli.watch import _lag_printer
from assignor.cluster.connection import ClientSettings
from assignor.lag import END_OFFSETS, GROUP_LAG, partition_lag
from assignor.lag_time_sums import SUMMED_TIME
from assignor.replay.events import COMMON, FIELDS
from assignor.replay.lag_meter import LagSeries
from assignor.replay.long_rebalances import LongRebalances
from assignor.replay.measured_lag import EVENT, measured_lag
from assignor.replay.watch_loop import WatchLoop, WatchOptions
from assignor.report.lag_text import measured_lines
from tests.live.test_watcher import batch, commit, generation, started

if TYPE_CHECKING:
    import pytest

    from assignor.replay.lag_meter import LagMeasurement
    from assignor.replay.watcher import Watcher

STEP = 600_000
"""Milliseconds between two measurements."""


def watched() -> Watcher:
    """Return a watcher of a group with a member, and of one that only commits."""
    watcher = started()
    rows = [
        generation(1, 1_000, 1),
        *(commit(place, 1_000, group=name) for place, name in ((2, "billing"), (3, "idle"))),
    ]
    watcher.push(batch(*rows), {3: 4})
    return watcher


def measurements(watcher: Watcher, ends: list[int]) -> list[LagMeasurement]:
    """Return measurements of the lag with these end offsets."""
    series = LagSeries(watcher)
    committed = watcher.committed()
    (place,) = committed.group_by(["topic", "partition"]).aggregate([]).to_pylist()
    return [
        series.add(
            1_000 + STEP * number,
            partition_lag(
                committed, pa.Table.from_pylist([{**place, "start_offset": 0, "end_offset": end}], END_OFFSETS)
            ),
            frozenset(),
        )
        for number, end in enumerate(ends)
    ]


def lines(ends: list[int], capsys: pytest.CaptureFixture[str], *, is_json: bool, is_complete: bool) -> list[str]:
    """Return the lines that the command prints for measurements with these end offsets."""
    watcher = watched()
    options = WatchOptions(cluster="main", reports_each_lag=is_complete)
    loop = WatchLoop(
        ClientSettings.read("127.0.0.1:1"), options, watcher, LongRebalances(), lambda _: None, lambda _: None
    )
    loop.report_lag = _lag_printer(is_json=is_json, is_complete=is_complete)
    for found in measurements(watcher, ends):
        loop._apply_lag(found)
        loop._deliver_events([])
    return capsys.readouterr().out.splitlines()


def test_json_has_the_lag_of_each_group_in_the_fields_of_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    found = [json.loads(line) for line in lines([107, 207], capsys, is_json=True, is_complete=True)]

    assert [("billing", 1_000), ("idle", 1_000), ("billing", 601_000), ("idle", 601_000)] == [
        (row["group"], row["at"]) for row in found
    ]
    first, _, second, idle = found
    common = {"event": "lag", "cluster": "main", "kind": "classic", "offset": -1, "growth": None}
    assert common == {name: second[name] for name in common}
    assert "offsets" == idle["kind"]
    lag = {"lag": 200, "behind_seconds": None, "behind_at_least": 600.0, "behind_reason": "before_first_measurement"}
    lag |= {"growth_per_second": 0.166667, "trend": "falling_behind", "catch_up_reason": "growing"}
    assert lag == {name: second["lag"][name] for name in lag}
    assert ("one_measurement", None) == (first["lag"]["growth_reason"], first["lag"]["growth_per_second"])
    assert {*SUMMED_TIME.names, *GROUP_LAG.names, "topics", "members"} - {"group_id"} == second["lag"].keys()
    assert [("orders", 200)] == [(row["topic"], row["lag"]) for row in second["lag"]["topics"]]
    assert [("m", 200)] == [(row["member_id"], row["lag"]) for row in second["lag"]["members"]]
    assert [] == idle["lag"]["members"]


def test_a_line_cannot_be_taken_for_an_event_of_a_replay(capsys: pytest.CaptureFixture[str]) -> None:
    (row, *_) = (json.loads(line) for line in lines([107], capsys, is_json=True, is_complete=True))

    assert EVENT == row["event"]
    assert EVENT not in FIELDS
    assert list(COMMON) == list(row)[: len(COMMON)]


GROWING = [100 * number for number in range(1, 9)]


def test_json_says_when_the_lag_of_a_group_begins_to_grow_and_no_longer_grows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = [json.loads(line) for line in lines([*GROWING, 8], capsys, is_json=True, is_complete=False)]

    assert [("billing", "begins"), ("billing", "ends")] == [(row["group"], row["growth"]) for row in found]
    assert (1_000, 93, 593) == (found[0]["growing_since"], found[0]["growing_from"], found[0]["lag"]["lag"])
    assert (None, None, 1) == (found[1]["growing_since"], found[1]["growing_from"], found[1]["lag"]["lag"])


def test_growth_that_lasts_is_in_the_lines_of_each_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    found = [json.loads(line) for line in lines([*GROWING, 8], capsys, is_json=True, is_complete=True)]

    growth = [row["growth"] for row in found if row["group"] == "billing"]
    assert [*[None] * 5, "begins", "lasts", "lasts", "ends"] == growth
    assert {None} == {row["growth"] for row in found if row["group"] == "idle"}


def test_a_group_that_no_longer_exists_has_no_lag() -> None:
    found = measurements(watched(), [107])[0]

    (row,) = measured_lag(found, {}, growing_before={"gone"}, is_complete=False)
    assert ("gone", "ends", None, None) == (row["group"], row["growth"], row["kind"], row["lag"])
    assert [] == list(measured_lines([row]))


def test_text_has_a_line_per_group_and_measurement_if_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert [] == lines(GROWING, capsys, is_json=False, is_complete=False)

    found = lines([7, 1_207, 7_207], capsys, is_json=False, is_complete=True)
    assert "1970-01-01 00:00:01.000  billing  lag 0; caught up" == found[0]
    assert (
        "1970-01-01 00:20:01.000  billing  lag 7,200; 20 min behind; lag changes by +10.0 records/s; "
        "does not catch up: the lag grows"
    ) == found[4]
