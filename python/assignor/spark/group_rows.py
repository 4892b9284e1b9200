"""One row per group, and one call per Arrow batch of such rows: the shape of all that `Fleet` does.

The rows of a group's members become one row with a list of them. What several members subscribe to is in that row once,
if it is long. The topics of all clusters reach a worker with the first row of each partition, and are kept while it has
rows: so no query joins topics with members, and nothing is read while a query is written.
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
"""A subscription of more topics is told once for all members of a group that have it, and by a hash for each."""

_FIRST_BITS = 33
"""In what `monotonically_increasing_id` gives, the lower bits count the rows of a partition."""


def group_rows(members: DataFrame, columns: Sequence[str], current: DataFrame | None = None) -> DataFrame:
    """The groups, a row each.

    Args:
        members: The rows of members, with at least these columns.
        columns: Those columns of `schemas.MEMBERS` that are there.
        current: The rows of what members have, or None.

    Returns:
        `cluster`, `group_id` and `groups`, which are structs as the engines take them. A row of a member without a
        cluster, a group or an id is in the row of its keys, null being one.
    """
    shared = F.size("topics") > LONG
    # Lists are never null here, but empty: Spark goes through all null ones at the end of a batch for each row it adds.
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
        # What a row without a member id subscribes to is nobody's, whatever it is.
        structs.append(F.when(shared & F.col("member_id").isNotNull(), subscription).alias("subscription"))
        lists["subscriptions"] = F.collect_set("subscription")
    rows = members.select(*KEYS, *structs)
    if current is not None:
        held = F.struct(*(name for name in ASSIGNMENTS.fieldNames() if name not in KEYS)).alias("held")
        rows = rows.unionByName(current.select(*KEYS, held), allowMissingColumns=True)
        lists["current"] = F.collect_list("held")
    # Once the rows of a group are in one place nothing is gained by putting some together before.
    grouped = rows.repartition(*KEYS).groupBy(*KEYS).agg(*(found.alias(name) for name, found in lists.items()))
    return grouped.select(*KEYS, F.struct(*KEYS, *lists).alias("groups"))


def clusters_row(topics: DataFrame, columns: Sequence[str]) -> DataFrame:
    """One row with all clusters and their topics; topics without a name or a cluster are nobody's."""
    topic = F.struct(*(name for name in columns if name != "cluster"))
    named = topics.where(F.col("cluster").isNotNull() & F.col("topic").isNotNull())
    of_clusters = named.groupBy("cluster").agg(F.collect_list(topic).alias("topics"))
    return of_clusters.agg(F.collect_list(F.struct("cluster", "topics")).alias("clusters"))


def ask(
    groups: DataFrame,
    clusters: DataFrame,
    verb: str,
    answer: DataType,
    engine: Engine,
    *arguments: Any,
) -> DataFrame:
    """What the engine answers for each group.

    Args:
        groups: What `group_rows` gives.
        clusters: What `clusters_row` gives.
        verb: The method of `Clusters` to call.
        answer: The type of its answer.
        engine: Which `Clusters`.
        *arguments: What the method takes besides groups.

    Returns:
        `cluster`, `group_id` and `answer`.
    """
    asked = arrow_udf(_asking(verb, engine, arguments), answer)  # type: ignore[call-overload]  # told by the hints
    # Spark may call what is deterministic twice, and put filters before it: then the first row would not be the first.
    asked = asked.asNondeterministic()
    is_first = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << _FIRST_BITS) - 1)) == 0
    first = F.when(is_first, F.col("clusters")).otherwise(F.slice("clusters", 1, 0)).alias("clusters")
    rows = groups.crossJoin(F.broadcast(clusters)).select(*KEYS, "groups", first)
    return rows.select(*KEYS, asked("groups", "clusters").alias("answer"))


def _asking(
    verb: str, engine: Engine, arguments: tuple[Any, ...]
) -> Callable[[Iterator[tuple[pa.Array, pa.Array]]], Iterator[pa.Array]]:
    def asking(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        from assignor import _core

        clusters_class = choose(engine, _core.Clusters, "fleet")
        known: Any = None
        for groups, clusters in batches:
            if known is None and len(clusters):
                known = clusters_class(clusters.slice(0, 1))
            if known is not None:
                yield from map(pa.array, getattr(known, verb)(groups, *arguments))

    return asking
