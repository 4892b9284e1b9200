"""Tests of the benchmarks on Spark: the fleets, and the rejection of wrong answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benches import spark_answers, spark_events, spark_fleets, spark_implementations
from benches.bench_spark import owned_partitions
from benches.checks import WrongAnswerError
from benches.spark_fleets import Checksum, Size, Written, checksum, right_answer, written

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TINY = Size(groups=6, members=5, topics_per_group=2, topics=20)


@pytest.fixture(scope="module")
def given(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Written:
    return written(spark, tmp_path_factory.mktemp("fleet"), TINY)


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


def test_answers_that_differ_from_those_of_the_package_are_rejected(
    given: Written, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned = owned_partitions(given, spark, tmp_path)
    offsets = spark_answers.offsets(spark, tmp_path, given, owned)

    spark_answers.check_answers(given, owned, offsets)
    monkeypatch.setattr(spark_answers, "_lag", lambda *_: [])
    with pytest.raises(WrongAnswerError, match=r"^lag_in_time\(\) is wrong for "):
        spark_answers.check_answers(given, owned, offsets)


def test_events_have_rates_and_wrong_events_are_rejected(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_events, "MICRO_BATCHES", 4)
    log, source = spark_events.log_in(tmp_path, 8, 20)

    assert 2 == len(spark_events.batch_rates(spark, log, source, 2))
    assert min(spark_events.stream_rates(spark, log, source)) > 0
    monkeypatch.setattr(spark_events, "right_answer", lambda *_: {})
    with pytest.raises(WrongAnswerError, match="a batch on Spark has other events than a replay without Spark"):
        spark_events.batch_rates(spark, log, source, 1)
