"""Answers are the same with other settings of the session: ANSI mode, adaptive execution, small batches, time zones."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from assignor.spark import Scenario
from tests.spark.connect_program import in_order
from tests.spark.drawn_fleet import drawn_fleet
from tests.spark.event_runs import checksum
from tests.spark.test_events import logs_of_two_clusters, topics

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SETTINGS = {
    "no ANSI mode, no adaptive execution": {"spark.sql.ansi.enabled": "false", "spark.sql.adaptive.enabled": "false"},
    "batches of 7 rows, another time zone": {
        "spark.sql.execution.arrow.maxRecordsPerBatch": "7",
        "spark.sql.session.timeZone": "Pacific/Apia",
    },
}
"""Settings whose values differ from those of the session of the other tests."""

SCENARIOS = [
    Scenario("larger", {"no such group"}).grow_partitions({"no such topic": 3}),
    Scenario("more").add_members(1),
]


@contextmanager
def changed(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of the session while the block runs."""
    before = {name: str(spark.conf.get(name)) for name in settings}
    assert not before.items() & settings.items()
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def answers_of(spark: SparkSession) -> dict[str, object]:
    """Return the answers of all methods of a fleet, and the checksum of the events of two logs."""
    from assignor.spark import decode, events, replay

    drawn = drawn_fleet(40, seed=7)
    fleet = drawn.fleet(spark)
    offsets = drawn.offsets(spark)
    frames: dict[str, DataFrame] = {
        "resolve": fleet.resolve(),
        "assign": fleet.assign(),
        "balance": fleet.balance(),
        "current": fleet.balance(of="current"),
        "moves": fleet.moves(),
        "what_if": fleet.what_if(SCENARIOS),
        "scale": fleet.scale(3),
        "migrate": fleet.migrate(),
        "problems": fleet.problems(),
        "lag_in_time": fleet.lag_in_time(*offsets, by="group"),
    }
    found: dict[str, object] = {name: in_order(frame.toArrow().to_pylist()) for name, frame in frames.items()}
    records = spark.createDataFrame(logs_of_two_clusters())
    found["events"] = checksum(events(records, topics()))
    found["replay"] = in_order(replay(decode(records), topics()).toArrow().to_pylist())
    return found


@pytest.fixture(scope="module")
def expected(spark: SparkSession) -> dict[str, object]:
    return answers_of(spark)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_settings_of_the_session_do_not_change_answers(
    spark: SparkSession, expected: dict[str, object], settings: Mapping[str, str]
) -> None:
    with changed(spark, settings):
        found = answers_of(spark)

    assert expected.keys() == found.keys()
    for name in expected:
        assert expected[name], name
        assert expected[name] == found[name], name
