"""Lag of the groups of a recording: at each time of its end offsets, and whether it grows."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from assignor.cluster.folder import parquet_error
from assignor.cluster.timestamps import is_valid
from assignor.dependencies import dependency
from assignor.errors import WrongTypeError
from assignor.lag import END_OFFSETS, LARGEST_LAG, TIMED_END_OFFSETS, group_lag, join_owners, partition_lag
from assignor.lag_growth import Growth, Measurement, find_growth
from assignor.lines import spans_of
from assignor.report.absence import Absence, departures, find_absence
from assignor.report.share_lag import with_share_groups
from assignor.report.timed_lag import timed_lags, write_sums

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from pyarrow.dataset import dataset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt
    from pyarrow.dataset import Dataset

    from assignor.cluster.folder import Recording

    Numbers = npt.NDArray[np.int64]

MOST_TIMES = 500
"""Largest number of points in time whose end offsets are read.

If the recording has more, this number of evenly spaced ones is read, including the last one.
"""

_PENDING = 4_000_000
"""Number of commits in memory above which they are reduced.

Then only the last commit of each partition of a group up to each time of the end offsets is kept.
"""

_PARTITION_KEYS = ("group_id", "topic", "partition")
_UNKNOWN = -1
_BEFORE_ALL = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class GroupLag:
    """Lag of a group at the last time of the end offsets.

    Attributes:
        at: That time in milliseconds.
        sums: Columns of `lag.GROUP_LAG` without the group id, those of `lag_time_sums.SUMMED_TIME`, and `topics` and
            `members`: rows with the sums of each, or None.
        out_of_range: Spans of partitions with a committed offset beyond the end, and before the start.
        deleted: Number of records that were deleted before they were read.
        growth: When the lag grew while the group was stable; None if it did not.
        window_ms: Length of the windows in which `growth` compares the lowest lag, in milliseconds.
        absence: How the lag grew after the last member left; None if the group has members or the lag did not grow.
    """

    at: int
    sums: dict[str, Any]
    out_of_range: tuple[tuple[tuple[str, int, int], ...], tuple[tuple[str, int, int], ...]] = ((), ())
    deleted: int = 0
    growth: Growth | None = None
    window_ms: int = 0
    absence: Absence | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the object that `assignor report --json` prints."""
        return {"at": self.at, **self.sums}


def lag_by_group(recording: Recording, part: Path, *, has_details: bool = True) -> dict[str, GroupLag]:
    """Compute the lag of each group, and write the tables of a report that `report_folder.LAG_TABLES` names.

    The lag at a time uses the commits of the log up to this time, and the owners at the end of the log.

    Args:
        recording: The recording.
        part: Folder with the tables `groups`, `commits`, `generations` and `assignments`.
        has_details: True to return the lag of topics and members, too.

    Returns:
        The lag by group; empty if the recording has no end offsets.

    Raises:
        IllegalArgumentError: The end offsets or start offsets cannot be read as Parquet.
        WrongTypeError: A column of them is of another type.
    """
    rows = recording.end_offset_rows()
    if rows is None:
        return {}
    ends = _Ends.read(rows, recording.end_offsets)
    if not len(ends.times):
        return {}
    commits = _Commits.read(part, ends.times)
    committed, owners = with_share_groups(recording, part, commits.last(), read_owners(part))
    lags = partition_lag(join_owners(committed, owners), ends.last())
    keys = {key: index for index, key in enumerate(commits.keys)}
    lags = timed_lags(lags, ends.times, (ends.places, ends.starts, ends.ends), (keys, commits.offsets))
    times = write_sums(lags, part, has_details=has_details)
    series = dict(_series(ends, commits, _generations(part)))
    pq.write_table(lags, _created(part / "lag") / "part-0.parquet")
    pq.write_table(_over_time(series), _created(part / "lag_over_time") / "part-0.parquet")
    ranges, departed = _out_of_range(lags), departures(part)
    found = {}
    for sums in group_lag(lags).to_pylist():
        group = sums.pop("group_id")
        window = 2 * commits.intervals.get(group, 0)
        growth = find_growth(series.get(group, []), window)
        beyond, before, deleted = ranges.get(group, ((), (), 0))
        absence = find_absence(departed[group], series.get(group, [])) if group in departed else None
        sums |= times[group]
        found[group] = GroupLag(int(ends.times[-1]), sums, (beyond, before), deleted, growth, window, absence)
    return found


