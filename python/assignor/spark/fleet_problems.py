"""Problems of a fleet: rows that lack a key, parts of a cluster that were not read, groups that are not computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.spark.grouping import TEXT
from assignor.spark.schemas import PROBLEMS

with dependency("pyspark"):
    from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from assignor.cluster.snapshot import ClusterSnapshot


def problems_of(
    topics: DataFrame,
    members: DataFrame,
    current: DataFrame | None,
    snapshot: ClusterSnapshot | None,
    reasons: DataFrame | None,
) -> DataFrame:
    """Return problems, with the columns of `schemas.PROBLEMS`.

    Args:
        topics: The topics of a fleet.
        members: Its members.
        current: The partitions that they own, or None.
        snapshot: The cluster that the fleet was read from, or None.
        reasons: Why groups are not computed: the keys and a text; None if all groups are computed.
    """
    tables = {"topics": (topics, ("topic",)), "members": (members, ("group_id", "member_id"))}
    if current is not None:
        tables["current"] = (current, ("group_id", "member_id", "topic"))
    problems = [_rows_without_keys(table, frame, required) for table, (frame, required) in tables.items()]
    if snapshot is not None:
        unread = [(each.what, snapshot.cluster, each.name, each.reason, 1) for each in snapshot.problems]
        guessed = [("member", snapshot.cluster, each.group_id, each.reason, 1) for each in snapshot.guessed]
        rows = members.sparkSession.createDataFrame([*unread, *guessed], PROBLEMS)
        problems.append(rows.groupBy("table", "cluster", "name", "problem").agg(F.sum("rows").alias("rows")))
    if reasons is not None:
        problems.append(
            reasons.select(
                F.lit("group").alias("table"),
                "cluster",
                F.col("group_id").alias("name"),
                F.col(TEXT).alias("problem"),
                F.lit(1).cast("bigint").alias("rows"),
            )
        )
    first, *others = problems
    for other in others:
        first = first.unionByName(other)
    return first


def _rows_without_keys(table: str, frame: DataFrame, required: tuple[str, ...]) -> DataFrame:
    """Return the number of rows that lack a key, by the keys that they have."""
    keys = ("cluster", *required)
    missing = F.concat_ws(", ", *(F.when(F.col(key).isNull(), F.lit(key)) for key in keys))
    rows = frame.where(" or ".join(f"`{key}` is null" for key in keys))
    named = rows.select("cluster", F.col(required[0]).alias("name"), F.concat(F.lit("no "), missing).alias("problem"))
    counted = named.groupBy("cluster", "name", "problem").agg(F.count("*").alias("rows"))
    return counted.select(F.lit(table).alias("table"), "cluster", "name", "problem", "rows")
