"""Offsets of the partitions of a live cluster at earlier measurements, in bounded memory."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from assignor.dependencies import dependency
from assignor.lag_samples import UNKNOWN, Samples
from assignor.lag_time import WINDOW_MS, add_time

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from assignor.lag_retention import RowRetention

MOST_MEASUREMENTS = 200
"""Number of measurements at which every second one of those before the window of growth is dropped."""

MOST_ROWS = 1_000_000
"""Number of rows, one per measurement and partition of a group, at which every second measurement is dropped."""

_KEYS = ["group_id", "topic", "partition"]
_OFFSETS = ["end_offset", "start_offset", "committed"]


class OffsetHistory:
    """Offsets of partitions at the times of measurements."""

    def __init__(self) -> None:
        self._measurements: list[tuple[int, pa.Table]] = []

    def add(self, at: int, lags: pa.Table, retention: RowRetention | None = None) -> pa.Table:
        """Add a measurement, and return its partitions with their lag in time.

        Args:
            at: The time in milliseconds.
            lags: Lag of partitions, with the columns of `assignor.lag.PARTITION_LAG`.
            retention: Retention of the topic of each row; None if it is not known.

        Returns:
            The rows of `lags` with the columns of `assignor.lag_time.TIME_LAG`.
        """
        earlier = [(time, table) for time, table in self._measurements if time < at]
        timed = add_time(lags, at, _samples(lags, earlier), retention=retention)
        self._measurements = _thinned([*earlier, (at, lags.select([*_KEYS, *_OFFSETS]))], at)
        return timed


def _samples(lags: pa.Table, measurements: list[tuple[int, pa.Table]]) -> Samples:
    """Return the offsets of the rows at earlier measurements."""
    rows = lags.select(_KEYS).append_column("row", pa.array(np.arange(len(lags))))
    columns = [[np.empty(0, np.int64)] for _ in range(5)]
    for at, table in measurements:
        firsts = table.group_by(_KEYS, use_threads=False).aggregate([(name, "max") for name in _OFFSETS])
        found = rows.join(firsts.rename_columns([*_KEYS, *_OFFSETS]), _KEYS, join_type="inner")
        found = found.filter(pc.is_valid(found["end_offset"]))
        times = np.full(len(found), at, np.int64)
        offsets = [pc.fill_null(found[name], UNKNOWN).to_numpy() for name in _OFFSETS]
        for column, values in zip(columns, (found["row"].to_numpy(), times, *offsets), strict=True):
            column.append(values)
    return Samples(*(np.concatenate(column) for column in columns))


def _thinned(measurements: list[tuple[int, pa.Table]], at: int) -> list[tuple[int, pa.Table]]:
    """Return the measurements without every second old one if there are too many; the last one stays."""
    if len(measurements) > MOST_MEASUREMENTS:
        recent = list(itertools.dropwhile(lambda each: each[0] < at - WINDOW_MS, measurements))
        old = measurements[: len(measurements) - len(recent)]
        measurements = [*old[::2], *(recent if len(recent) <= MOST_MEASUREMENTS else recent[::-1][::2][::-1])]
    while len(measurements) > 2 and sum(len(table) for _, table in measurements) > MOST_ROWS:
        measurements = measurements[::-1][::2][::-1]
    return measurements
