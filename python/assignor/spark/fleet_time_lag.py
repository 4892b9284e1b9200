"""Lag in time of a fleet as DataFrames, with the rules of `assignor.lag_time`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignor.dependencies import dependency
from assignor.lag import COMPUTED, PARTITION_LAG, compute_lag
from assignor.lag_samples import UNKNOWN, align_arrays
from assignor.lag_time import add_time
from assignor.lag_time_sums import sum_lag_in_time
from assignor.spark.fleet_lag import owners_of
from assignor.spark.schemas import KEYS, SUMMED_TIME, TIME_LAG

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt
    from pyspark.sql import DataFrame

    from assignor.lag_time_sums import By

_PLACE = ("cluster", "topic", "partition")


def time_lag_of_partitions(
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
    last = known.groupBy("cluster").agg(F.max("at").alias("last"))
    measured = F.struct("at", "end_offset", "start_offset")
    ends = known.groupBy(*_PLACE).agg(F.array_sort(F.collect_list(measured)).alias("ends"))
    stands = F.struct("at", "committed")
    commits = committed.join(last, "cluster").where("at <= last").groupBy(*KEYS, "topic", "partition")
    positions = commits.agg(F.array_sort(F.collect_list(stands)).alias("commits"))
    rows = positions.join(owners_of(current), [*KEYS, "topic", "partition"], "full")
    rows = rows.join(ends, list(_PLACE), "left").join(F.broadcast(last), "cluster", "left")
    named = rows.select(*KEYS, "topic", "partition", "member_id", "last", "ends", "commits")
    return named.mapInArrow(_computer(window_ms), TIME_LAG).where("committed is not null or member_id is not null")


def time_lag_by(partitions: DataFrame, by: By) -> DataFrame:
    """Return the lag in time of groups, topics of groups or members, with the columns of `schemas.SUMMED_TIME`."""

    def sums(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
        found = sum_lag_in_time(table, by=by)
        cluster = pa.array([key[0].as_py()] * len(found), pa.string())
        return found.add_column(0, "cluster", cluster)

    return partitions.groupBy(*KEYS).applyInArrow(sums, SUMMED_TIME[by])


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
    is_last = (at == last[row_of_end]) & (end != UNKNOWN)
    ends, starts, offsets = (np.full(len(batch), UNKNOWN) for _ in range(3))
    ends[row_of_end[is_last]], starts[row_of_end[is_last]] = end[is_last], start[is_last]
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
