"""Problems of a fleet: rows without a key, invalid topics and groups, parts of a cluster that were not read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.spark.grouping import TEXT
from assignor.spark.schemas import PROBLEMS

with dependency("pyspark"):
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType, StructField, StructType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from assignor.cluster.snapshot import ClusterSnapshot


INVALID = StructType([StructField(name, StringType()) for name in ("cluster", "topic", "reason")])
"""Invalid topics, with the reasons."""


def problems_of(
    topics: DataFrame,
    members: DataFrame,
    current: DataFrame | None,
    snapshot: ClusterSnapshot | None,
    invalid: DataFrame,
    reasons: DataFrame,
) -> DataFrame:
    """Return problems, with the columns of `schemas.PROBLEMS`.

    Args:
        topics: The topics of a fleet.
        members: Its members.
        current: The partitions that they own, or None.
        snapshot: The cluster that the fleet was read from, or None.
        invalid: Invalid topics, with the columns `INVALID`.
        reasons: Why groups are invalid or not computed: the keys and a text.
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
    for table, frame, name, reason in (("topics", invalid, "topic", "reason"), ("group", reasons, "group_id", TEXT)):
        columns = (F.lit(table).alias("table"), "cluster", F.col(name).alias("name"), F.col(reason).alias("problem"))
        problems.append(frame.select(*columns, F.lit(1).cast("bigint").alias("rows")))
    first, *others = problems
    for other in others:
        first = first.unionByName(other)
    return first


def _rows_without_keys(table: str, frame: DataFrame, required: tuple[str, ...]) -> DataFrame:
    """Return the number of rows that lack a key, by the keys that they have."""
    keys = ("cluster", *required)
    missing = F.concat_ws(", ", *(F.when(F.col(key).isNull(), F.lit(key)) for key in keys))
    rows = frame.where(" or ".join(f"`{key}` is null" for key in keys))
    # Spark sends texts that are not UTF-8 to Python as they are, where they cannot be read.
    shown = (F.make_valid_utf8(F.col(key)).alias(name) for key, name in (("cluster", "cluster"), (required[0], "name")))
    named = rows.select(*shown, F.concat(F.lit("no "), missing).alias("problem"))
    counted = named.groupBy("cluster", "name", "problem").agg(F.count("*").alias("rows"))
    return counted.select(F.lit(table).alias("table"), "cluster", "name", "problem", "rows")
