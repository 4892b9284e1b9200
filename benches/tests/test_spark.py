"""Tests of the benchmarks on Spark: the fleets, and the rejection of wrong answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from benches import spark_fleets, spark_implementations, spark_replay
from benches.implementations import WrongAnswerError
from benches.spark_fleets import Checksum, Size, Written, checksum, right_answer, written

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TINY = Size(groups=6, members=5, topics_per_group=2, topics=20)


@pytest.fixture(scope="module")
def given(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Written:
    return written(spark, TINY, tmp_path_factory.mktemp("fleet"))


@pytest.fixture(scope="module")
def answer(given: Written) -> Checksum:
    return right_answer(given)


def test_a_call_for_each_group_gives_the_same_answer_and_the_floor_gives_at_most_two_rows_fewer(
    given: Written, answer: Checksum
) -> None:
    assert 6 * 5 == given.members.count()
    assert answer == checksum(spark_implementations.in_arrow(given))
    assert 0 <= answer.rows - checksum(spark_implementations.floor(given, answer.rows)).rows <= 2


def test_an_answer_that_differs_from_assign_is_rejected(given: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_fleets, "assign", lambda *_, **__: {})

    with pytest.raises(WrongAnswerError, match=r"on 6 x 5 x 2") as raised:
        right_answer(given)
    assert "differ" in str(raised.value)


def test_the_answer_for_sticky_groups_is_compared_with_assign(given: Written, answer: Checksum) -> None:
    sticky = right_answer(given, "sticky")

    assert sticky == checksum(spark_implementations.fleet(given, "sticky"))
    assert sticky != answer


def test_the_replay_section_has_rates_and_rejects_wrong_events(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_replay, "MICRO_BATCHES", 4)
    raw: dict[str, Any] = {}

    section = spark_replay.replay_section(spark, tmp_path, 8, 20, 2, lambda _: None, raw)

    ((name, rates),) = raw.items()
    assert name.startswith("8 groups, ")
    assert (2, 2) == (len(rates["batch"]), len(rates["stream"]))
    assert min(*rates["batch"], *rates["stream"]) > 0
    assert 2 == len(section.target_results)
    monkeypatch.setattr(spark_replay, "right_answer", lambda *_: {})
    with pytest.raises(WrongAnswerError, match="a batch on Spark has other events than a replay without Spark"):
        spark_replay.replay_section(spark, tmp_path, 8, 21, 1, lambda _: None, raw)
