"""Queries of `Fleet`: Spark brings the rows of each group together, and the engine answers them in Arrow batches.

Workers pack members and owned partitions into blobs, Spark brings the blobs of each group together, and the answers
come back as rows. A worker receives the topics of all clusters with the first blob of each Spark partition and keeps
them for the other blobs. Building a query reads no data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.spark.executors import on_executors
from assignor.spark.grouping import NO_TEXTS, NULL_TEXT, SEPARATOR, answer_rows, grouped, rows_of
from assignor.spark.packing import BUCKET, RUN, joined, packed, packed_schema
from assignor.spark.schemas import ASSIGNMENTS, KEYS, PATTERN_LISTS, columns_are_known
from assignor.spark.unreadable import topics_with_reasons, with_reasons

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.types import ArrayType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType


_FIRST_BITS = 33
"""Number of the lower bits of `monotonically_increasing_id`, which count the rows of a Spark partition."""


def group_rows(
    members: DataFrame, columns: Sequence[str], current: DataFrame | None = None
) -> tuple[DataFrame, list[str]]:
    """Return members and owned partitions as the blobs that `grouping.rows_of` reads.

    Args:
        members: Member rows with at least these columns.
        columns: The columns of `schemas.MEMBERS` that the input has.
        current: Rows of owned partitions, or None.

    Returns:
        The blobs, and the names of their columns, which a function of a pipeline must not ask Spark for.
    """
    # `select`, not `withColumn`: a pipeline's server resolves `withColumn` while the pipeline is being defined. With
    # `withColumn`, a second run would therefore read the tables as they are before it writes them.
    listed = {"topics"}
    if columns_are_known(members):  # else a pattern is a text
        listed |= {
            name for name in PATTERN_LISTS if name in columns and isinstance(members.schema[name].dataType, ArrayType)
        }
    rows = members.select(*(_joined_texts(name).alias(name) if name in listed else F.col(name) for name in columns))
    blobs, schema = _blobs(rows, columns)
    names = schema.fieldNames()
    if current is not None:
        owned, schema = _blobs(current, ASSIGNMENTS.fieldNames())
        blobs = blobs.unionByName(owned, allowMissingColumns=True)
        names += [name for name in schema.fieldNames() if name not in names]
    # Adaptive execution may merge these partitions, but cannot split them.
    return blobs.repartition(BUCKET).sortWithinPartitions(BUCKET), names


def _blobs(rows: DataFrame, columns: Sequence[str]) -> tuple[DataFrame, StructType]:
    """Return the rows as blobs, and the columns of these."""
    schema = packed_schema([*columns, RUN])
    return _mapped(rows.select(*columns, F.xxhash64(*KEYS).alias(RUN)), packed, schema), schema


def _joined_texts(name: str) -> Column:
    """Return a column of lists as texts, which `grouping` splits."""
    # Spark would put a constant text into the plan, whose printed form is UTF-8. Because of an index that the optimizer
    # does not know, the marks stay bytes, which Spark prints as hexadecimal digits.
    first = F.when(F.spark_partition_id() >= 0, F.lit(1))
    separator, null, nothing = (F.elt(first, F.lit(mark)).cast("string") for mark in (SEPARATOR, NULL_TEXT, NO_TEXTS))
    text = F.call_function("array_join", F.col(name), separator, null)
    return F.when(F.size(name) == 0, nothing).otherwise(text)


def clusters_row(topics: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return one row with all clusters and their topics, without topics that lack a name or a cluster."""
    topic = F.struct(*(name for name in columns if name != "cluster"))
    # In one partition, neither of the aggregations needs a shuffle of its own.
    named = topics.where(F.col("cluster").isNotNull() & F.col("topic").isNotNull()).repartition(1)
    of_clusters = named.groupBy("cluster").agg(F.collect_list(topic).alias("topics"))
    return of_clusters.agg(F.collect_list(F.struct("cluster", "topics")).alias("clusters"))


