"""Lag of the groups of a live cluster over time, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_MOMENTS = 1_000
"""Number of moments at which every second one is dropped: the older the moments, the sparser."""

MOST_ROWS = 500_000
"""Number of rows, one per moment and group, at which every second moment is dropped."""


class LagHistory:
    """Lag of groups at the moments at which it was computed."""

    def __init__(self) -> None:
        self._moments: list[tuple[int, pa.Table]] = []

    def add(self, at: int, lag: pa.Table) -> None:
        """Add a moment.

        Args:
            at: The time in milliseconds.
            lag: Lag of groups, with the columns of `assignor.lag.GROUP_LAG`.
        """
        self._moments.append((at, lag.select(["group_id", "lag"])))
        rows = sum(len(found) for _, found in self._moments)
        if len(self._moments) > MOST_MOMENTS or rows > MOST_ROWS:
            self._moments = self._moments[::-1][::2][::-1]  # the latest moment stays

    def rows(self, groups: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield group, time and lag (None if unknown) of groups at each moment, in the order of time."""
        for at, lag in self._moments:
            for row in lag.filter(pc.field("group_id").isin(list(groups))).to_pylist():
                yield {"group": row["group_id"], "at": at, "lag": row["lag"]}
