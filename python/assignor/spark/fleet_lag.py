"""Lag of a fleet as DataFrames, with the rules of `assignor.lag`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from assignor.spark.schemas import FLEET_LAG, KEYS, LAG_PROBLEMS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PARTITION = (*KEYS, "topic", "partition")
_MAX_PARTITION = 2**31 - 1
_UNKNOWN_LAG = ("never_committed", "unknown_end", "beyond_end")


def lag_of_partitions(current: DataFrame, committed: DataFrame, end_offsets: DataFrame) -> DataFrame:
    """Return a row for each partition with a committed offset or an owner, with the columns of `schemas.FLEET_LAG`.

    Args:
        current: The columns of `schemas.ASSIGNMENTS`.
        committed: The columns of `schemas.COMMITTED`.
        end_offsets: The columns of `schemas.END_OFFSETS`.
    """
    positions = committed.where("committed >= 0").join(_owners(current), list(_PARTITION), "full")
    rows = positions.join(end_offsets, ["cluster", "topic", "partition"], "left")
    committed_at, start, end = F.col("committed"), F.col("start_offset"), F.col("end_offset")
    problem = (
        F.when(committed_at.isNull(), "never_committed")
        .when(end.isNull(), "unknown_end")
        .when(committed_at > end, "beyond_end")
        .when(committed_at < start, "before_start")
    )
    is_known = F.coalesce(~problem.isin(*_UNKNOWN_LAG), F.lit(True))
    deleted = F.when(is_known & start.isNotNull(), F.greatest(start - committed_at, F.lit(0)))
    found = rows.select(
        "*",
        F.when(is_known, end - committed_at).alias("lag"),
        deleted.cast("bigint").alias("deleted"),
        problem.alias("problem"),
    )
    return found.select(*FLEET_LAG.fieldNames())


def lag_of_members(partitions: DataFrame) -> DataFrame:
    """Return the sums of each member, with the columns of `schemas.MEMBER_LAG`."""
    owned = partitions.where(F.col("member_id").isNotNull())
    return owned.groupBy(*KEYS, "member_id").agg(*_sums())


def lag_of_groups(partitions: DataFrame) -> DataFrame:
    """Return the sums of each group, with the columns of `schemas.GROUP_LAG`; a partition counts once."""
    firsts = [F.first(name).alias(name) for name in ("member_id", "lag", "problem")]
    once = partitions.groupBy(*_PARTITION).agg(*firsts)
    is_unowned = F.col("member_id").isNull()
    unowned = F.count_if(is_unowned).alias("unowned")
    return once.groupBy(*KEYS).agg(*_sums(), unowned, F.sum(F.when(is_unowned, F.col("lag"))).alias("unowned_lag"))


def _owners(current: DataFrame) -> DataFrame:
    """Return a row for each owned partition and owner; the job fails if a span is not a range of partition ids."""
    keys = (*KEYS, "topic", "member_id")
    start, count, cluster = F.col("start"), F.col("count"), F.col("cluster")
    last = start + count.cast("bigint") - 1
    of_cluster = F.when(cluster == "", "").otherwise(F.format_string(" of cluster '%s'", cluster))
    message = F.format_string(
        "group '%s'%s: member '%s': start %s and count %s of topic '%s' are not a range of partition ids",
        *("group_id", of_cluster, "member_id", start, count, "topic"),
    )
    is_range = (start >= 0) & (count > 0) & (last <= _MAX_PARTITION)
    ids = F.when(is_range, F.sequence(start, last.cast("int"))).otherwise(F.raise_error(message))
    named = current.where(" and ".join(f"{key} is not null" for key in keys))
    # Duplicates are removed before `explode`, while there are few rows to shuffle.
    return named.groupBy(*keys).agg(F.explode(F.array_distinct(F.flatten(F.collect_list(ids)))).alias("partition"))


def _sums() -> list[Column]:
    counts = [F.count_if(F.coalesce(F.col("problem") == name, F.lit(False))).alias(name) for name in LAG_PROBLEMS]
    unknown = F.count_if(F.col("lag").isNull()).alias("unknown")
    return [F.count("*").alias("partitions"), F.sum("lag").alias("lag"), unknown, *counts]
