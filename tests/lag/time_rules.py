"""Rules of lag in time in plain Python, with which the tests compare `assignor.lag_time`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Row = dict[str, Any]

COMPARED = ("behind_seconds", "behind_at_least", "growth_per_second", "trend", "catch_up_seconds", "records_to_start")
"""Columns that `time_row` returns."""


def time_row(lag: Row, at: int, ends: Iterable[Row], commits: Iterable[Row], window: int) -> Row:
    """Return the lag of a partition in time.

    Args:
        lag: Row of `partition_lag`.
        at: Time of the row in milliseconds.
        ends: Earlier end offsets of the partition.
        commits: Earlier committed offsets of the group for the partition.
        window: Length of the time in which growth is measured.
    """
    found: Row = dict.fromkeys(COMPARED)
    if lag["lag"] is None:
        return found
    start, committed = lag["start_offset"], lag["committed"]
    if start is not None and committed >= start:
        found["records_to_start"] = committed - start
    ordered = sorted(commits, key=lambda row: row["at"])
    series = []
    for end in sorted(ends, key=lambda row: row["at"]):
        standing = [row["committed"] for row in ordered if row["at"] <= end["at"]][-1:]
        offset = standing[0] if standing and standing[0] is not None and standing[0] >= 0 else None
        if end["at"] < at and end["end_offset"] is not None:
            series.append((end["at"], end["end_offset"], end["start_offset"], offset))
    series.append((at, lag["end_offset"], start, committed))
    series = _since_recreated(series)
    if lag["lag"] == 0:
        found["behind_seconds"] = 0.0
    elif series[0][1] > committed:
        found["behind_at_least"] = (at - series[0][0]) / 1_000 if len(series) > 1 else None
    else:
        before = max(index for index, each in enumerate(series) if each[1] <= committed)
        (time, low, *_), (later, high, *_) = series[before : before + 2]
        found["behind_seconds"] = (at - time - (committed - low) / (high - low) * (later - time)) / 1_000
    growth, change, interval = _line(series, at, window)
    found["growth_per_second"] = growth
    behind = found["behind_seconds"]
    if lag["lag"] == 0:
        found["trend"], found["catch_up_seconds"] = "caught_up", 0.0
    elif growth is not None:
        found["trend"] = "steady"
        if change and growth > 0:
            found["trend"] = "falling_behind"
        if behind is not None and behind <= interval:
            found["trend"] = "keeping_up"
        if change and growth < 0:
            found["trend"], found["catch_up_seconds"] = "catching_up", lag["lag"] / -growth
    return found


def _since_recreated(series: list[Any]) -> list[Any]:
    first = 0
    for index in range(1, len(series)):
        (_, end, start, _), (_, end_before, start_before, _) = series[index], series[index - 1]
        is_back = start is not None and start_before is not None and start < start_before
        if end < end_before or is_back:
            first = index
    return series[first:]


def _line(series: list[Any], at: int, window: int) -> tuple[float | None, bool, float]:
    """Return the slope of the lag, whether it is more than scatter, and the time between measurements and commits."""
    points: list[tuple[float, int, int]] = []
    for time, end, _, committed in series:
        if time < at - window or committed is None or committed > end:
            continue
        if points and committed < points[-1][2]:
            points = []
        points.append(((time - at) / 1_000, end - committed, committed))
    if len(points) < 2:
        return None, False, 0.0
    count, span = len(points), points[-1][0] - points[0][0]
    middle, mean = sum(x for x, *_ in points) / count, sum(y for _, y, _ in points) / count
    slope = sum((x - middle) * (y - mean) for x, y, _ in points) / sum((x - middle) ** 2 for x, *_ in points)
    rest = [y - mean - slope * (x - middle) for x, y, _ in points]
    scatter = 2 * math.sqrt(sum(each * each for each in rest) / count)
    moves = sum(points[index][2] != points[index - 1][2] for index in range(1, count))
    interval = span / (count - 1) + (span / moves if moves else 0.0)
    return slope, abs(slope) * span - scatter > 1e-9 * max(1, points[-1][1]), interval
