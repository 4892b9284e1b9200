"""Lag in time of a fleet as DataFrames, with the rules of `assignor.lag_time`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast, get_args

import numpy as np

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lag import COMPUTED, PARTITION_LAG, compute_lag
from assignor.lag_samples import UNKNOWN, align_arrays
from assignor.lag_time import add_time
from assignor.lag_time_sums import By, sum_lag_in_time
from assignor.spark.executors import on_executors
from assignor.spark.fleet_lag import owned_ids
from assignor.spark.fleet_tables import read_table
from assignor.spark.packing import RUN, codes_of, complete_runs
from assignor.spark.schemas import KEYS, SUMMED_TIME, TIME_LAG, TIMED_COMMITTED, TIMED_END_OFFSETS
from assignor.validation import read_index, shown

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from assignor.lag_samples import Numbers

_PLACE = ("cluster", "topic", "partition")

_END, _COMMIT, _OWNER = range(3)
"""Kinds of rows."""


def time_lag_by(current: DataFrame, committed: DataFrame, end_offsets: DataFrame, by: str, window_ms: int) -> DataFrame:
    """Return the answer of `Fleet.lag_in_time`, which describes the arguments; `current` are the owned partitions."""
    if not isinstance(by, str) or by not in ("partition", *get_args(By)):
        raise IllegalArgumentError(f"by must be 'partition', 'topic', 'member' or 'group', not {shown(by)}")
    window_ms = read_index(window_ms, "window_ms")
    if window_ms < 1:
        raise IllegalArgumentError(f"window_ms must be at least 1, got {window_ms}")
    commits, _ = read_table(committed, TIMED_COMMITTED, "committed", ())
    ends, _ = read_table(end_offsets, TIMED_END_OFFSETS, "end_offsets", ())
    found = _time_lag_of_partitions(current, commits, ends, window_ms)
    return found if by == "partition" else _sums(found, cast("By", by))


def _time_lag_of_partitions(
    current: DataFrame, committed: DataFrame, end_offsets: DataFrame, window_ms: int
) -> DataFrame:
    """Return a row for each partition with a committed offset or an owner, with the columns of `schemas.TIME_LAG`.

    The lag is that at the last time of the end offsets of a cluster.

    Args:
        current: The columns of `schemas.ASSIGNMENTS`.
        committed: The columns of `schemas.TIMED_COMMITTED`.
        end_offsets: The columns of `schemas.TIMED_END_OFFSETS`.
        window_ms: Length of the time in which growth is measured.
    """
    ends = end_offsets.where(" and ".join(f"{name} is not null" for name in (*_PLACE, "at")))
    last = F.broadcast(ends.groupBy("cluster").agg(F.max("at").alias("last")))
    of_ends = ends.select(*_PLACE, F.lit(_END).alias("kind"), "at", F.col("end_offset").alias("offset"), "start_offset")
    of_commits = committed.where("cluster is not null and at is not null").select(
        *_PLACE, F.lit(_COMMIT).alias("kind"), "group_id", "at", F.col("committed").alias("offset")
    )
    id = F.explode("partitions").alias("partition")
    of_owners = owned_ids(current).select("cluster", "topic", id, F.lit(_OWNER).alias("kind"), "group_id", "member_id")
    # One shuffle of all three kinds costs less than joins of them.
    rows = of_ends.unionByName(of_commits, allowMissingColumns=True).unionByName(of_owners, allowMissingColumns=True)
    # All commits of a cluster without end offsets count: its positions are known, but not its lag.
    known = rows.join(last, "cluster", "left").where("at is null or at <= coalesce(last, at)")
    return _by_hash(known, _PLACE).mapInArrow(on_executors(known.sparkSession, _computer(window_ms)), TIME_LAG)


def _by_hash(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Bring rows with equal keys together. Spark sorts numbers in a fraction of the time of texts."""
    return rows.select("*", F.xxhash64(*keys).alias(RUN)).repartition(RUN).sortWithinPartitions(RUN)


def _sums(partitions: DataFrame, by: By) -> DataFrame:
    """Return the lag in time of groups, topics of groups or members, with the columns of `schemas.SUMMED_TIME`."""

    def sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # One call for all groups of a batch: a call has a fixed cost, which a call per group would pay for each group.
        for rows in complete_runs(batches, [RUN]):
            clusters = rows["cluster"]
            for cluster in pc.unique(clusters):
                of_cluster = rows.filter(pc.equal(clusters, cluster))
                found = sum_lag_in_time(of_cluster.drop_columns(["cluster", RUN]), by=by)
                names = pa.repeat(cluster, len(found))
                yield from found.add_column(0, "cluster", names).to_batches()

    return _by_hash(partitions, KEYS).mapInArrow(on_executors(partitions.sparkSession, sums), SUMMED_TIME[by])


