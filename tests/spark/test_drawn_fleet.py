"""`Fleet.migrate`, `scale` and `lag_in_time` have the rows of the functions of the package, called group by group.

The long run has 10,000 groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pytest

from assignor.lag_time_sums import sum_lag_in_time
from assignor.migration import BrokerSettings, read_row
from tests.spark import local_answers
from tests.spark.drawn_fleet import DrawnFleet, by_topic, drawn_fleet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from assignor.spark import Fleet

    Row = dict[str, Any]
    Given = tuple[DrawnFleet, Fleet]

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module", params=[90, pytest.param(10_000, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
def given(spark: SparkSession, request: pytest.FixtureRequest) -> Given:
    drawn = drawn_fleet(request.param, seed=41)
    return drawn, drawn.fleet(spark)


_BY: tuple[Literal["partition", "topic", "member", "group"], ...] = ("partition", "topic", "member", "group")


def in_order(rows: list[Row]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


def test_migrate(given: Given) -> None:
    drawn, fleet = given
    settings = BrokerSettings(policy="upgrade", max_size=6, assignor="range")
    rows = fleet.migrate(settings, later=True).toArrow().to_pylist()

    found = {(row["cluster"], row["group_id"]): read_row(row["group_id"], row) for row in rows}
    answers = {
        (group.cluster, group.group_id): local_answers.migration(
            group, drawn.topics[group.cluster], settings, later=True
        )
        for group in drawn.groups
    }
    expected = {key: answer for key, answer in answers.items() if answer is not None}
    assert len(rows) == len(found)
    assert expected == found
    assert {answer.verdict for answer in expected.values()} == {"online", "offline only", "not yet"}
    assert {"user_data", "client", "connect", "pattern", "max_size"} <= {
        blocker.kind for answer in expected.values() for blocker in answer.blockers
    }
    assert any(answer.later and answer.rolling for answer in expected.values())


@pytest.mark.parametrize("max_members", [None, 3])
def test_scale(given: Given, max_members: int | None) -> None:
    drawn, fleet = given
    found = fleet.scale(max_members).toArrow().to_pylist()

    expected = [
        {**group.key, **row._asdict()}
        for group in drawn.groups
        for row in local_answers.scaled(group, drawn.topics[group.cluster], max_members)
    ]
    assert in_order(expected) == in_order(found)
    assert {None, True, False} <= {row["is_good_by_weight"] for row in expected}
    assert any(row["moved"] for row in expected)


def test_lag_in_time(spark: SparkSession, given: Given) -> None:
    drawn, fleet = given
    offsets, window_ms = drawn.offsets(spark), 40_000
    ends = {cluster: by_topic(rows) for cluster, rows in drawn.ends.items()}
    # Without end offsets, the time of the lag does not matter.
    last = {cluster: max((row["at"] for row in drawn.ends.get(cluster, ())), default=2**40) for cluster in drawn.topics}

    partitions = []
    for group in drawn.groups:
        topics = dict.fromkeys(row["topic"] for row in (*group.current, *group.committed))
        of_group = [row for topic in topics for row in ends.get(group.cluster, {}).get(topic, ())]
        rows = local_answers.time_lag(group.current, group.committed, of_group, last[group.cluster], window_ms)
        partitions.append((group, rows))
    for by in _BY:
        found = fleet.lag_in_time(*offsets, by=by, window_ms=window_ms).toArrow().to_pylist()
        tables = [(group, rows if by == "partition" else sum_lag_in_time(rows, by=by)) for group, rows in partitions]
        expected = [{"cluster": group.cluster, **row} for group, rows in tables for row in rows.to_pylist()]
        assert in_order(expected) == in_order(found), by
    trends = pa.concat_tables([rows for _, rows in partitions])["trend"]
    assert {"caught_up", "falling_behind", "catching_up", None} <= set(trends.to_pylist())
