"""Lag of the groups of a live cluster over time, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_MEASUREMENTS = 1_000
"""Number of measurements at which every second one is dropped, so that older measurements are further apart."""

MOST_ROWS = 500_000
"""Number of rows, one per measurement and group, at which every second measurement is dropped."""


class LagHistory:
    """Lag of groups at the times at which it was computed."""

    def __init__(self) -> None:
        self._measurements: list[tuple[int, pa.Table]] = []

    def add(self, at: int, lag: pa.Table) -> None:
        """Add a measurement.

        Args:
            at: The time in milliseconds.
            lag: Lag of groups, with the columns of `assignor.lag.GROUP_LAG`.
        """
        self._measurements.append((at, lag.select(["group_id", "lag"])))
        rows = sum(len(found) for _, found in self._measurements)
        if len(self._measurements) > MOST_MEASUREMENTS or rows > MOST_ROWS:
            self._measurements = self._measurements[::-1][::2][::-1]  # the latest one stays

    def forget(self, groups: Sequence[str]) -> None:
        """Drop the lag of groups that no longer exist."""
        if groups:
            is_kept = ~_is_one_of(groups)
            self._measurements = [(at, lag.filter(is_kept)) for at, lag in self._measurements]

    def rows(self, groups: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield group, time and lag (None if unknown) of groups for each measurement, in the order of time."""
        for at, lag in self._measurements:
            for row in lag.filter(_is_one_of(groups)).to_pylist():
                yield {"group": row["group_id"], "at": at, "lag": row["lag"]}


def _is_one_of(groups: Sequence[str]) -> pc.Expression:
    return pc.field("group_id").isin(pa.array(groups, pa.string()))  # an empty list has no type