@dataclass(frozen=True)
class _Ends:
    """End offsets by partition and time; -1 is unknown.

    Attributes:
        times: The times in milliseconds.
        places: Index of each topic and partition.
        starts: First offsets: a row per partition, a column per time.
        ends: End offsets.
    """

    times: Numbers
    places: dict[tuple[str, int], int]
    starts: Numbers
    ends: Numbers

    @classmethod
    def read(cls, source: Dataset, path: Path) -> _Ends:
        read = read_end_offsets(source, path, ["at"])
        times = np.unique(read["at"].filter(is_valid(read["at"])).to_numpy())
        if len(times) > MOST_TIMES:
            times = times[np.linspace(0, len(times) - 1, MOST_TIMES).round().astype(int)]
        rows = read_end_offsets(source, path, chosen=pc.field("at").isin(pa.array(times))).drop_null()
        topics, ids = rows["topic"].combine_chunks().dictionary_encode(), rows["partition"].to_numpy()
        names, codes = topics.dictionary.to_pylist(), topics.indices.to_numpy()
        keys, place = np.unique(codes.astype(np.int64) << 32 | ids, return_inverse=True)
        places = {(names[key >> 32], int(key & 0xFFFFFFFF)): index for index, key in enumerate(keys.tolist())}
        column = np.searchsorted(times, rows["at"].to_numpy())
        starts, ends = (np.full((len(keys), len(times)), _UNKNOWN) for _ in range(2))
        starts[place, column] = rows["start_offset"].to_numpy()
        ends[place, column] = rows["end_offset"].to_numpy()
        return cls(times, places, starts, ends)

    def last(self) -> pa.Table:
        """Return the end offsets at the last time, with the columns of `lag.END_OFFSETS`."""
        known = np.flatnonzero(self.ends[:, -1] != _UNKNOWN)
        places = list(self.places)
        columns = [[places[index][0] for index in known], [places[index][1] for index in known]]
        return pa.table([*columns, self.starts[known, -1], self.ends[known, -1]], schema=END_OFFSETS)


@dataclass(frozen=True)
class _Commits:
    """Committed offsets of each partition of a group over time; -1 means no offset.

    Attributes:
        keys: Group id, topic and partition of each row, sorted.
        offsets: Committed offsets: a row per key, a column per time.
        intervals: Usual time between commits in milliseconds by group: the median of the means of its partitions.
    """

    keys: list[tuple[str, str, int]]
    offsets: Numbers
    intervals: dict[str, int]

    @classmethod
    def read(cls, part: Path, times: Numbers) -> _Commits:
        reader = _CommitReader(times)
        for batch in dataset(part / "commits", format="parquet").to_batches():
            reader.add(batch)
        return reader.commits()

    def last(self) -> pa.Table:
        """Return the committed offsets at the last time."""
        known = np.flatnonzero(self.offsets[:, -1] != _UNKNOWN)
        groups, topics, ids = zip(*(self.keys[index] for index in known), strict=True) if len(known) else ((), (), ())
        columns = {"group_id": pa.array(groups, pa.string()), "topic": pa.array(topics, pa.string())}
        return pa.table({**columns, "partition": pa.array(ids, pa.int32()), "committed": self.offsets[known, -1]})


