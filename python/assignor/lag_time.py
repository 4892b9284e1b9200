"""Lag in time: seconds behind, growth, time to catch up and distance to the start of the log, of each partition.

The input is the lag of partitions at one time, as `assignor.lag.partition_lag` returns it, and earlier end offsets and
committed offsets. `docs/lag.md` explains the rules. `assignor.lag_time_sums` sums up members, topics and groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lag import PARTITION_LAG, POSITIONS, TIMED_END_OFFSETS, compute_lag, select_columns
from assignor.lag_retention import row_retention
from assignor.lag_samples import UNKNOWN, Samples, align, range_of_rows
from assignor.validation import read_int

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from assignor.lag_retention import RowRetention

    Numbers = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]
    Flags = npt.NDArray[np.bool_]

__all__ = ["REASONS", "TIMED_COMMITTED", "TIME_LAG", "TRENDS", "WINDOW_MS", "lag_in_time"]

WINDOW_MS = 600_000
"""Length of the time in which growth is measured, in milliseconds."""

TIMED_COMMITTED = pa.schema(
    [("at", pa.int64()), *(POSITIONS.field(name) for name in ("group_id", "topic", "partition", "committed"))]
)
"""Committed offsets with the time in milliseconds from which they are known to stand."""

TRENDS = ("caught_up", "keeping_up", "catching_up", "steady", "falling_behind")
"""Values of the column `trend`, from the best to the worst.

caught_up       the lag is 0
keeping_up      the lag does not fall, and is not older than the time between two measurements and that between two
                commits together: it can be what was written since the last commit
catching_up     the lag falls
steady          the lag has no trend, and is older than that
falling_behind  the lag rises, and is older than that
"""

REASONS = {
    "never_committed": "the partition has no committed offset",
    "unknown_end": "the end offset is not known",
    "beyond_end": "the committed offset is beyond the end",
    "one_measurement": "the offsets were measured once",
    "before_first_measurement": "the record at the committed offset is older than the first measurement",
    "recreated": "the offsets of the partition went back: it was deleted and created again, or its log was truncated",
    "rewound": "the committed offset went back",
    "growing": "the lag grows",
    "steady": "the lag neither grows nor falls",
    "keeping_up": "the group reads records as they are written",
    "unknown_start": "the start of the log is not known",
    "before_start": "the committed offset is before the start: records that were not read are deleted",
    "start_does_not_move": "the start of the log did not move",
    "kept_forever": "the topic keeps its records",
    "compacted": "the topic is compacted and deletes no record by age: it keeps the last record of each key",
    "nothing_unread": "all records are read",
}
"""Values of the columns that end with `_reason`, and what they say: why the value beside it is null."""

TIME_COLUMNS = pa.schema(
    [
        ("behind_seconds", pa.float64()),
        ("behind_at_least", pa.float64()),
        ("behind_reason", pa.string()),
        ("growth_per_second", pa.float64()),
        ("growth_reason", pa.string()),
        ("trend", pa.string()),
        ("catch_up_seconds", pa.float64()),
        ("catch_up_reason", pa.string()),
        ("records_to_start", pa.int64()),
        ("start_reason", pa.string()),
        ("deleted_in_seconds", pa.float64()),
        ("deletion_reason", pa.string()),
    ]
)
"""Columns that `lag_in_time` adds."""

TIME_LAG = pa.schema([*PARTITION_LAG, *TIME_COLUMNS])
"""Lag of each partition in time: the columns of `assignor.lag.PARTITION_LAG`, and these. A value that is not known is
null, and the column with its reason has one of `REASONS`.

