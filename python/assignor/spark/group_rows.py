"""Queries of `Fleet`: one row per group, and one call of the engine per Arrow batch of groups.

The rows of a group's members become one row with a list of members. A long subscription that several members share is
stored once in that row. A worker receives the topics of all clusters with the first row of each Spark partition and
keeps them for the other rows. So no query joins topics with members, and building a query reads no data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf

from assignor._engine import choose
from assignor.spark.schemas import ASSIGNMENTS, KEYS, MEMBERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from assignor._engine import Engine

LONG = 8
"""Subscriptions with more topics than this are stored once per group; members refer to them by hash."""

_FIRST_BITS = 33
"""Number of the lower bits of `monotonically_increasing_id`, which count the rows of a Spark partition."""


def group_rows(members: DataFrame, columns: Sequence[str], current: DataFrame | None = None) -> DataFrame:
    """Collect members and owned partitions into a row per group.

    Args:
        members: Member rows with at least these columns.
        columns: The columns of `schemas.MEMBERS` that the input has.
        current: Rows of owned partitions, or None.

    Returns:
        `cluster`, `group_id` and `groups`: structs in the format of the engines. Rows of members
        without a cluster, group or id are collected under the keys that they have, with null for a missing key.
    """
    shared = F.size("topics") > LONG
    # Empty lists instead of null: Spark rescans all null lists at the end of a batch for each row that it appends.
    fields = []
    for name in columns:
        if name == "topics":
            short = F.when(~shared, F.col("topics"))
            fields.append(F.coalesce(short, F.array().cast(MEMBERS["topics"].dataType)).alias("topics"))
            fields.append(F.col("topics").isNotNull().alias("has_topics"))
            fields.append(F.when(shared, F.xxhash64("topics")).alias("subscription"))
        elif name not in KEYS:
            fields.append(F.col(name))
    structs = [F.struct(*fields).alias("member")]
    lists = {"members": F.collect_list("member")}
    if "topics" in columns:
        subscription = F.struct(F.xxhash64("topics").alias("subscription"), "topics")
        # Rows without a member id are only counted, so their subscriptions are not needed.
        structs.append(F.when(shared & F.col("member_id").isNotNull(), subscription).alias("subscription"))
        lists["subscriptions"] = F.collect_set("subscription")
    rows = members.select(*KEYS, *structs)
    if current is not None:
        owned = F.struct(*(name for name in ASSIGNMENTS.fieldNames() if name not in KEYS)).alias("owned")
        rows = rows.unionByName(current.select(*KEYS, owned), allowMissingColumns=True)
        lists["current"] = F.collect_list("owned")
    # All rows of a group are in one partition now, so Spark need not combine partial lists.
    grouped = rows.repartition(*KEYS).groupBy(*KEYS).agg(*(found.alias(name) for name, found in lists.items()))
    return grouped.select(*KEYS, F.struct(*KEYS, *lists).alias("groups"))


def clusters_row(topics: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return one row with all clusters and their topics, without topics that lack a name or a cluster."""
    topic = F.struct(*(name for name in columns if name != "cluster"))
    named = topics.where(F.col("cluster").isNotNull() & F.col("topic").isNotNull())
    of_clusters = named.groupBy("cluster").agg(F.collect_list(topic).alias("topics"))
    return of_clusters.agg(F.collect_list(F.struct("cluster", "topics")).alias("clusters"))


def call_engine(
    groups: DataFrame,
    clusters: DataFrame,
    method: str,
    answer: DataType,
    engine: Engine,
    *arguments: Any,
) -> DataFrame:
    """Call a method of the engine for each group.

    Args:
        groups: Result of `group_rows`.
        clusters: Result of `clusters_row`.
        method: Name of the method of `Clusters`.
        answer: Type of its result.
        engine: Engine whose `Clusters` is used.
        *arguments: Arguments of the method after the groups.

    Returns:
        `cluster`, `group_id` and `answer`.
    """
    computed = arrow_udf(_batch_function(method, engine, arguments), answer)  # type: ignore[call-overload]  # read from the hints
    # Spark may call a deterministic function twice, or filter rows before it, and the first row could get lost.
    computed = computed.asNondeterministic()
    is_first = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << _FIRST_BITS) - 1)) == 0
    first = F.when(is_first, F.col("clusters")).otherwise(F.slice("clusters", 1, 0)).alias("clusters")
    rows = groups.crossJoin(F.broadcast(clusters)).select(*KEYS, "groups", first)
    return rows.select(*KEYS, computed("groups", "clusters").alias("answer"))


def _batch_function(
    method: str, engine: Engine, arguments: tuple[Any, ...]
) -> Callable[[Iterator[tuple[pa.Array, pa.Array]]], Iterator[pa.Array]]:
    def call(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        from assignor import _core

        clusters_class = choose(engine, _core.Clusters, "fleet")
        known: Any = None
        for groups, clusters in batches:
            if known is None and len(clusters):
                known = clusters_class(clusters.slice(0, 1))
            if known is not None:
                yield from map(pa.array, getattr(known, method)(groups, *arguments))

    return call
