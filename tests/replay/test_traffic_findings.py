"""Traffic in reports, and the finding `uneven_traffic`, on made-up logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor.report.text import render
from tests.replay.test_recorded_lag import commit, end, generation, kinds, only, record, reported, write

if TYPE_CHECKING:
    from pathlib import Path

    from assignor.report.report import Report

STEP = 10
"""Seconds between two commits of a partition."""

OWNED = {"a": [0, 1], "b": [2, 3], "c": [4, 5]}


def report_of(
    tmp_path: Path,
    rates: list[float],
    *,
    steps: int = 60,
    silent: tuple[int, ...] = (),
    ends: dict[int, int] | None = None,
) -> Report:
    """Return the report of a group with three members, whose partitions have these records per second."""
    entries: list[tuple[int, Any]] = [(0, generation("g", 1, {name: {"t": ids} for name, ids in OWNED.items()}))]
    for step in range(steps + 1):
        at = step * STEP
        entries += [
            (at, commit("g", "t", partition, round(rate * at)))
            for partition, rate in enumerate(rates)
            if partition not in silent
        ]
    rows = [record(offset, 1000 * at, content) for offset, (at, content) in enumerate(entries)]
    last = steps * STEP
    known = [
        end(1000 * at, round(rate * at), partition=partition)
        for partition, rate in (ends or {}).items()
        for at in (0, last)
    ]
    return reported(write(tmp_path / "recording", rows, known))


UNEVEN = [100.0, 100.0, 5.0, 5.0, 5.0, 5.0]


def test_uneven_traffic_has_the_bound_and_what_to_change(tmp_path: Path) -> None:
    report = report_of(tmp_path, UNEVEN)

    traffic = only(report).to_json()["traffic"]
    assert isinstance(traffic, dict)
    assert {"a": 200.0, "b": 10.0, "c": 10.0} == traffic["members"]
    assert (600.0, 132_000, 220.0, 0) == tuple(traffic[name] for name in ("seconds", "records", "rate", "unknown"))
    assert (100.0, 100.0) == (traffic["uneven"]["bound"], traffic["uneven"]["packed"])
    assert {"range": 200.0, "roundrobin": 105.0, "sticky": 200.0, "cooperative-sticky": 200.0} == (
        traffic["uneven"]["assignors"]
    )
    (found,) = [each for each in report.findings() if each.kind == "uneven_traffic"]
    assert found.text.startswith("even by count (2–2 partitions per member), 2.7x the mean by traffic: ")
    assert found.evidence.endswith("The assignor roundrobin would give the busiest member 105 records/s.")
    assert "g: 220 records/s in the last 10 min" in render(report)


def test_end_offsets_count_more_than_commits(tmp_path: Path) -> None:
    report = report_of(tmp_path, UNEVEN, ends=dict.fromkeys(range(6), 50))

    assert {"a": 100.0, "b": 100.0, "c": 100.0} == only(report).to_json()["traffic"]["members"]  # type: ignore[index]  # it has traffic
    assert "uneven_traffic" not in kinds(report)


@pytest.mark.parametrize(
    ("rates", "settings"),
    [
        ([200.0, 5.0, 5.0, 5.0, 5.0, 5.0], {}),  # one partition has the traffic, which no assignor can divide
        ([1.0, 1.0, 0.05, 0.05, 0.05, 0.05], {"steps": 10}),  # few records
        (UNEVEN, {"steps": 5}),  # a short window
        ([0.0] * 6, {}),  # an idle group
        ([50.0, 60.0, 50.0, 40.0, 60.0, 50.0], {}),  # even
        (UNEVEN, {"silent": (4, 5)}),  # the traffic of a member is not known
    ],
)
def test_no_finding_without_a_better_assignment_or_enough_traffic(
    tmp_path: Path, rates: list[float], settings: dict[str, Any]
) -> None:
    assert "uneven_traffic" not in kinds(report_of(tmp_path, rates, **settings))