behind_seconds      age of the record at the committed offset, the next one that the group reads; 0 if the lag is 0
behind_at_least     lower bound if that record is older than the first measurement; null otherwise
growth_per_second   growth of the lag in records per second; negative if it falls
trend               one of `TRENDS`; null if it is not known
catch_up_seconds    time until the lag is 0 if it goes on falling as it does; 0 if the lag is 0
records_to_start    number of offsets from the start of the log to the committed offset
deleted_in_seconds  time until the record at the committed offset is deleted
"""


def lag_in_time(
    lags: pa.Table,
    at: int,
    end_offsets: pa.Table,
    committed: pa.Table,
    *,
    window_ms: int = WINDOW_MS,
    retention_ms: Mapping[str, int] | None = None,
    size_limited: Iterable[str] = (),
    compacted: Iterable[str] = (),
) -> pa.Table:
    """Return the lag of each partition in time.

    The time at which a record was written is interpolated between the two measurements of the end offset around it.
    Growth is the slope of the line of least squares through the lags of the last `window_ms`. The lag has a trend only
    if it changes along this line by more than twice its standard deviation from it.

    Args:
        lags: Lag of partitions, the result of `assignor.lag.partition_lag`.
        at: Time in milliseconds at which the offsets in `lags` were read.
        end_offsets: End offsets at earlier times, with the columns of `assignor.lag.TIMED_END_OFFSETS`, in any order.
            Rows of `at` and later, and rows without an end offset, do not count.
        committed: Committed offsets at earlier times, with the columns of `TIMED_COMMITTED`, in any order. One stands
            until the next of its group and partition. Null or a negative number stands for a deleted one.
        window_ms: Length of the time in which growth is measured.
        retention_ms: The setting `retention.ms` by topic, -1 for no limit. With it, a record is deleted when it is that
            old. For other topics the time is that in which the start of the log reaches the record at the speed with
            which it has moved.
        size_limited: Topics with the setting `retention.bytes`. Their records can be deleted before they are as old as
            `retention_ms` says, so the earlier of the two times counts.
        compacted: Topics whose `cleanup.policy` is `compact` alone: neither setting deletes a record of theirs.

    Returns:
        The rows of `lags`, in their order, with the columns of `TIME_LAG`.

    Raises:
        WrongTypeError: A table lacks a column, or a column cannot be converted to its type.
        IllegalArgumentError: `window_ms` is not positive.

    Example:
        >>> import pyarrow as pa
        >>> from assignor.lag import partition_lag
        >>> keys = {"group_id": "g", "topic": "t", "partition": 0}
        >>> times = [60_000 * minute for minute in range(5)]
        >>> ends = pa.Table.from_pylist(
        ...     [{**keys, "at": at, "start_offset": 0, "end_offset": at // 600} for at in times], TIMED_END_OFFSETS)
        >>> committed = pa.Table.from_pylist([{**keys, "at": at, "committed": at // 1_200} for at in times],
        ...                                  TIMED_COMMITTED)
        >>> positions = pa.Table.from_pylist([{**keys, "member_id": "a", "committed": 250}], POSITIONS)
        >>> last = pa.table({"topic": ["t"], "partition": [0], "start_offset": [0], "end_offset": [500]})
        >>> (row,) = lag_in_time(partition_lag(positions, last), 300_000, ends, committed).to_pylist()
        >>> row["lag"], row["behind_seconds"], row["growth_per_second"], row["trend"]
        (250, 150.0, 0.833333, 'falling_behind')
        >>> row["catch_up_seconds"], row["catch_up_reason"]
        (None, 'growing')
    """
    rows = select_columns(lags, "lags", PARTITION_LAG)
    ends = select_columns(end_offsets, "end_offsets", TIMED_END_OFFSETS)
    ends = ends.filter(pc.is_valid(ends["end_offset"]))
    commits = select_columns(committed, "committed", TIMED_COMMITTED)
    at, window_ms = read_int(at, "at", bits=64), read_int(window_ms, "window_ms", bits=64)
    retention = row_retention(rows, retention_ms, size_limited, compacted)
    samples = align(rows, ends.filter(pc.field("at") < at), commits.filter(pc.field("at") < at))
    return add_time(rows, at, samples, window_ms=window_ms, retention=retention)


def add_time(
    lags: pa.Table, at: int, samples: Samples, *, window_ms: int = WINDOW_MS, retention: RowRetention | None = None
) -> pa.Table:
    """Return the lag of each partition in time, as `lag_in_time`, from measurements that are already aligned.

    Args:
        lags: The columns of `assignor.lag.PARTITION_LAG`.
        at: Time in milliseconds at which the offsets in `lags` were read.
        samples: Measurements before `at`; their rows are indices of `lags`.
        window_ms: Length of the time in which growth is measured.
        retention: Retention of the topic of each row; None if it is not known.
    """
    if window_ms < 1:
        raise IllegalArgumentError(f"window_ms must be at least 1, got {window_ms}")
    found = _Rows(lags, at, samples, window_ms).columns(retention)
    for field in TIME_COLUMNS:
        lags = lags.append_column(field, found[field.name])
    return lags


class _Rows:
    """Computation of the columns `TIME_COLUMNS` for the rows of a table."""

    def __init__(self, lags: pa.Table, at: int, samples: Samples, window_ms: int) -> None:
        self._at, self._window_ms, self._count = at, window_ms, len(lags)
        self._lag, self._committed, self._end, self._start = (
            pc.fill_null(lags[name], UNKNOWN).to_numpy() for name in ("lag", "committed", "end_offset", "start_offset")
        )
        self._is_known = lags["lag"].is_valid().to_numpy()
        self._has_start = lags["start_offset"].is_valid().to_numpy() & self._is_known
        self._problem = lags["problem"].to_numpy(zero_copy_only=False).astype(object)
        self._samples, self._is_recreated = self._comparable(self._with_last(samples))

    def columns(self, retention: RowRetention | None) -> dict[str, pa.Array]:
        """Return the columns by name."""
        behind, at_least, behind_reason = self._behind()
        growth, change, growth_reason = self._growth()
        trend = self._trend(behind, growth, change)
        catch_up = np.where(trend == "catching_up", self._lag / np.where(growth < 0, -growth, 1.0), np.nan)
        catch_up = np.where(trend == "caught_up", 0.0, catch_up)
        blocked = {"falling_behind": "growing", "steady": "steady", "keeping_up": "keeping_up"}
        catch_up_reason = np.array([blocked.get(each, why) for each, why in zip(trend, growth_reason, strict=True)])
        distance, start_reason = self._distance()
        deletion, deletion_reason = self._deletion(distance, start_reason, behind, behind_reason, retention)
        is_far = ~np.isnan(distance)
        return {
            "behind_seconds": _floats(behind),
            "behind_at_least": _floats(at_least),
            "behind_reason": _reasons(behind, behind_reason),
            "growth_per_second": _floats(growth, 6),
            "growth_reason": _reasons(growth, growth_reason),
            "trend": pa.array(trend.tolist(), pa.string()),
            "catch_up_seconds": _floats(catch_up),
            "catch_up_reason": _reasons(catch_up, catch_up_reason),
            "records_to_start": pa.array(self._committed - self._start, mask=~is_far),
            "start_reason": _reasons(distance, start_reason),
            "deleted_in_seconds": _floats(deletion),
            "deletion_reason": _reasons(deletion, deletion_reason),
        }

    def _with_last(self, samples: Samples) -> Samples:
        """Return the samples of rows with a known lag, and their last measurement, sorted by row and time."""
        samples = samples.filter(self._is_known[samples.row]) if len(samples.row) else samples
        rows = np.flatnonzero(self._is_known)
        last = Samples(
            rows,
            np.full(len(rows), self._at, np.int64),
            self._end[rows],
            np.where(self._has_start, self._start, UNKNOWN)[rows],
            self._committed[rows],
        )
        both = [np.concatenate(pair) for pair in zip(samples.columns(), last.columns(), strict=True)]
        order = np.lexsort((both[1], both[0]))
        return Samples(*(column[order] for column in both))

    def _comparable(self, samples: Samples) -> tuple[Samples, Flags]:
        """Return the samples since the offsets of a partition last went back, and for each row whether they did."""
        is_same = samples.follows()
        is_back = is_same & (samples.end < np.roll(samples.end, 1))
        has_starts = (samples.start != UNKNOWN) & (np.roll(samples.start, 1) != UNKNOWN)
        is_back |= is_same & has_starts & (samples.start < np.roll(samples.start, 1))
        recreated = np.zeros(self._count, np.bool_)
        recreated[samples.row[is_back]] = True
        return samples.filter(samples.since_last(is_back)), recreated

    def _behind(self) -> tuple[Floats, Floats, npt.NDArray[np.object_]]:
        """Return the age of the next record in seconds, a lower bound where it is not known, and the reason."""
        samples = self._samples
        counts = np.bincount(samples.row, minlength=self._count)
        firsts = np.cumsum(counts) - counts
        not_after = np.bincount(samples.row, samples.end <= self._committed[samples.row], self._count).astype(np.int64)
        behind = np.where(self._is_known & (self._lag == 0), 0.0, np.nan)
        is_between = self._is_known & (self._lag > 0) & (not_after > 0)
        before = (firsts + not_after - 1)[is_between]
        after = before + 1
        part = (self._committed[is_between] - samples.end[before]) / (samples.end[after] - samples.end[before])
        written = samples.at[before] - self._at + part * (samples.at[after] - samples.at[before])
        behind[is_between] = -written / 1_000
        is_older = self._is_known & (self._lag > 0) & (not_after == 0)
        at_least = np.full(self._count, np.nan)
        has_bound = is_older & (counts > 1)
        at_least[has_bound] = (self._at - samples.at[firsts[has_bound]]) / 1_000
        reason = np.where(counts > 1, "before_first_measurement", "one_measurement").astype(object)
        reason[self._is_recreated] = "recreated"
        return behind, at_least, self._with_problems(reason)

    def _growth(self) -> tuple[Floats, Floats, npt.NDArray[np.object_]]:
        """Return the slope of the lag, by how much the lag changes more than it scatters, and the reason."""
        samples = self._samples.filter(self._samples.at >= self._at - self._window_ms)
        lag, _, _ = compute_lag(
            pa.array(samples.committed, mask=samples.committed < 0),
            pa.array(samples.start, mask=samples.start == UNKNOWN),
            pa.array(samples.end),
        )
        has_lag = lag.is_valid().to_numpy(zero_copy_only=False)
        samples, lag = samples.filter(has_lag), lag.drop_null().to_numpy().astype(np.float64)
        is_back = samples.follows() & (samples.committed < np.roll(samples.committed, 1))
        is_kept = samples.since_last(is_back)
        rewound = np.zeros(self._count, np.bool_)
        rewound[samples.row[is_back]] = True
        samples, lag = samples.filter(is_kept), lag[is_kept]
        row, count = samples.row, np.bincount(samples.row, minlength=self._count)
        seconds = (samples.at - self._at) / 1_000
        has_line = count > 1

        def mean(values: Floats) -> Floats:
            found: Floats = np.bincount(row, values, self._count) / np.maximum(count, 1)
            return found

        x, y = seconds - mean(seconds)[row], lag - mean(lag)[row]
        slope = np.bincount(row, x * y, self._count) / np.where(has_line, np.bincount(row, x * x, self._count), 1.0)
        slope[~has_line] = np.nan
        rest = y - slope[row] * x
        span = range_of_rows(seconds, row, self._count)
        scatter = 2 * np.sqrt(np.bincount(row, rest * rest, self._count) / np.maximum(count, 1))
        self._interval = self._times_between(samples, span, count)
        reason = np.full(self._count, "one_measurement", object)
        reason[self._is_recreated] = "recreated"
        reason[rewound] = "rewound"
        # Sums of floating-point numbers leave a remainder where all points are on the line.
        tolerance = 1e-9 * np.maximum(1.0, np.abs(self._lag))
        return slope, np.abs(slope) * span - scatter - tolerance, self._with_problems(reason)

    def _times_between(self, samples: Samples, span: Floats, count: Numbers) -> Floats:
        """Return the usual time between two measurements plus that between two commits, in seconds."""
        has_moved = samples.follows() & (samples.committed != np.roll(samples.committed, 1))
        commits = np.bincount(samples.row[has_moved], minlength=self._count)
        found: Floats = span / np.maximum(count - 1, 1) + np.where(commits > 0, span / np.maximum(commits, 1), 0.0)
        return found

    def _trend(self, behind: Floats, growth: Floats, change: Floats) -> npt.NDArray[np.object_]:
        """Return the trend of each row; None if it is not known."""
        trend = np.full(self._count, None, object)
        has_growth = ~np.isnan(growth)
        trend[has_growth] = "steady"
        trend[(change > 0) & (growth > 0)] = "falling_behind"
        trend[has_growth & (behind <= self._interval)] = "keeping_up"
        trend[(change > 0) & (growth < 0)] = "catching_up"
        trend[self._is_known & (self._lag == 0)] = "caught_up"
        return trend

    def _distance(self) -> tuple[Floats, npt.NDArray[np.object_]]:
        """Return the number of offsets from the start of the log to the committed one, and the reason."""
        is_after = self._has_start & (self._committed >= self._start)
        distance = np.where(is_after, (self._committed - self._start).astype(np.float64), np.nan)
        reason = np.where(self._has_start, "before_start", "unknown_start").astype(object)
        return distance, self._with_problems(reason)

    def _deletion(
        self,
        distance: Floats,
        start_reason: npt.NDArray[np.object_],
        behind: Floats,
        behind_reason: npt.NDArray[np.object_],
        retention: RowRetention | None,
    ) -> tuple[Floats, npt.NDArray[np.object_]]:
        """Return the time until the record at the committed offset is deleted, and the reason."""
        samples = self._samples.filter(self._samples.start != UNKNOWN)
        span = range_of_rows(samples.at / 1_000, samples.row, self._count)
        moved = range_of_rows(samples.start.astype(np.float64), samples.row, self._count)
        counts = np.bincount(samples.row, minlength=self._count)
        is_moving = (counts > 1) & (moved > 0)
        found = np.where(is_moving, distance * span / np.where(is_moving, moved, 1.0), np.nan)
        reason = np.where(counts > 1, "start_does_not_move", "one_measurement").astype(object)
        if retention is not None:
            found, reasons = retention.deletion(found, behind)
            for name, is_so in reasons.items():
                reason[is_so] = behind_reason[is_so] if name == "behind" else name
        is_before = np.isnan(distance)
        found[is_before], reason[is_before] = np.nan, start_reason[is_before]
        is_read = self._is_known & (self._lag == 0)
        found[is_read], reason[is_read] = np.nan, "nothing_unread"
        return found, reason

    def _with_problems(self, reason: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
        """Return the reasons, with the problem of each row whose lag is not known in their place."""
        found = reason.copy()
        found[~self._is_known] = self._problem[~self._is_known]
        return found


def _floats(values: Floats, digits: int = 3) -> pa.Array:
    """Return rounded numbers; NaN is null."""
    return pa.array(np.round(values, digits) + 0.0, mask=np.isnan(values))


def _reasons(values: Floats, reasons: npt.NDArray[np.object_]) -> pa.Array:
    """Return the reasons of the values that are not known."""
    return pa.array(
        [why if is_null else None for why, is_null in zip(reasons, np.isnan(values), strict=True)], pa.string()
    )
