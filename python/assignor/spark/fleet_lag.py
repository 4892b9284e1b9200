"""Lag of a fleet as DataFrames, with the rules of `assignor.lag`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lag import COMPUTED, LARGEST_LAG, PROBLEMS, compute_lag
from assignor.spark.executors import on_executors
from assignor.spark.fleet_tables import read_table
from assignor.spark.schemas import COMMITTED, END_OFFSETS, FLEET_LAG, KEYS
from assignor.validation import shown

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_PARTITION = (*KEYS, "topic", "partition")
_PLACE = ("cluster", "topic", "partition")
_MAX_PARTITION = 2**31 - 1
_LAG = StructType([FLEET_LAG[name] for name in COMPUTED])


def lag_by(current: DataFrame, committed: DataFrame, end_offsets: DataFrame, by: str) -> DataFrame:
    """Return the answer of `Fleet.lag`, which describes the arguments; `current` are the owned partitions."""
    if not isinstance(by, str) or by not in ("partition", "member", "group"):
        raise IllegalArgumentError(f"by must be 'partition', 'member' or 'group', not {shown(by)}")
    commits, _ = read_table(committed, COMMITTED, "committed", ())
    ends, _ = read_table(end_offsets, END_OFFSETS, "end_offsets", ())
    found = _lag_of_partitions(current, commits, ends)
    if by == "partition":
        return found
    return _lag_of_members(found) if by == "member" else _lag_of_groups(found)


def _lag_of_partitions(current: DataFrame, committed: DataFrame, end_offsets: DataFrame) -> DataFrame:
    """Return a row for each partition with a committed offset or an owner, with the columns of `schemas.FLEET_LAG`.

    Args:
        current: The columns of `schemas.ASSIGNMENTS`.
        committed: The columns of `schemas.COMMITTED`.
        end_offsets: The columns of `schemas.END_OFFSETS`.
    """
    commits = _once(committed.where("committed >= 0"), "committed", _PARTITION, ["committed"])
    ends = _once(end_offsets, "end_offsets", _PLACE, ["end_offset", "start_offset"])
    rows = commits.join(owners_of(current), list(_PARTITION), "full").join(ends, list(_PLACE), "left")
    lag = arrow_udf(on_executors(rows.sparkSession, _lag), _LAG)("committed", "start_offset", "end_offset")  # type: ignore[call-overload]  # Spark reads the kind from the hints
    return rows.select("*", lag.alias("found")).select("*", "found.*").select(*FLEET_LAG.fieldNames())


def _once(table: DataFrame, name: str, keys: tuple[str, ...], values: list[str]) -> DataFrame:
    """Return the rows that have all keys; the job fails if a key has several rows.

    The joins that follow have the same keys, so the rows are shuffled once.
    """
    named = table.where(" and ".join(f"`{key}` is not null" for key in keys))
    rows = named.groupBy(*keys).agg(F.count("*").alias("rows"), *(F.first(value).alias(value) for value in values))
    texts = ", ".join(f"{key} %s" if key == "partition" else f"{key} '%s'" for key in keys)
    message = F.format_string(f"{name}: {texts} has %s rows; one is allowed", *keys, "rows")
    first, *others = values
    checked = F.when(F.col("rows") > 1, F.raise_error(message)).otherwise(F.col(first))
    return rows.select(*keys, checked.alias(first), *others)


def _lag(committed: pa.Array, start: pa.Array, end: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays(compute_lag(committed, start, end), COMPUTED)


def _lag_of_members(partitions: DataFrame) -> DataFrame:
    """Return the sums of each member, with the columns of `schemas.MEMBER_LAG`."""
    owned = partitions.where(F.col("member_id").isNotNull())
    return owned.groupBy(*KEYS, "member_id").agg(*_sums())


def _lag_of_groups(partitions: DataFrame) -> DataFrame:
    """Return the sums of each group, with the columns of `schemas.GROUP_LAG`; a partition counts once."""
    firsts = [F.first(name).alias(name) for name in ("member_id", "lag", "problem")]
    once = partitions.groupBy(*_PARTITION).agg(*firsts)
    is_unowned = F.col("member_id").isNull()
    unowned = F.count_if(is_unowned).alias("unowned")
    return once.groupBy(*KEYS).agg(*_sums(), unowned, _sum(F.when(is_unowned, F.col("lag"))).alias("unowned_lag"))


def owners_of(current: DataFrame) -> DataFrame:
    """Return a row for each owned partition and owner; the job fails if a span is not a range of partition ids."""
    # Duplicates are removed before `explode`, while there are few rows to shuffle.
    distinct = F.array_distinct(F.flatten(F.collect_list("partitions")))
    return owned_ids(current).groupBy(*KEYS, "topic", "member_id").agg(F.explode(distinct).alias("partition"))


def owned_ids(current: DataFrame) -> DataFrame:
    """Return each span with the list of its partition ids, `partitions`; the job fails if it is not a range of ids."""
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
    return named.select(*keys, ids.alias("partitions"))


def _sums() -> list[Column]:
    counts = [F.count_if(F.coalesce(F.col("problem") == name, F.lit(False))).alias(name) for name in PROBLEMS]
    unknown = F.count_if(F.col("lag").isNull()).alias("unknown")
    return [F.count("*").alias("partitions"), _sum(F.col("lag")).alias("lag"), unknown, *counts]


def _sum(lag: Column) -> Column:
    """Return the sum of lags, at most `LARGEST_LAG`; null if none is known."""
    return F.coalesce(F.try_sum(lag), F.when(F.count(lag) > 0, F.lit(LARGEST_LAG)))
