"""Earlier measurements of partitions: end offsets, and the offset that was committed at the same time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignor.dependencies import dependency

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]
    Flags = npt.NDArray[np.bool_]

UNKNOWN = -1
"""Offset that is not known."""


@dataclass(frozen=True)
class Samples:
    """Earlier measurements of partitions, sorted by row and time.

    Attributes:
        row: Index of the row of the partition.
        at: Time in milliseconds.
        end: End offset.
        start: First offset; -1 if it is not known.
        committed: Committed offset at this time; -1 without one.
    """

    row: Numbers
    at: Numbers
    end: Numbers
    start: Numbers
    committed: Numbers

    def filter(self, mask: Flags) -> Samples:
        """Return some of the samples."""
        return Samples(self.row[mask], self.at[mask], self.end[mask], self.start[mask], self.committed[mask])

    def columns(self) -> tuple[Numbers, ...]:
        """Return the columns in the order of the attributes."""
        return self.row, self.at, self.end, self.start, self.committed

    def follows(self) -> Flags:
        """Return for each sample whether the one before it is of the same row."""
        found: Flags = self.row == np.roll(self.row, 1)
        found[:1] = False
        return found

    def since_last(self, is_break: Flags) -> Flags:
        """Return for each sample whether no later one of its row is a break."""
        if not len(self.row):
            return is_break
        firsts = np.flatnonzero(~self.follows())
        indices = np.arange(len(self.row))
        last = np.maximum.reduceat(np.where(is_break, indices, UNKNOWN), firsts)
        found: Flags = indices >= np.repeat(last, np.diff(firsts, append=len(indices)))
        return found


def align(rows: pa.Table, ends: pa.Table, commits: pa.Table) -> Samples:
    """Return a sample for each earlier end offset of the partition of a row, with the offset committed at that time."""
    places = rows.select(["group_id", "topic", "partition"]).append_column(
        "row", pa.array(range(len(rows)), pa.int64())
    )
    joined = ends.join(places, ["topic", "partition"], join_type="inner")
    of_ends = [pc.fill_null(joined[name], UNKNOWN).to_numpy() for name in ("row", "at", "end_offset", "start_offset")]
    stands = commits.join(places, ["group_id", "topic", "partition"], join_type="inner")
    of_commits = [pc.fill_null(stands[name], UNKNOWN).to_numpy() for name in ("row", "at", "committed")]
    return align_arrays(*of_ends, *of_commits)


def align_arrays(
    row: Numbers, at: Numbers, end: Numbers, start: Numbers, row_of_commit: Numbers, since: Numbers, committed: Numbers
) -> Samples:
    """Return a sample for each end offset, with the committed offset that stands at that time.

    Args:
        row: Row of each end offset.
        at: Its time in milliseconds.
        end: The end offset.
        start: The first offset; -1 if it is not known.
        row_of_commit: Row of each committed offset.
        since: Time from which it stands.
        committed: The committed offset; -1 if it was deleted.
    """
    # Sort both kinds of rows together; the last commit before an end offset in this order is the one that stands.
    rows, times = np.concatenate([row, row_of_commit]), np.concatenate([at, since])
    is_end = np.repeat([True, False], [len(row), len(row_of_commit)])
    order = np.lexsort((is_end, times, rows))
    rows, times, is_end = rows[order], times[order], is_end[order]
    value = np.concatenate([np.full(len(row), UNKNOWN), committed])[order]
    latest = np.maximum.accumulate(np.where(is_end, 0, np.arange(len(rows))))
    stands = np.where(~is_end[latest] & (rows[latest] == rows), value[latest], UNKNOWN)
    ends, starts = (np.concatenate([column, np.zeros(len(committed), np.int64)])[order] for column in (end, start))
    return Samples(rows, times, ends, starts, np.maximum(stands, UNKNOWN)).filter(is_end)


def range_of_rows(values: Floats, row: Numbers, count: int) -> Floats:
    """Return the highest minus the lowest value of each row; 0 without values."""
    found = np.zeros(count)
    if len(row):
        firsts = np.flatnonzero(np.diff(row, prepend=-1))
        found[row[firsts]] = np.maximum.reduceat(values, firsts) - np.minimum.reduceat(values, firsts)
    return found