class _CommitReader:
    """Commits of a log in any order, reduced to the last one before each time."""

    def __init__(self, times: Numbers) -> None:
        self._times = times
        self._keys: dict[tuple[str, str, int], int] = {}
        self._parts: list[Numbers] = []  # columns: key, index of the time, offset in the log, committed offset
        self._pending = 0
        self._counts: dict[int, list[int]] = {}  # number of commits, first and last time by key

    def add(self, batch: pa.RecordBatch) -> None:
        """Add commits with the columns group_id, topic, partition, committed, timestamp and offset."""
        if not len(batch):
            return
        groups, topics = (batch[name].dictionary_encode() for name in ("group_id", "topic"))
        pairs = groups.indices.to_numpy().astype(np.int64) * len(topics.dictionary) + topics.indices.to_numpy()
        places = pairs << 32 | batch["partition"].to_numpy().astype(np.uint32)
        distinct, keys = np.unique(places, return_inverse=True)
        names = groups.dictionary.to_pylist(), topics.dictionary.to_pylist()
        keys = np.array([self._key(place, *names) for place in distinct.tolist()], np.int64)[keys]
        committed = pc.fill_null(batch["committed"], _UNKNOWN).to_numpy()
        times = batch["timestamp"].to_numpy(zero_copy_only=False)
        self._count(keys, times, committed)
        indices = np.searchsorted(self._times, times)
        rows = np.stack([keys, indices, batch["offset"].to_numpy(zero_copy_only=False), committed], axis=1)
        self._parts.append(rows[indices < len(self._times)])
        self._pending += len(rows)
        if self._pending > _PENDING:
            self._parts = [self._reduced()]
            self._pending = len(self._parts[0])

    def commits(self) -> _Commits:
        """Return the committed offsets at each time, and the usual intervals between commits."""
        order = sorted(self._keys)
        rank = np.empty(len(order), np.int64)
        rank[[self._keys[key] for key in order]] = np.arange(len(order))
        offsets = np.full((len(order), len(self._times)), _BEFORE_ALL)
        rows = self._reduced()
        offsets[rank[rows[:, 0]], rows[:, 1]] = np.maximum(rows[:, 3], _UNKNOWN)
        return _Commits(order, _filled(offsets), self._intervals())

    def _key(self, place: int, groups: list[str], topics: list[str]) -> int:
        group, topic = divmod(place >> 32, len(topics))
        partition = place & 0xFFFFFFFF
        key = (groups[group], topics[topic], partition - (partition >> 31 << 32))
        return self._keys.setdefault(key, len(self._keys))

    def _count(self, keys: Numbers, times: Numbers, committed: Numbers) -> None:
        chosen = committed >= 0
        order = np.argsort(keys[chosen], kind="stable")
        keys, times = keys[chosen][order], times[chosen][order]
        distinct, firsts = np.unique(keys, return_index=True)
        if not len(distinct):
            return
        lows, highs = np.minimum.reduceat(times, firsts), np.maximum.reduceat(times, firsts)
        numbers = np.diff(firsts, append=len(keys))
        for key, *found in zip(distinct.tolist(), numbers.tolist(), lows.tolist(), highs.tolist(), strict=True):
            number, low, high = self._counts.get(key, (0, found[1], found[2]))
            self._counts[key] = [number + found[0], min(low, found[1]), max(high, found[2])]

    def _intervals(self) -> dict[str, int]:
        means: dict[str, list[float]] = {}
        for (group, _, _), key in self._keys.items():
            number, low, high = self._counts.get(key, (0, 0, 0))
            if number > 1:
                means.setdefault(group, []).append((high - low) / (number - 1))
        return {group: round(float(np.median(found))) for group, found in means.items()}

    def _reduced(self) -> Numbers:
        """Return the last commit, in the order of the log, of each key before each time."""
        rows = np.concatenate(self._parts) if self._parts else np.empty((0, 4), np.int64)
        rows = rows[np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))]
        if not len(rows):
            return rows
        is_last = np.append((np.diff(rows[:, 0]) != 0) | (np.diff(rows[:, 1]) != 0), True)
        found: Numbers = rows[is_last]
        return found


def _filled(offsets: Numbers) -> Numbers:
    """Replace missing values (the smallest int64) by the value to their left, or by -1 without one."""
    is_known = offsets != _BEFORE_ALL
    columns = np.maximum.accumulate(np.where(is_known, np.arange(offsets.shape[1]), 0), axis=1)
    filled: Numbers = np.take_along_axis(offsets, columns, axis=1)
    filled[filled == _BEFORE_ALL] = _UNKNOWN
    return filled


def read_owners(part: Path) -> pa.Table:
    """Return the owner of each partition at the end of the log: group_id, topic, member_id and partition.

    Args:
        part: Folder with the table `assignments`.
    """
    spans = pq.read_table(part / "assignments", columns=["group_id", "member_id", "topic", "start", "count"])
    counts = spans["count"].to_numpy().astype(np.int64)
    rows = np.repeat(np.arange(len(spans)), counts)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    ids = spans["start"].to_numpy()[rows] + within
    chosen = spans.select(["group_id", "topic", "member_id"]).take(rows)
    return chosen.append_column("partition", pa.array(ids, pa.int32()))


def _generations(part: Path) -> dict[str, tuple[list[int], list[int | None]]]:
    """Return the times of the generations of each group, and their numbers; None for one without members."""
    columns = ["group_id", "offset", "timestamp", "generation", "members"]
    found: dict[str, tuple[list[int], list[int | None]]] = {}
    for row in pq.read_table(part / "generations", columns=columns).sort_by("offset").to_pylist():
        times, numbers = found.setdefault(row["group_id"], ([], []))
        times.append(row["timestamp"])
        numbers.append(row["generation"] if row["members"] else None)
    return found


