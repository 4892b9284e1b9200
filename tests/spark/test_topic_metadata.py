"""Kinds of tables that `replay` and `events` accept as topic metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.spark.topic_metadata import read_metadata
from tests.spark.fleet_rows import rows
from tests.spark.test_clusters import both, of_one, topics_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class Capsule:
    """Table with Arrow's PyCapsule interface only."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table as a stream."""
        return self.table.__arrow_c_stream__(requested_schema)


def views(table: pa.Table) -> pa.Table:
    """Return a table whose texts are string views, as Polars has them."""
    view = {pa.string(): pa.string_view(), pa.list_(pa.string()): pa.list_(pa.string_view())}
    return table.cast(pa.schema([field.with_type(view.get(field.type, field.type)) for field in table.schema]))


def polars(table: pa.Table) -> Any:
    return pytest.importorskip("polars", reason="Polars is not installed").from_arrow(table)


KINDS: dict[str, Callable[[pa.Table], Any]] = {
    "record batch": lambda table: table.combine_chunks().to_batches()[0],
    "reader": pa.Table.to_reader,
    "pandas": lambda table: table.to_pandas(),
    "capsule": Capsule,
    "string views": views,
    "polars": polars,
}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_read_as_the_arrow_table(kind: str) -> None:
    from assignor.cluster.metadata import TopicsByCluster

    table = both(topics_of)

    found = TopicsByCluster(read_metadata(KINDS[kind](table)))

    assert ("north", "south") == found.clusters
    for cluster in found.clusters:
        assert TopicsByCluster(table).of(cluster).equals(found.of(cluster))


def test_a_spark_dataframe_is_read_as_the_arrow_table(spark: SparkSession) -> None:
    from assignor.spark import decode, events, replay

    topics = topics_of("north")
    frame = spark.createDataFrame(topics).selectExpr(
        "topic collate UTF8_LCASE topic", "bigint(partition) partition", "t", "topic_id", "racks", "1 other"
    )
    records = spark.createDataFrame(of_one("north").slice(0, 1500))

    for function in (events, lambda each, metadata: replay(decode(each), metadata)):
        expected = sorted(map(repr, rows(function(records, topics))))
        assert expected == sorted(map(repr, rows(function(records, frame))))
        assert expected != sorted(map(repr, rows(function(records, None))))


def test_other_values_are_errors_before_any_job(spark: SparkSession) -> None:
    from assignor.spark import events

    topics = topics_of("north")
    records = spark.createDataFrame(of_one("north").slice(0, 1))

    tables = "a table of Spark, or one with Arrow's PyCapsule interface, such as a table of pyarrow or pandas"
    values: tuple[Any, ...] = (topics.to_pylist(), topics.to_pydict(), "topics")
    for value in values:
        with pytest.raises(WrongTypeError, match=rf"^topic metadata must be {tables}, not "):
            events(records, value)
    with pytest.raises(WrongTypeError, match=r"^topic metadata has no column t; its columns are "):
        events(records, topics.drop_columns(["t"]).to_pandas())
    with pytest.raises(WrongTypeError, match=r"^topic metadata has no column t of type bigint; its columns are "):
        events(records, spark.createDataFrame(topics).drop("t"))
    with pytest.raises(WrongTypeError, match=r"^topic metadata must not be a streaming DataFrame$"):
        events(records, spark.readStream.format("rate").load())
    named = spark.createDataFrame(topics).selectExpr("*", "string(null) cluster")
    with pytest.raises(IllegalArgumentError, match=r"^topic metadata has a row whose cluster is null; "):
        events(records, named)
