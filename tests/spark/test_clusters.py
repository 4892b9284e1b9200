"""The recorded fleet under two names, with other offsets and topics: each cluster has the answers that it has alone."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from assignor.cluster import Recording
from assignor.cluster.metadata import TopicsByCluster
from assignor.errors import IllegalArgumentError, WrongTypeError
from tests.spark.event_runs import checksum, stream, uneven_parts
from tests.spark.test_events import SILENCES, logs_of_two_clusters
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SHIFTS = {"north": 0, "south": 1_000}
"""What is added to the offsets of each cluster."""


@functools.cache
def of_one(cluster: str) -> pa.Table:
    """Return the committed records of the recorded fleet with the offsets of a cluster."""
    both = logs_of_two_clusters()
    found = both.filter(pc.equal(both["cluster"], "webshop")).drop_columns(["cluster"])
    place = found.column_names.index("offset")
    return found.set_column(place, "offset", pc.add(found["offset"], SHIFTS[cluster]))


@functools.cache
def topics_of(cluster: str) -> pa.Table:
    """Return the topics of a cluster; one topic has two partitions more in the south."""
    found = Recording.open(RECORDING).topics()
    rows = found.to_pylist()
    last = {(row["t"], row["topic"]): row for row in rows if row["topic"] == rows[0]["topic"]}
    grown = [row | {"partition": row["partition"] + step} for row in last.values() for step in (1, 2)]
    return pa.Table.from_pylist([*rows, *(grown if cluster == "south" else [])], found.schema)


def named(table: pa.Table, cluster: str) -> pa.Table:
    """Return rows with a cluster in place of none."""
    names = pa.array([cluster] * table.num_rows)
    if "cluster" in table.column_names:
        return table.set_column(table.column_names.index("cluster"), "cluster", names)
    return table.add_column(0, "cluster", names)


def both(tables: Callable[[str], pa.Table]) -> pa.Table:
    """Return the tables of both clusters as one, with the cluster of each row."""
    return pa.concat_tables(named(tables(cluster), cluster) for cluster in SHIFTS)


def of_cluster(table: pa.Table, cluster: str) -> pa.Table:
    return table.filter(pc.equal(table["cluster"], cluster))


def rows(frame: DataFrame | pa.Table) -> list[dict[str, Any]]:
    found = frame if isinstance(frame, pa.Table) else frame.toArrow()
    return sorted(found.to_pylist(), key=lambda row: (row["cluster"], row["group_id"] or ""))


def test_replay_keeps_clusters_apart(spark: SparkSession) -> None:
    from assignor.spark import decode, replay

    frame = spark.createDataFrame(both(of_one))
    found = replay(decode(frame), both(topics_of)).toArrow()

    assert ["cluster", "group_id"] == found.column_names[:2]
    alone = [
        named(replay(decode(spark.createDataFrame(of_one(cluster))), topics_of(cluster)).toArrow(), cluster)
        for cluster in SHIFTS
    ]
    expected = [row for table in alone for row in rows(table)]
    assert expected == rows(found)
    north, south = ([row for row in expected if row["cluster"] == cluster] for cluster in SHIFTS)
    assert len(north) == len(south) > 20
    assert any(
        (one["unowned"], one["generations"]) != (other["unowned"], other["generations"])
        for one, other in zip(north, south, strict=True)
    ), "the topics of the clusters differ"
    null = frame.selectExpr("nullif(cluster, 'north') as cluster", *frame.columns[1:]).where("cluster is null")
    nameless = named(topics_of("north"), "")
    assert [row | {"cluster": ""} for row in north] == rows(replay(decode(null), nameless))


def test_events_of_a_batch_keep_clusters_apart(spark: SparkSession) -> None:
    from assignor.spark import events

    silences = {"south": SILENCES}
    found = events(spark.createDataFrame(both(of_one)), both(topics_of), silences=silences).toArrow()

    sums = {}
    for cluster in SHIFTS:
        records = spark.createDataFrame(of_one(cluster))
        alone = events(records, topics_of(cluster), silences=silences.get(cluster, ())).toArrow()
        sums[cluster] = checksum(named(alone, cluster))
        assert sums[cluster] == checksum(of_cluster(found, cluster))
    causes = {
        cluster: sum("coordinator_moved" in (row["causes"] or ()) for row in of_cluster(found, cluster).to_pylist())
        for cluster in SHIFTS
    }
    assert causes["south"] > causes["north"], "the silence is that of one cluster"


def test_events_of_a_stream_keep_clusters_apart(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.spark import events

    spark.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        found, _ = stream(spark, tmp_path, uneven_parts(both(of_one)), [2, 3], topics=both(topics_of))
        streamed = checksum(found)
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "4")

    assert checksum(events(spark.createDataFrame(both(of_one)), both(topics_of), finish=False)) == streamed


def test_topic_metadata_of_clusters_is_checked_before_any_job(spark: SparkSession) -> None:
    from assignor.spark import decode, events, replay

    frame = spark.createDataFrame(of_one("north"))
    topics = both(topics_of)
    null = topics.set_column(0, "cluster", pa.array([None] * topics.num_rows, pa.string()))
    number = topics.set_column(0, "cluster", pa.array([[1]] * topics.num_rows))
    reads: list[Callable[[pa.Table], DataFrame]] = [
        lambda given: events(frame, given),
        lambda given: replay(decode(frame), given),
    ]
    for read in reads:
        with pytest.raises(IllegalArgumentError, match="a row whose cluster is null"):
            read(null)
        with pytest.raises(WrongTypeError, match="cluster"):
            read(number)
        with pytest.raises(IllegalArgumentError, match="twice"):
            read(pa.concat_tables([topics, topics.slice(topics.num_rows - 1)]))
    with pytest.raises(WrongTypeError, match="column cluster must be of type string, not int"):
        replay(decode(frame.selectExpr("*", "1 as cluster")))


def test_a_recording_can_have_a_name(spark: SparkSession) -> None:
    from assignor.spark import Fleet, sources

    fleet = Fleet.from_recording(RECORDING, cluster="north", spark=spark)
    assert fleet.current is not None
    for frame in (fleet.topics, fleet.members, fleet.current):
        assert ["north"] == [row["cluster"] for row in frame.select("cluster").distinct().collect()]
    assert repr(fleet).startswith("Fleet(topics=['cluster', 'topic', 'partitions', ")
    assert "current=None)" in repr(Fleet(fleet.topics, fleet.members))

    records = sources.recording_records(spark, RECORDING, cluster="north")
    assert ["north"] == [row["cluster"] for row in records.select("cluster").distinct().collect()]
    assert records.drop("cluster").columns == sources.recording_records(spark, RECORDING).columns


def test_an_unknown_setting_of_events_is_named_with_the_settings(spark: SparkSession) -> None:
    from assignor.spark import events

    with pytest.raises(IllegalArgumentError, match=r"^events has no setting 'delay'; its settings are ") as raised:
        events(spark.createDataFrame(of_one("north")), delay=3)
    names = str(raised.value).partition("settings are ")[2].split(", ")
    assert names == sorted(names)
    assert {"delay_ms", "until", "silences", "storm_rebalances", "stuck_factor"} <= set(names)
    assert not {"records", "topics", "settings"} & set(names)


def test_metadata_without_clusters_is_that_of_each_cluster() -> None:
    table = topics_of("north")

    assert TopicsByCluster(table).of("a").equals(TopicsByCluster(table).of("b"))
    assert TopicsByCluster(both(topics_of)).of("south").num_rows == topics_of("south").num_rows
    assert 0 == TopicsByCluster(both(topics_of)).of("west").num_rows
    assert 0 == TopicsByCluster(None).of("").num_rows
    empty = both(topics_of).slice(0, 0)
    assert 0 == TopicsByCluster(empty).of("north").num_rows
