"""`Fleet.migrate` gives the answers of `assignor.migration.migrate`, which `assignor migrate` prints."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from assignor.cluster import Recording
from assignor.cluster.classic_groups import recorded_groups
from assignor.migration import BrokerSettings, migrate, read_row
from assignor.spark import Fleet
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.conftest import RecordedTables

pytestmark = pytest.mark.spark


def test_the_answers_are_those_of_the_library(spark: SparkSession, recorded_tables: RecordedTables) -> None:
    fleet = Fleet(*(spark.createDataFrame(table) for table in recorded_tables))
    settings = BrokerSettings(policy="upgrade", max_size=5)
    rows = [row.asDict(recursive=True) for row in fleet.migrate(settings, later=True).collect()]
    found = {row["group_id"]: read_row(row["group_id"], row) for row in rows}
    groups, topics = recorded_groups(Recording.open(RECORDING))
    groups = [dataclasses.replace(group, weights=None) for group in groups]  # the tables have no traffic
    expected = {each.group: each for each in migrate(groups, topics, settings=settings)}

    assert len(found) > 8
    assert found == {name: each for name, each in expected.items() if each.members and name in found}
    assert {name for name, each in expected.items() if each.members} == set(found)


def test_rows_of_members_decide_without_a_recording(spark: SparkSession) -> None:
    topics = spark.createDataFrame([("c", "t", 4)], "cluster string, topic string, partitions int")
    rows: list[tuple[Any, ...]] = [
        ("c", "known", "a", ["t"], "java", None, None, "range"),
        ("c", "python", "kafka-python-2.0.2-8a8a8a8a-1111-4222-8333-444444444444", ["t"], None, None, None, "range"),
        ("c", "custom", "c", ["t"], "java", None, "user_data", "mine"),
        ("c", "works", "d", ["t"], None, "connect", None, "sessioned"),
    ]
    schema = (
        "cluster string, group_id string, member_id string, topics array<string>, library string, "
        "protocol_type string, conversion_problem string, assignor string"
    )
    found = Fleet(topics, spark.createDataFrame(rows, schema)).migrate().collect()

    assert {row["group_id"]: (row["verdict"], row["moved"]) for row in found} == {
        "known": ("online", None),
        "python": ("not yet", None),
        "custom": ("offline only", None),
        "works": ("not yet", None),
    }
