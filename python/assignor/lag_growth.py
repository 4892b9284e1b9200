"""Growth of consumer lag over time: whether a group falls behind while its generation does not change.

Lag rises between two commits and falls with each commit, so a single value proves little. Time is therefore divided
into windows of equal length, and the low point of a window is the lowest lag in it. If windows are longer than the time
between commits, low points do not depend on the times of commits. Lag grows if the low point rises from window to
window.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError
from assignor.validation import read_entries, read_index, shown, wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["RISES", "SHARE", "Growth", "Measurement", "find_growth"]

RISES = 5
"""Number of times in a row that the low point of the lag has to rise."""

SHARE = 0.1
"""Smallest growth of the lag, as a share of the new records."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """Lag of a group at one time.

    Attributes:
        at: Time in milliseconds.
        lag: Sum of the known lags of its partitions; None if none is known.
        produced: Number of records that its partitions got since the previous measurement.
        generation: Generation or epoch of the group; None if it has no members.

    Raises:
        WrongTypeError: A field has a wrong type.
    """

    at: int
    lag: int | None
    produced: int
    generation: int | None

    def __post_init__(self) -> None:
        """Check that the fields are integers."""
        for field in ("at", "lag", "produced", "generation"):
            value = getattr(self, field)
            if type(value) is not int and not (value is None and field in ("lag", "generation")):
                object.__setattr__(self, field, read_index(value, f"Measurement: {field}"))


@dataclass(frozen=True, slots=True)
class Growth:
    """Period in which the lag of a group grew within one generation.

    Attributes:
        since: Time of the first low point in milliseconds.
        until: Time of the last low point in milliseconds; None if the lag still grows at the last measurement.
        first: Lag at the first low point.
        last: Lag at the last low point.
        produced: Number of records that the partitions got between the two low points.
        rises: Number of times in a row that the low point rose.
        generation: The generation or epoch.
    """

    since: int
    until: int | None
    first: int
    last: int
    produced: int
    rises: int
    generation: int


def find_growth(
    measurements: Sequence[Measurement], window_ms: int = 0, *, rises: int = RISES, share: float = SHARE
) -> Growth | None:
    """Return the last period in which lag grew; None if it did not.

    The measurements of a generation are divided into windows of `window_ms`. Lag grows if its low points in successive
    windows rise at least `rises` times in a row, and if it grows by at least `share` of the records that the partitions
    got between the first and the last of these low points. By default, a single rise does not count. Lag that only
    rises and falls with the commits does not count either.

    Args:
        measurements: The measurements in order of time.
        window_ms: Length of a window in milliseconds, which should be twice the time between commits. If measurements
            are further apart than a window is long, each of them is a window.
        rises: Smallest number of rises in a row.
        share: Smallest growth, as a part of the new records, from 0 to 1.

    Raises:
        IllegalArgumentError: `rises` is not positive, or `share` is not from 0 to 1.
        WrongTypeError: An argument has a wrong type.

    Example:
        >>> slow = [Measurement(at=at, lag=3 * at, produced=10, generation=1) for at in range(7)]
        >>> find_growth(slow)
        Growth(since=0, until=None, first=0, last=18, produced=60, rises=6, generation=1)
        >>> find_growth([Measurement(at, 500 if at > 3 else 0, 10, 1) for at in range(7)])
    """
    window_ms, rises = read_index(window_ms, "window_ms"), read_index(rises, "rises")
    if rises < 1:
        raise IllegalArgumentError(f"rises must be at least 1, not {shown(rises)}")
    if not isinstance(share, (int, float)) or isinstance(share, bool):
        raise wrong_type("share", "a number", share)
    if not 0 <= share <= 1:
        raise IllegalArgumentError(f"share must be from 0 to 1, not {shown(share)}")
    measurements = [*read_entries(measurements, "measurements", "a sequence of Measurement")]  # type: ignore[list-item]  # checked below
    for place, measurement in enumerate(measurements):
        if not isinstance(measurement, Measurement):
            raise wrong_type(f"measurements[{place}]", "a Measurement", measurement)
    found = None
    for points, lasts in _rising_runs(measurements, window_ms):
        first, last = measurements[points[0]], measurements[points[-1]]
        produced = sum(measurement.produced for measurement in measurements[points[0] + 1 : points[-1] + 1])
        before, after = first.lag or 0, last.lag or 0
        if len(points) > rises and after - before >= share * produced and first.generation is not None:
            until = None if lasts else last.at
            found = Growth(first.at, until, before, after, produced, len(points) - 1, first.generation)
    return found


def _rising_runs(measurements: Sequence[Measurement], window_ms: int) -> Iterator[tuple[list[int], bool]]:
    """Yield the low points of each period in which they rise, and whether it lasts until the last measurement."""
    for segment in _segments(measurements):
        low_points = list(_low_points(measurements, segment, window_ms))
        is_current = segment[-1] == len(measurements) - 1
        run = low_points[:1]
        for one, other in pairwise(low_points):
            if (measurements[other].lag or 0) > (measurements[one].lag or 0):
                run.append(other)
                continue
            yield run, False
            run = [other]
        if run:
            yield run, is_current


def _segments(measurements: Sequence[Measurement]) -> Iterator[list[int]]:
    """Yield the indices of successive measurements with the same generation and a known lag."""

    def key(index: int) -> int | None:
        return None if measurements[index].lag is None else measurements[index].generation

    for generation, indices in groupby(range(len(measurements)), key):
        if generation is not None:
            yield list(indices)


def _low_points(measurements: Sequence[Measurement], segment: list[int], window_ms: int) -> Iterator[int]:
    """Yield the index of the lowest lag in each complete window of a segment."""
    start = measurements[segment[0]].at
    step = measurements[segment[-1]].at - measurements[segment[-2]].at if len(segment) > 1 else 0
    end = measurements[segment[-1]].at + step
    if window_ms <= 0:
        yield from segment
        return
    for number, indices in groupby(segment, lambda index: (measurements[index].at - start) // window_ms):
        if start + (number + 1) * window_ms <= end or step >= window_ms:
            yield min(indices, key=lambda index: measurements[index].lag or 0)
