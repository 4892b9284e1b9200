"""Materialized views of the pipeline: the three input tables, and the results of `Fleet`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark import pipelines as dp
from pyspark.sql import SparkSession

from assignor.spark import Fleet, Scenario

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

INPUT = Path(__file__).resolve().parents[1] / "input"

SCENARIOS = (
    Scenario("two more members").add_members(2),
    Scenario("twice the partitions").multiply_partitions(2),
    Scenario("rolling restart").rolling_restart(),
    Scenario("rolling restart with instance ids").rolling_restart(instance_ids=True),
)

spark = SparkSession.active()


def fleet() -> Fleet:
    return Fleet(spark.read.table("topics"), spark.read.table("members"), spark.read.table("current"))


@dp.materialized_view
def topics() -> DataFrame:
    return spark.read.parquet((INPUT / "topics").as_uri())


@dp.materialized_view
def members() -> DataFrame:
    return spark.read.parquet((INPUT / "members").as_uri())


@dp.materialized_view
def current() -> DataFrame:
    return spark.read.parquet((INPUT / "current").as_uri())


@dp.materialized_view
def resolved() -> DataFrame:
    return fleet().resolve()


@dp.materialized_view
def assignments() -> DataFrame:
    return fleet().assign()


@dp.materialized_view
def balance() -> DataFrame:
    return fleet().balance()


@dp.materialized_view
def moves() -> DataFrame:
    return fleet().moves()


@dp.materialized_view
def what_if() -> DataFrame:
    return fleet().what_if(SCENARIOS)


@dp.materialized_view
def problems() -> DataFrame:
    return fleet().problems()