def _series(
    ends: _Ends, commits: _Commits, generations: dict[str, tuple[list[int], list[int | None]]]
) -> Iterator[tuple[str, list[Measurement]]]:
    """Yield the groups with committed offsets, and their lag at each time."""
    bounds = [index for index, key in enumerate(commits.keys) if not index or key[0] != commits.keys[index - 1][0]]
    for first, end in itertools.pairwise([*bounds, len(commits.keys)]):
        group = commits.keys[first][0]
        places = np.array([ends.places.get(key[1:], _UNKNOWN) for key in commits.keys[first:end]])
        is_there = places != _UNKNOWN
        logs, offsets = ends.ends[places[is_there]], commits.offsets[first:end][is_there]
        is_known = (offsets >= 0) & (logs >= offsets)
        totals = _sums(np.where(is_known, logs - offsets, 0))
        counts = is_known.sum(axis=0)
        steps = _sums(np.where(is_known[:, 1:] & is_known[:, :-1], np.diff(logs, axis=1), 0).clip(min=0))
        times, numbers = generations.get(group, ([], []))
        latest = np.searchsorted(np.maximum.accumulate([_BEFORE_ALL, *times]), ends.times, side="right") - 1
        yield (
            group,
            [
                Measurement(
                    int(at),
                    int(total) if count else None,
                    int(step),
                    [None, *numbers][latest[index]],
                )
                for index, (at, total, count, step) in enumerate(
                    zip(ends.times, totals, counts, np.append(0, steps), strict=True)
                )
            ],
        )


def _sums(rows: Numbers) -> Numbers:
    """Return the sums of columns of numbers that are not negative; a sum is at most `LARGEST_LAG`."""
    if rows.max(initial=0) <= LARGEST_LAG // max(1, len(rows)):
        found: Numbers = rows.sum(axis=0)
        return found
    capped: Numbers = np.minimum(rows.astype(object).sum(axis=0), LARGEST_LAG).astype(np.int64)
    return capped


def _over_time(series: dict[str, list[Measurement]]) -> pa.Table:
    """Return the lag of each group at each time."""
    rows = [(group, one.at, one.lag) for group, measured in sorted(series.items()) for one in measured]
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    kinds = {"group_id": pa.string(), "at": pa.int64(), "lag": pa.int64()}
    return pa.table({name: pa.array(column, kind) for (name, kind), column in zip(kinds.items(), columns, strict=True)})


def _out_of_range(rows: pa.Table) -> dict[str, tuple[Any, Any, int]]:
    """Return by group the partitions with an offset beyond the end, those before the start, and deleted records."""
    chosen = rows.filter(pc.field("problem").isin(["beyond_end", "before_start"]))
    found: dict[str, tuple[dict[str, set[tuple[str, int]]], dict[tuple[str, int], int]]] = {}
    for row in chosen.to_pylist():
        by_problem, deleted = found.setdefault(row["group_id"], ({}, {}))
        place = (row["topic"], row["partition"])
        by_problem.setdefault(row["problem"], set()).add(place)
        deleted[place] = row["deleted"] or 0
    return {
        group: (
            tuple(spans_of(sorted(by_problem.get("beyond_end", ())))),
            tuple(spans_of(sorted(by_problem.get("before_start", ())))),
            sum(deleted.values()),
        )
        for group, (by_problem, deleted) in found.items()
    }


def empty_partitions(part: Path) -> set[tuple[str, int]]:
    """Return the partitions with an owner and no committed offset that have no records at the end.

    Args:
        part: Folder of the tables; without the table `lag`, the end offsets are not known.
    """
    if not (part / "lag").exists():
        return set()
    is_empty = (pc.field("end_offset") == pc.field("start_offset")) | (pc.field("end_offset") == 0)
    columns = ["topic", "partition"]
    rows = pq.read_table(part / "lag", columns=columns, filters=(pc.field("problem") == "never_committed") & is_empty)
    return {(row["topic"], row["partition"]) for row in rows.to_pylist()}


def _created(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def read_end_offsets(
    source: Dataset, path: Path, names: Sequence[str] = TIMED_END_OFFSETS.names, *, chosen: pc.Expression | None = None
) -> pa.Table:
    """Return columns of the end offsets of a recording.

    Args:
        source: The end offsets.
        path: Their file, for errors.
        names: The columns.
        chosen: The rows; all by default.

    Raises:
        IllegalArgumentError: The file cannot be read as Parquet.
        WrongTypeError: A column is of another type.
    """
    try:
        rows = source.to_table(columns=list(names), filter=chosen)
        return rows.cast(pa.schema([TIMED_END_OFFSETS.field(name) for name in names]))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise WrongTypeError(
            f"{path} must have the columns {_described(TIMED_END_OFFSETS)}: {_one_line(error)}"
        ) from error
    except (pa.ArrowException, OSError) as error:
        raise parquet_error(path, error) from error


def _described(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
