"""Lag in time of the groups of a recording, from the end offsets and commits up to the last time of the end offsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assignor.dependencies import dependency
from assignor.lag_samples import UNKNOWN, Samples
from assignor.lag_time import TIME_LAG, add_time
from assignor.lag_time_sums import sum_lag_in_time

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy.typing as npt

    from assignor.lag_time_sums import By

    Numbers = npt.NDArray[np.int64]

_SAMPLES = 2_000_000
"""Number of measurements that are compared at a time."""


def timed_lags(
    lags: pa.Table,
    times: Numbers,
    ends: tuple[Mapping[tuple[str, int], int], Numbers, Numbers],
    commits: tuple[Mapping[tuple[str, str, int], int], Numbers],
) -> pa.Table:
    """Return the lag of partitions in time, with the columns of `assignor.lag_time.TIME_LAG`.

    Args:
        lags: Lag of partitions at the last time, with the columns of `assignor.lag.PARTITION_LAG`.
        times: Times of the end offsets in milliseconds, in ascending order.
        ends: Row of each topic and partition, then first offsets and end offsets: a row per partition, a column per
            time. -1 is unknown.
        commits: Row of each group, topic and partition, then committed offsets as in `ends`.
    """
    places, starts, last = ends
    keys, offsets = commits
    earlier = len(times) - 1
    no_end, no_commit = np.full((1, len(times)), UNKNOWN), np.full((1, len(times)), UNKNOWN)
    starts, last, offsets = (np.vstack(pair) for pair in ((starts, no_end), (last, no_end), (offsets, no_commit)))
    names = [lags[name].to_pylist() for name in ("group_id", "topic", "partition")]
    of_log = np.array([places.get((topic, id), -1) for _, topic, id in zip(*names, strict=True)], np.int64)
    of_group = np.array([keys.get(key, -1) for key in zip(*names, strict=True)], np.int64)
    step = max(1, _SAMPLES // max(1, earlier))
    parts = [TIME_LAG.empty_table()]
    for first in range(0, len(lags), step):
        of_logs, of_groups = of_log[first : first + step], of_group[first : first + step]
        count = len(of_logs)
        samples = Samples(
            np.repeat(np.arange(count), earlier),
            np.tile(times[:-1], count),
            last[of_logs, :-1].ravel(),
            starts[of_logs, :-1].ravel(),
            offsets[of_groups, :-1].ravel(),
        )
        samples = samples.filter(samples.end != UNKNOWN)
        parts.append(add_time(lags.slice(first, step), int(times[-1]), samples))
    return pa.concat_tables(parts).combine_chunks()


def write_sums(lags: pa.Table, part: Path, *, has_details: bool) -> dict[str, dict[str, Any]]:
    """Write the tables `lag_topics` and `lag_members`, and return the sums of each group.

    Args:
        lags: Lag of partitions in time.
        part: Folder of the tables.
        has_details: True to add lists of the sums of topics and members to those of each group.
    """
    found = {row["group_id"]: {**row, "topics": None, "members": None} for row in sum_lag_in_time(lags).to_pylist()}
    kinds: tuple[tuple[By, str], ...] = (("topic", "topics"), ("member", "members"))
    for by, name in kinds:
        rows = sum_lag_in_time(lags, by=by)
        folder = part / f"lag_{name}"
        folder.mkdir()
        pq.write_table(rows, folder / "part-0.parquet")
        if has_details:
            for sums in found.values():
                sums[name] = []
            for row in rows.to_pylist():
                found[row.pop("group_id")][name].append(row)
    for sums in found.values():
        del sums["group_id"]
    return found
