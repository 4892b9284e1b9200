"""Queries of `Fleet`: Spark brings the rows of each group together, and the engine answers them in Arrow batches.

Members and owned partitions go to the workers as rows, and the answers come back as rows. A worker receives the topics
of all clusters with the first row of each Spark partition and keeps them for the other rows. Building a query reads no
data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType

from assignor._engine import choose
from assignor.spark.grouping import NO_TOPICS, NULL_TOPIC, OWNED, RUN, SEPARATOR, answer_rows, groups_of
from assignor.spark.schemas import ASSIGNMENTS, KEYS, columns_are_known

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from assignor._engine import Engine

_FIRST_BITS = 33
"""Number of the lower bits of `monotonically_increasing_id`, which count the rows of a Spark partition."""


def group_rows(
    members: DataFrame, columns: Sequence[str], current: DataFrame | None = None
) -> tuple[DataFrame, list[str]]:
    """Return the rows of members and owned partitions in the form that `grouping.groups_of` reads.

    Args:
        members: Member rows with at least these columns.
        columns: The columns of `schemas.MEMBERS` that the input has.
        current: Rows of owned partitions, or None.

    Returns:
        The rows, and the names of their columns, which a function of a pipeline must not ask Spark for.
    """
    # `select`, not `withColumn`: a pipeline's server resolves `withColumn` while the pipeline is being defined. Then a
    # second run would read the tables as they are before it writes them.
    topics = _topics_text().alias("topics")
    rows = members.select(*(topics if name == "topics" else F.col(name) for name in columns))
    names = list(columns)
    if current is not None:
        owned = current.select(*ASSIGNMENTS.fieldNames(), F.lit(True).alias(OWNED))
        rows = rows.select("*", F.lit(False).alias(OWNED)).unionByName(owned, allowMissingColumns=True)
        names += [OWNED, *(name for name in ASSIGNMENTS.fieldNames() if name not in columns)]
    # Spark sorts by one number faster than by texts. Adaptive execution may merge these partitions, but cannot split
    # them.
    rows = rows.select("*", F.xxhash64(*KEYS).alias(RUN)).repartition(RUN).sortWithinPartitions(RUN)
    return rows, [*names, RUN]


def _topics_text() -> Column:
    separator, null, nothing = (F.lit(mark).cast("string") for mark in (SEPARATOR, NULL_TOPIC, NO_TOPICS))
    joined = F.call_function("array_join", F.col("topics"), separator, null)
    return F.when(F.size("topics") == 0, nothing).otherwise(joined)


def clusters_row(topics: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return one row with all clusters and their topics, without topics that lack a name or a cluster."""
    topic = F.struct(*(name for name in columns if name != "cluster"))
    named = topics.where(F.col("cluster").isNotNull() & F.col("topic").isNotNull())
    of_clusters = named.groupBy("cluster").agg(F.collect_list(topic).alias("topics"))
    return of_clusters.agg(F.collect_list(F.struct("cluster", "topics")).alias("clusters"))


def call_engine(
    rows: DataFrame,
    columns: Sequence[str],
    clusters: DataFrame,
    method: str,
    answer: StructType,
    engine: Engine,
    *arguments: Any,
) -> DataFrame:
    """Call a method of the engine for each group.

    Args:
        rows: Rows of `group_rows`.
        columns: The names of their columns.
        clusters: Result of `clusters_row`.
        method: Name of the method of `Clusters`.
        answer: The keys and the columns of its result.
        engine: Engine whose `Clusters` is used.
        *arguments: Arguments of the method after the groups.

    Returns:
        The columns of `answer`.
    """
    # Only the first row of a Spark partition has the clusters. The other rows have an empty list, not null: Spark
    # rescans all null lists at the end of a batch for each row that it appends.
    is_first = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << _FIRST_BITS) - 1)) == 0
    all_clusters = clusters.scalar()
    known = F.when(is_first, all_clusters).otherwise(F.slice(all_clusters, 1, 0))
    asked = rows.select(*columns, known.alias("clusters"))
    answers = _answers(method, engine, arguments)
    if columns_are_known(asked):

        def batches(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for _, found in answers(given):
                yield from found

        return asked.mapInArrow(batches, answer)
    # Not `mapInArrow`, which would ask Spark for the columns.
    lists = arrow_udf(_in_lists(answers), ArrayType(answer)).asNondeterministic()  # type: ignore[call-overload]  # read from the hints
    return asked.select(lists(F.struct("*")).alias("answer")).select(F.inline("answer"))


_Answers = Callable[[Iterator[pa.RecordBatch]], Iterator[tuple[int, list[pa.RecordBatch]]]]


def _answers(method: str, engine: Engine, arguments: tuple[Any, ...]) -> _Answers:
    """Return the function that computes the answers of all rows of a Spark partition."""

    def answers(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
        from assignor import _core

        clusters_class = choose(engine, _core.Clusters, "fleet")
        known: Any = None

        def rows() -> Iterator[pa.RecordBatch]:
            nonlocal known
            for batch in batches:
                if known is None and batch.num_rows:
                    known = clusters_class(batch["clusters"].slice(0, 1))
                yield batch.drop_columns("clusters")

        for count, groups in groups_of(rows()):
            yield count, list(answer_rows(groups, getattr(known, method)(groups, *arguments)))

    return answers


def _in_lists(answers: _Answers) -> Callable[[Iterator[pa.Array]], Iterator[pa.Array]]:
    """Return a function with a list for each row that it gets. Most lists are empty; the others have all answers."""

    def lists(structs: Iterator[pa.Array]) -> Iterator[pa.Array]:
        for count, found in answers(map(pa.RecordBatch.from_struct_array, structs)):
            # There is at least one row for each batch of answers.
            lengths = [1] * (len(found) - 1) + [count - len(found) + 1]
            for batch, length in zip(found, lengths, strict=True):
                ends = pa.array([0] + [batch.num_rows] * length, pa.int32())
                yield pa.ListArray.from_arrays(ends, batch.to_struct_array())

    return lists