def call_engine(
    rows: DataFrame,
    columns: Sequence[str],
    clusters: DataFrame,
    method: str,
    answer: StructType,
    *arguments: Any,
    leave_out_invalid: bool = False,
    **options: Any,
) -> DataFrame:
    """Call a method of the engine for each group.

    Args:
        rows: Blobs of `group_rows`.
        columns: The names of their columns.
        clusters: Result of `clusters_row`.
        method: Name of the method of `Clusters`.
        answer: The keys and the columns of its result.
        *arguments: Arguments of the method after the groups.
        leave_out_invalid: Answer for the other groups if a group or topic is invalid, instead of failing.
        **options: Its arguments by name.

    Returns:
        The columns of `answer`.
    """
    # Only the first row of a Spark partition has the clusters. The other rows have an empty list, not null: Spark
    # rescans all null lists at the end of a batch for each row that it appends.
    is_first = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << _FIRST_BITS) - 1)) == 0
    all_clusters = clusters.scalar()
    known = F.when(is_first, all_clusters).otherwise(F.slice(all_clusters, 1, 0))
    asked = rows.select(*columns, known.alias("clusters"))
    return _mapped(asked, _answers(method, arguments, options, leave_out_invalid), answer)


def invalid_topics(clusters: DataFrame, answer: StructType) -> DataFrame:
    """Return cluster, name and reason of each invalid topic, as the columns of `answer`.

    Args:
        clusters: Result of `clusters_row`.
        answer: Three columns of texts.
    """

    def found(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
        for batch in batches:
            if batch.num_rows:  # one, with all clusters
                known = _clusters_of(batch, leave_out_invalid=True)
                rows = [dict(zip(answer.fieldNames(), row, strict=True)) for row in known.invalid_topics()]
                schema = pa.schema([(name, pa.string()) for name in answer.fieldNames()])
                yield batch.num_rows, [pa.RecordBatch.from_pylist(rows, schema)]

    return _mapped(clusters, found, answer)


_Given = TypeVar("_Given")
_Answer = TypeVar("_Answer")

_Function = Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[int, list[pa.RecordBatch]]]]


def _answers(method: str, arguments: tuple[Any, ...], options: dict[str, Any], leave_out_invalid: bool) -> _Function:
    """Return the function that computes the answers of all rows of a Spark partition."""

    def answers(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
        known: Any = None

        def rows() -> Iterator[pa.RecordBatch]:
            nonlocal known
            for batch in batches:
                if known is None and batch.num_rows:
                    known = _clusters_of(batch, leave_out_invalid=leave_out_invalid)
                yield batch.drop_columns("clusters")

        def answer_of(given: pa.RecordBatch) -> list[pa.RecordBatch]:
            groups = grouped(given)
            return list(answer_rows(groups, getattr(known, method)(groups, *arguments, **options)))

        for count, given in rows_of(rows()):
            yield count, _or_readable(answer_of, given, with_reasons)

    return answers


def _clusters_of(batch: pa.RecordBatch, *, leave_out_invalid: bool) -> Any:
    """Return the clusters in the first row of a batch, with their topics, as the engine reads them."""
    from assignor import _core

    # A copy: Spark 4.1 leaves out the offsets of texts in a batch without any, which Arrow needs.
    clusters = batch["clusters"].take(pa.array([0]))
    read = partial(_core.Clusters, leave_out_invalid=leave_out_invalid)
    return _or_readable(read, clusters, topics_with_reasons)


def _or_readable(read: Callable[[_Given], _Answer], given: _Given, readable: Callable[[_Given], _Given]) -> _Answer:
    """Call a function of the engine. If it fails, call it again without texts that are not UTF-8."""
    try:
        return read(given)
    except IllegalArgumentError:
        found = readable(given)
    return read(found)


def _mapped(frame: DataFrame, function: _Function, schema: StructType) -> DataFrame:
    """Return the rows that a function computes from the rows of each Spark partition."""
    if columns_are_known(frame):

        def batches(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for _, found in function(given):
                yield from found

        return frame.mapInArrow(on_executors(frame.sparkSession, batches), schema)
    # Not `mapInArrow`, which would ask Spark for the columns.
    lists = arrow_udf(on_executors(frame.sparkSession, _in_lists(function)), ArrayType(schema)).asNondeterministic()  # type: ignore[call-overload]  # read from the hints
    return frame.select(lists(F.struct("*")).alias("found")).select(F.inline("found"))


def _in_lists(function: _Function) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    """Wrap a function so that it yields one list for each row that it gets.

    Most lists are empty; the others have all rows that the function computes.
    """

    def lists(structs: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for count, found in function(map(pa.RecordBatch.from_struct_array, structs)):
            if len(found) > count:
                found = [*found[: count - 1], joined(found[count - 1 :])]
            lengths = [1] * (len(found) - 1) + [count - len(found) + 1]
            for batch, length in zip(found, lengths, strict=True):
                ends = pa.array([0] + [batch.num_rows] * length, pa.int32())
                yield pa.ListArray.from_arrays(ends, batch.to_struct_array())

    return lists
