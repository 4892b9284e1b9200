"""Committed offsets and end offsets of chosen partitions over time, from the tables of a report and the recording.

Only findings that need the time of single commits read them: those of few groups, which have a part of the topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignor.cluster.timestamps import is_valid
from assignor.dependencies import dependency
from assignor.lag import TIMED_END_OFFSETS
from assignor.waiting import Position

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow.dataset import dataset

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    import numpy.typing as npt

    from assignor.cluster.folder import Recording

    Numbers = npt.NDArray[np.int64]

Partition = tuple[str, int]
"""Topic and partition id."""


class _Commits(NamedTuple):
    """Commits of all groups to a partition, in the order of the log; -1 is a deleted offset."""

    at: Numbers
    committed: Numbers
    group: Numbers


class CommitLog:
    """Commits of all groups to chosen partitions.

    Args:
        part: Folder with the table `commits`.
        partitions: The partitions to read.
    """

    def __init__(self, part: Path, partitions: Collection[Partition]) -> None:
        names = ["group_id", "topic", "partition", "committed", "timestamp", "offset"]
        rows = dataset(part / "commits", format="parquet").to_table(names, filter=_is_chosen(partitions))
        self._commits: dict[Partition, _Commits] = {}
        groups = rows["group_id"].combine_chunks().dictionary_encode()
        self._groups: list[str] = groups.dictionary.to_pylist()
        codes = groups.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        at, committed = rows["timestamp"].to_numpy(), pc.fill_null(rows["committed"], -1).to_numpy()
        for place, indices in _by_partition(rows, "offset"):
            self._commits[place] = _Commits(at[indices], committed[indices], codes[indices])

    def of_group(self, group: str, partition: Partition, since: int, until: int) -> list[tuple[int, int | None]]:
        """Return times and offsets of a group's commits to a partition between two times, and of the last one before.

        None stands for a deleted offset.
        """
        found = self._commits.get(partition)
        if found is None or group not in self._groups:
            return []
        own = np.flatnonzero(found.group == self._groups.index(group))
        times = found.at[own]
        indices = [*own[times <= since][-1:], *own[(times > since) & (times < until)]]
        return [
            (int(at), int(offset) if offset >= 0 else None)
            for at, offset in zip(found.at[indices], found.committed[indices], strict=True)
        ]

    def of_others(self, group: str, partition: Partition, since: int, until: int) -> Iterator[Position]:
        """Yield committed offsets of the other groups between two times, each above all earlier ones of that time."""
        found = self._commits.get(partition)
        if found is None:
            return
        own = self._groups.index(group) if group in self._groups else -1
        indices = np.flatnonzero(
            (found.group != own) & (found.at >= since) & (found.at <= until) & (found.committed >= 0)
        )
        indices = indices[np.argsort(found.at[indices], kind="stable")]
        highest = np.maximum.accumulate(found.committed[indices])
        is_higher = np.append(True, highest[1:] > highest[:-1])[: len(highest)]
        for index in indices[is_higher].tolist():
            yield Position(int(found.at[index]), int(found.committed[index]), self._groups[found.group[index]])


class EndLog:
    """End offsets of chosen partitions over time.

    Args:
        recording: The recording.
        partitions: The partitions to read.
    """

    def __init__(self, recording: Recording, partitions: Collection[Partition]) -> None:
        self._ends: dict[Partition, tuple[Numbers, Numbers]] = {}
        found = recording.end_offset_rows()
        if found is None:
            return
        rows = found.to_table(TIMED_END_OFFSETS.names, filter=_is_chosen(partitions))
        rows = rows.cast(TIMED_END_OFFSETS).drop_null()
        rows = rows.filter(is_valid(rows["at"]))
        at, ends = rows["at"].to_numpy(), rows["end_offset"].to_numpy()
        for place, indices in _by_partition(rows, "at"):
            self._ends[place] = (at[indices], ends[indices])

    def of(self, partition: Partition, since: int, until: int) -> list[Position]:
        """Return the end offsets of a partition between two times, and the last one before."""
        if partition not in self._ends:
            return []
        at, ends = self._ends[partition]
        first = max(0, int(np.searchsorted(at, since, side="right")) - 1)
        chosen = slice(first, int(np.searchsorted(at, until, side="right")))
        return [Position(*row) for row in zip(at[chosen].tolist(), ends[chosen].tolist(), strict=True)]


def _is_chosen(partitions: Collection[Partition]) -> pc.Expression:
    """Return a filter for the topics and the ids of partitions; other partitions of these topics can pass."""
    topics, ids = sorted({topic for topic, _ in partitions}), sorted({id for _, id in partitions})
    return pc.field("topic").isin(pa.array(topics, pa.string())) & pc.field("partition").isin(pa.array(ids, pa.int32()))


def _by_partition(rows: pa.Table, order: str) -> Iterator[tuple[Partition, Numbers]]:
    """Yield the indices of the rows of each partition, sorted by a column."""
    if not len(rows):
        return
    topics = rows["topic"].combine_chunks().dictionary_encode()
    ids = rows["partition"].to_numpy()
    keys = topics.indices.to_numpy(zero_copy_only=False).astype(np.int64) << 32 | ids
    indices = np.lexsort((rows[order].to_numpy(), keys))
    names = topics.dictionary.to_pylist()
    for found in np.split(indices, np.flatnonzero(np.diff(keys[indices])) + 1):
        yield (names[int(keys[found[0]]) >> 32], int(ids[found[0]])), found