def _computer(window_ms: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark calls with the rows of a task."""

    def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in complete_runs(batches, [RUN]):
            yield from _time_lag(rows, window_ms).to_batches()

    return compute


def _time_lag(given: pa.RecordBatch, window_ms: int) -> pa.Table:
    """Return the lag in time of all partitions that have rows, which are of all kinds."""
    last = pc.fill_null(given["last"], 0).to_numpy()
    kind, at, offset, start = (
        pc.fill_null(given[name], UNKNOWN).to_numpy() for name in ("kind", "at", "offset", "start_offset")
    )
    place = _numbered(*(codes_of(given[name]) for name in _PLACE))
    of_group = _numbered(place, codes_of(given["group_id"]))
    owners = _firsts(_numbered(of_group, codes_of(given["member_id"])), np.flatnonzero(kind == _OWNER))
    commits = np.flatnonzero(kind == _COMMIT)
    unowned = _firsts(of_group, commits[~np.isin(of_group[commits], of_group[owners])])
    rows = np.concatenate([owners, unowned])
    # Of several commits at a time, the highest offset stands.
    order = np.lexsort((start, offset, at))
    ends_in_order = order[kind[order] == _END]
    _check_ends(given, place, at, ends_in_order)
    row_of_end, end = _matches(place, rows, ends_in_order)
    row_of_commit, commit = _matches(of_group, rows, order[kind[order] == _COMMIT])

    ends, starts, offsets = (np.full(len(rows), UNKNOWN) for _ in range(3))
    is_last = at[end] == last[end]
    ends[row_of_end[is_last]], starts[row_of_end[is_last]] = offset[end[is_last]], start[end[is_last]]
    offsets[row_of_commit] = np.maximum(offset[commit], UNKNOWN)  # the last one of a row stays
    is_known = (offsets != UNKNOWN) | (np.arange(len(rows)) < len(owners))
    found = (pa.array(values, mask=values == UNKNOWN) for values in (offsets, starts, ends))
    columns = dict(zip(("committed", "start_offset", "end_offset"), found, strict=True))
    keys = given.select(["cluster", "group_id", "topic", "partition", "member_id"]).take(pa.array(rows))
    lag = dict(zip(COMPUTED, compute_lag(*columns.values()), strict=True))
    table = pa.table({**{name: keys[name] for name in keys.schema.names}, **columns, **lag})
    is_earlier = (at[end] < last[end]) & (offset[end] != UNKNOWN)
    row_of_end, end = row_of_end[is_earlier], end[is_earlier]
    # Times count from the last time of the cluster, which differs between clusters.
    at = at - last
    samples = align_arrays(
        *(row_of_end, at[end], offset[end], start[end]), *(row_of_commit, at[commit], offset[commit])
    )
    timed = add_time(table.select(PARTITION_LAG.names).cast(PARTITION_LAG), 0, samples, window_ms=window_ms)
    return timed.add_column(0, "cluster", table["cluster"]).filter(pa.array(is_known))


def _check_ends(given: pa.RecordBatch, place: Numbers, at: Numbers, ends: Numbers) -> None:
    """Raise an error if a partition has two end offsets at a time; `ends` are their rows in the order of `at`."""
    ends = ends[np.argsort(place[ends], kind="stable")]
    is_twice = (place[ends[1:]] == place[ends[:-1]]) & (at[ends[1:]] == at[ends[:-1]])
    if np.any(is_twice):
        row = int(ends[1:][is_twice][0])
        cluster, topic, partition, time = (given[name][row].as_py() for name in (*_PLACE, "at"))
        raise IllegalArgumentError(
            f"end_offsets: cluster '{cluster}', topic '{topic}', partition {partition} has several rows at {time}; "
            "one is allowed"
        )


def _numbered(*columns: Numbers) -> Numbers:
    """Return a number for each combination of the values of columns, which are not negative."""
    found = columns[0]
    for column in columns[1:]:
        _, found = np.unique(found * (column.max(initial=0) + 1) + column, return_inverse=True)
    return found


def _firsts(keys: Numbers, rows: Numbers) -> Numbers:
    """Return the first one of the rows with each key."""
    return rows[np.unique(keys[rows], return_index=True)[1]]


def _matches(keys: Numbers, rows: Numbers, others: Numbers) -> tuple[Numbers, Numbers]:
    """Return the pairs of a place in `rows` and one of the others with its key, which keep their order."""
    others = others[np.argsort(keys[others], kind="stable")]
    first, end = (np.searchsorted(keys[others], keys[rows], side) for side in ("left", "right"))
    count = end - first
    skipped = np.repeat(first - (np.cumsum(count) - count), count)
    return np.repeat(np.arange(len(rows)), count), others[np.arange(len(skipped)) + skipped]
