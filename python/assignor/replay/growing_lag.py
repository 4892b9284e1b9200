"""Growing lag on a live cluster, by the rule of a report: `assignor.lag_growth`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.lag_growth import RISES, Growth, Measurement, find_growth
from assignor.lines import escape, format_count, format_duration, format_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.replay.conditions import Conditions

    Row = Mapping[str, Any]

UNKNOWN_INTERVAL_MS = 300_000
"""Assumed time between the commits of a group until two of its commits have been seen."""

MOST_MEASUREMENTS = 120
"""Number of measurements of a group at which every second one is dropped, so that older ones are further apart."""


class GroupMeasurement(NamedTuple):
    """Lag of a group at one time.

    Attributes:
        group: Group id.
        lag: Sum of the known lags of its partitions; None if none is known.
        produced: Number of records that its partitions got since the previous measurement.
        interval: Usual time between commits in milliseconds; None if it is not known.
        generation: Generation or epoch of the group; None if it has no members.
    """

    group: str
    lag: int | None
    produced: int
    interval: float | None
    generation: int | None


class GrowingLag:
    """Groups whose lag grows while their generation does not change."""

    def __init__(self) -> None:
        self._series: dict[str, list[Measurement]] = {}

    def add(self, at: int, measured: Iterable[GroupMeasurement]) -> dict[str, Growth]:
        """Add a measurement of all groups, and return the groups whose lag grows now.

        Args:
            at: Time of the measurement in milliseconds.
            measured: The groups; a group that is missing no longer exists.
        """
        found: dict[str, Growth] = {}
        series: dict[str, list[Measurement]] = {}
        for each in measured:
            if each.lag is None or each.generation is None:
                continue
            earlier = self._series.get(each.group, [])
            # A lag of 0 is a low point below all earlier ones, and growth is found within one generation.
            if not each.lag or (earlier and earlier[-1].generation != each.generation):
                earlier = []
            series[each.group] = kept = _thinned([*earlier, Measurement(at, each.lag, each.produced, each.generation)])
            if len(kept) > RISES:
                interval = UNKNOWN_INTERVAL_MS if each.interval is None else each.interval
                growth = find_growth(kept, round(2 * interval))
                if growth is not None and growth.until is None:
                    found[each.group] = growth
        self._series = series
        return found


def note_growth(growing: Mapping[str, Growth], conditions: Conditions, in_time: Mapping[str, Row]) -> list[str]:
    """Change the conditions of the groups whose lag begins to grow or stops growing; return a sentence for each.

    Args:
        growing: Groups whose lag grows now.
        conditions: Conditions of the groups.
        in_time: Lag in time by group, with the columns of `assignor.lag_time_sums.SUMMED_TIME`.
    """
    sentences = []
    for group, condition in conditions.groups.items():
        if condition.growing_since is not None and group not in growing:
            condition.growing_since = None
            sentences.append(f"lag of group {escape(group)} no longer grows{_in_time(in_time.get(group))}")
    for group, growth in growing.items():
        condition = conditions.of(group)
        if condition.growing_since is None:
            condition.growing_since = growth.since
            sentences.append(
                f"lag of group {escape(group)} grows: from {growth.first:,} to {format_count(growth.last, 'record')} "
                f"since {format_time(growth.since)}{_in_time(in_time.get(group))}"
            )
    return sentences


def _in_time(row: Row | None) -> str:
    """Return how far behind a group is and when it catches up, as the end of a sentence; empty if it is not known."""
    if row is None:
        return ""
    known = []
    if row["behind_seconds"] is not None:
        known.append(f"{format_duration(round(1_000 * row['behind_seconds']))} behind")
    if row["catch_up_seconds"]:
        known.append(f"caught up in {format_duration(round(1_000 * row['catch_up_seconds']))}")
    return "".join(f"; {each}" for each in known)


def _thinned(series: list[Measurement]) -> list[Measurement]:
    """Drop every second measurement of a long series; the records of a dropped one count for the next."""
    if len(series) <= MOST_MEASUREMENTS:
        return series
    first = series[:1] if len(series) % 2 else []
    rest = iter(series[len(first) :])
    merged = [
        Measurement(other.at, other.lag, one.produced + other.produced, other.generation)
        for one, other in zip(rest, rest, strict=True)
    ]
    return [*first, *merged]
