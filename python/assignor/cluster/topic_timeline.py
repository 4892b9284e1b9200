"""Topic metadata of a live cluster over time, limited in size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.cluster.metadata import topics_table
from assignor.dependencies import dependency

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_SNAPSHOTS = 16
"""Highest number of snapshots that are kept; the oldest ones are dropped first."""


class TopicTimeline:
    """Snapshots of topic metadata in the order of time.

    Of successive equal snapshots, only the first and the last are kept: nothing changed between them.

    Args:
        rows: Snapshots to begin with, with the columns of `topics.parquet`, in the order of time.
    """

    def __init__(self, rows: pa.RecordBatch | None = None) -> None:
        self._snapshots = list(_split(rows)) if rows is not None else []

    def add(self, snapshot: pa.RecordBatch) -> bool:
        """Add a snapshot, whose rows have the same time. Return True if it differs from the last one.

        A snapshot without topics has no row that could hold its time, and is ignored. A new snapshot replaces snapshots
        of the same or a later time. There are such snapshots if one is added twice or the clock was set back.
        """
        if not snapshot.num_rows:
            return False
        known = self._snapshots
        is_new = not known or not _is_equal(known[-1], snapshot)
        while known and known[-1]["t"][0].as_py() >= snapshot["t"][0].as_py():
            known.pop()
        if len(known) > 1 and _is_equal(known[-1], snapshot) and _is_equal(known[-2], snapshot):
            known.pop()
        known.append(snapshot)
        del known[:-MOST_SNAPSHOTS]
        return is_new

    def rows(self) -> pa.RecordBatch:
        """Return all snapshots."""
        return topics_table(pa.Table.from_batches(self._snapshots) if self._snapshots else None)


def _split(rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows of each time."""
    times = rows["t"].to_pylist()
    start = 0
    for end in range(1, len(times) + 1):
        if end == len(times) or times[end] != times[start]:
            yield rows.slice(start, end - start)
            start = end


def _is_equal(left: pa.RecordBatch, right: pa.RecordBatch) -> bool:
    """Return True if two snapshots have the same topics."""
    names = [name for name in right.schema.names if name != "t"]
    return bool(left.select(names).equals(right.select(names)))
