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
from assignor.spark.fleet_lag import owners_of
from assignor.spark.fleet_tables import read_table
from assignor.spark.packing import complete_runs
from assignor.spark.schemas import KEYS, SUMMED_TIME, TIME_LAG, TIMED_COMMITTED, TIMED_END_OFFSETS
from assignor.validation import read_index, shown

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt
    from pyspark.sql import DataFrame

_PLACE = ("cluster", "topic", "partition")


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
    known = end_offsets.where("at is not null")
    last = F.broadcast(known.groupBy("cluster").agg(F.max("at").alias("last")))
    # The lists are sorted by the reader, for all rows of a batch together.
    ends = known.groupBy(*_PLACE).agg(F.collect_list(F.struct("at", "end_offset", "start_offset")).alias("ends"))
    # All commits of a cluster without end offsets count: its positions are known, but not its lag.
    commits = committed.where("cluster is not null").join(last, "cluster", "left").where("at <= coalesce(last, at)")
    stands = F.collect_list(F.struct("at", "committed")).alias("commits")
    positions = commits.groupBy(*KEYS, "topic", "partition").agg(stands)
    rows = positions.join(owners_of(current), [*KEYS, "topic", "partition"], "full")
    rows = rows.join(ends, list(_PLACE), "left").join(last, "cluster", "left")
    named = rows.select(*KEYS, "topic", "partition", "member_id", "last", "ends", "commits")
    return named.mapInArrow(_computer(window_ms), TIME_LAG).where("committed is not null or member_id is not null")


def _sums(partitions: DataFrame, by: By) -> DataFrame:
    """Return the lag in time of groups, topics of groups or members, with the columns of `schemas.SUMMED_TIME`."""

    def sums(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for rows in complete_runs(batches, KEYS):
            clusters = rows["cluster"]
            for cluster in pc.unique(clusters):
                of_cluster = rows.filter(pc.equal(clusters, cluster))
                found = sum_lag_in_time(of_cluster.drop_columns("cluster"), by=by)
                names = pa.repeat(cluster, len(found))
                yield from found.add_column(0, "cluster", names).to_batches()

    # One call for all groups of a batch: a call has a fixed cost, which a call per group would pay for each group.
    return partitions.repartition(*KEYS).sortWithinPartitions(*KEYS).mapInArrow(sums, SUMMED_TIME[by])


def _computer(window_ms: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that Spark calls with the rows of a task."""

    def compute(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from _rows(batch, window_ms).to_batches()

    return compute


def _rows(batch: pa.RecordBatch, window_ms: int) -> pa.Table:
    """Return the lag of the partitions of a batch in time."""
    last = pc.fill_null(batch["last"], 0).to_numpy()
    row_of_end, (at, end, start) = _flat(batch["ends"], "at", "end_offset", "start_offset")
    row_of_commit, (since, committed) = _flat(batch["commits"], "at", "committed")
    is_last = at == last[row_of_end]
    ends, starts, offsets = (np.full(len(batch), UNKNOWN) for _ in range(3))
    ends[row_of_end[is_last]], starts[row_of_end[is_last]] = end[is_last], start[is_last]
    order = np.lexsort((committed, since, row_of_commit))  # of several commits at a time, the highest offset stands
    row_of_commit, since, committed = row_of_commit[order], since[order], committed[order]
    offsets[row_of_commit] = np.maximum(committed, UNKNOWN)  # the last one of a row stays
    columns = {name: pa.array(values, mask=values == UNKNOWN) for name, values in _named(offsets, starts, ends).items()}
    lag = compute_lag(*columns.values())
    table = pa.table(
        {
            **{name: batch[name] for name in ("group_id", "topic", "partition", "member_id")},
            **columns,
            **dict(zip(COMPUTED, lag, strict=True)),
        }
    )
    is_earlier = (at < last[row_of_end]) & (end != UNKNOWN)
    # Times count from the last time of the cluster, which differs between clusters.
    at, since = at - last[row_of_end], since - last[row_of_commit]
    row, at, end, start = (values[is_earlier] for values in (row_of_end, at, end, start))
    samples = align_arrays(row, at, end, start, row_of_commit, since, committed)
    timed = add_time(table.select(PARTITION_LAG.names).cast(PARTITION_LAG), 0, samples, window_ms=window_ms)
    return timed.add_column(0, "cluster", batch["cluster"])


def _named(*offsets: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[np.int64]]:
    return dict(zip(("committed", "start_offset", "end_offset"), offsets, strict=True))


def _flat(lists: pa.Array, *names: str) -> tuple[npt.NDArray[np.int64], list[npt.NDArray[np.int64]]]:
    """Return the index of the row of each element of lists of structs, and some fields of the elements; null is -1."""
    elements = lists.flatten()
    rows = pc.list_parent_indices(lists).to_numpy().astype(np.int64)
    fields = elements.flatten() if len(elements) else [pa.array([], pa.int64())] * len(names)
    kinds = [field.name for field in lists.type.value_type]
    columns = dict(zip(kinds, fields, strict=True))
    return rows, [pc.fill_null(columns[name], UNKNOWN).to_numpy(zero_copy_only=False) for name in names]
