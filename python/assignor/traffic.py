"""Traffic of the partitions of groups, in records per second, from committed offsets and end offsets over time.

`partition_traffic` measures it, `member_traffic` sums it up, and `uneven_ratio` decides whether members with about the
same number of partitions have too different traffic. `docs/uneven-traffic.md` explains the rules.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lag import TIMED_END_OFFSETS, select_columns
from assignor.validation import read_int

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]

__all__ = [
    "BASES",
    "COMMITS",
    "MEMBER_TRAFFIC",
    "MIN_GAIN",
    "MIN_MEASUREMENTS",
    "MIN_RATIO",
    "MIN_RECORDS",
    "MIN_SECONDS",
    "PARTITION_TRAFFIC",
    "WINDOW_MS",
    "member_traffic",
    "partition_traffic",
    "traffic_weights",
    "uneven_ratio",
]

WINDOW_MS = 3_600_000
"""Default length of the window in which traffic is measured: the last hour before the last commit of a group."""

COMMITS = pa.schema(
    [
        ("group_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("committed", pa.int64()),
        ("timestamp", pa.int64()),
    ]
)
"""Commits: a row per commit of a partition, each partition of a group in the order of the log.

committed  the committed offset; null if it was deleted
timestamp  time of the commit in milliseconds
"""

PARTITION_TRAFFIC = pa.schema(
    [
        ("group_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("rate", pa.float64()),
        ("records", pa.int64()),
        ("seconds", pa.float64()),
        ("measurements", pa.int64()),
        ("basis", pa.string()),
    ]
)
"""Traffic of a partition of a group.

rate     records per second; null if it is not known
records  number of records that `rate` counts; null if it is not known
seconds  time between the two measurements of `rate`; null if it is not known
measurements  number of commits, or of end offsets, in the window
basis    one of `BASES`; null if the rate is not known
"""

MEMBER_TRAFFIC = pa.schema(
    [
        ("group_id", pa.string()),
        ("member_id", pa.string()),
        ("partitions", pa.int64()),
        ("rate", pa.float64()),
        ("records", pa.int64()),
        ("seconds", pa.float64()),
        ("measurements", pa.int64()),
        ("unknown", pa.int64()),
    ]
)
"""Traffic of the partitions of a member.

partitions    number of partitions
rate          sum of their known rates; null if no partition has a measurement in the window
records       sum of their known records; null like `rate`
seconds       longest time between the two measurements of a rate; null like `rate`
measurements  highest number of measurements of a partition
unknown       number of partitions without a known rate, which count as 0 in `rate`
"""

MIN_RATIO = 1.5
"""Lowest ratio of the highest rate of a member to the mean for which `uneven_ratio` returns it."""

MIN_SECONDS = 60.0
"""Shortest window from which `uneven_ratio` judges."""

MIN_RECORDS = 100
"""Lowest mean number of records per member from which `uneven_ratio` judges."""

MIN_MEASUREMENTS = 5
"""Lowest number of commits, or end offsets, of a partition of the busiest member from which `uneven_ratio` judges."""

MIN_GAIN = 1.25
"""Lowest ratio of the highest rate of a member to that after packing (`packed`) for which `uneven_ratio` returns it."""

_EVEN = 1.25
"""Lowest ratio of the unevenness by traffic to that by number of partitions."""

BASES = ("end_offsets", "commits")
"""Values of the column `basis`.

end_offsets  the end offset at two times in the window: the records that producers wrote
commits      the committed offsets in the window: the records that the group consumed
"""

_KEYS = ("group_id", "topic", "partition")

_WITHOUT_OFFSETS = pa.schema([COMMITS.field(name) for name in _KEYS])

_NEVER = np.iinfo(np.int64).min // 2
"""Time of the last commit of a group without commits."""


def partition_traffic(
    commits: pa.Table,
    end_offsets: pa.Table | None = None,
    *,
    partitions: pa.Table | None = None,
    window_ms: int = WINDOW_MS,
) -> pa.Table:
    """Measure the traffic of each partition of groups.

    The window of a group ends with its last commit. It is `window_ms` long, or begins with the group's first commit. If
    the end offset of a partition is known at two times of the window, its traffic is the difference of the end offsets.
    Otherwise it is what the group consumed: the sum of the increases from commit to commit within the window. A lower
    offset than before, after a reset, is no increase. Offsets of transaction markers count as records.

    Args:
        commits: The columns of `COMMITS`.
        end_offsets: The columns of `assignor.lag.TIMED_END_OFFSETS`; None if they are not known.
        partitions: Further partitions of groups, such as those that members own: the columns group_id, topic and
            partition.
        window_ms: Length of the window in milliseconds.

    Returns:
        The columns of `PARTITION_TRAFFIC`: a row per partition with a committed offset and per partition in
        `partitions`, sorted by group, topic and partition.

    Raises:
        WrongTypeError: A column is missing or cannot be converted to its type.
        IllegalArgumentError: `window_ms` is less than 1.

    Example:
        >>> import pyarrow as pa
        >>> rows = [("t", 0, 100, 0), ("t", 1, 7, 0), ("t", 0, 700, 60_000), ("t", 1, 7, 60_000)]
        >>> names = ("topic", "partition", "committed", "timestamp")
        >>> commits = pa.table({"group_id": ["g"] * 4, **dict(zip(names, map(list, zip(*rows))))})
        >>> [(row["partition"], row["rate"], row["basis"]) for row in partition_traffic(commits).to_pylist()]
        [(0, 10.0, 'commits'), (1, 0.0, 'commits')]
    """
    if read_int(window_ms, "window_ms", bits=64) < 1:
        raise IllegalArgumentError(f"window_ms must be at least 1, got {window_ms}")
    rows = select_columns(commits, "commits", COMMITS)
    rows = rows.filter(pc.is_valid(rows["committed"]))
    keys = rows.select(list(_KEYS))
    if partitions is not None:
        keys = pa.concat_tables([keys, select_columns(partitions, "partitions", _WITHOUT_OFFSETS)])
    if not len(keys):
        return PARTITION_TRAFFIC.empty_table()
    groups, places = _codes(keys)
    distinct, firsts, places = np.unique(places, return_index=True, return_inverse=True)
    found, group_of = keys.take(pa.array(firsts)), groups[firsts]
    at, committed = rows["timestamp"].to_numpy(), rows["committed"].to_numpy()
    groups, places = groups[: len(rows)], places[: len(rows)]
    last, since = np.full(int(group_of.max()) + 1, _NEVER), np.full(int(group_of.max()) + 1, -_NEVER)
    np.maximum.at(last, groups, at)
    np.minimum.at(since, groups, at)
    since = np.maximum(since, last - window_ms)
    records = np.zeros(len(distinct), np.int64)
    order = np.argsort(places, kind="stable")
    at, committed, places, groups = at[order], committed[order], places[order], groups[order]
    follows = (places[1:] == places[:-1]) & (at[:-1] >= since[groups[1:]])
    np.add.at(records, places[1:][follows], np.maximum(np.diff(committed)[follows], 0))
    seconds = np.maximum(last - since, 0)[group_of] / 1000
    basis = np.full(len(distinct), "commits", object)
    has_commit = np.zeros(len(distinct), bool)
    has_commit[places] = True
    seconds[~has_commit] = 0
    measurements = np.bincount(places[at >= since[groups]], minlength=len(distinct))
    if end_offsets is not None:
        ends = select_columns(end_offsets, "end_offsets", TIMED_END_OFFSETS)
        written, elapsed, numbers = _of_ends(found, ends, since[group_of], last[group_of])
        by_ends = elapsed > 0
        records, seconds = np.where(by_ends, written, records), np.where(by_ends, elapsed, seconds)
        measurements = np.where(by_ends, numbers, measurements)
        basis[by_ends] = "end_offsets"
    unknown = seconds <= 0
    columns = [
        *(found[name] for name in _KEYS),
        pa.array(records / np.where(unknown, 1.0, seconds), mask=unknown),
        pa.array(records, pa.int64(), mask=unknown),
        pa.array(seconds, mask=unknown),
        pa.array(measurements, pa.int64()),
        pa.array(basis, pa.string(), mask=unknown),
    ]
    table = pa.table(dict(zip(PARTITION_TRAFFIC.names, columns, strict=True))).cast(PARTITION_TRAFFIC)
    return table.sort_by([(name, "ascending") for name in _KEYS]).combine_chunks()


def traffic_weights(traffic: pa.Table, partitions_per_topic: Mapping[str, int]) -> dict[tuple[str, int], float]:
    """Return the traffic of a group as weights of partitions, in a form of `assignor.weights`.

    A partition without a known rate counts as 0: the group did not commit it while it committed others.

    Args:
        traffic: The columns of `PARTITION_TRAFFIC`, of one group.
        partitions_per_topic: The topics whose partitions get a weight, with their numbers of partitions.

    Returns:
        The weight of each partition of these topics; empty if no rate is known.

    Raises:
        WrongTypeError: A column is missing or cannot be converted to its type.

    Example:
        >>> import pyarrow as pa
        >>> names = ("topic", "partition", "committed", "timestamp")
        >>> rows = {name: list(column) for name, column in zip(names, zip(("t", 0, 0, 0), ("t", 0, 90, 9_000)))}
        >>> traffic_weights(partition_traffic(pa.table({"group_id": ["g", "g"], **rows})), {"t": 2})
        {('t', 0): 10.0, ('t', 1): 0.0}
    """
    rows = select_columns(traffic, "traffic", PARTITION_TRAFFIC)
    rows = rows.filter(pc.is_valid(rows["rate"]))
    if not len(rows):
        return {}
    columns = (rows[name].to_pylist() for name in ("topic", "partition", "rate"))
    rates = {(topic, partition): rate for topic, partition, rate in zip(*columns, strict=True)}
    places = ((topic, number) for topic, count in partitions_per_topic.items() for number in range(count))
    return {place: rates.get(place, 0.0) for place in places}


def member_traffic(traffic: pa.Table, owners: pa.Table) -> pa.Table:
    """Sum up the traffic by member.

    Args:
        traffic: The columns of `PARTITION_TRAFFIC`.
        owners: The columns group_id, topic, partition and member_id; a row per partition of a member.

    Returns:
        The columns of `MEMBER_TRAFFIC`, sorted by group and member. Members without partitions have no row.

    Raises:
        WrongTypeError: A column is missing or cannot be converted to its type.

    Example:
        >>> import pyarrow as pa
        >>> keys = {"group_id": ["g", "g"], "topic": ["t", "t"], "partition": [0, 1]}
        >>> measured = {"rate": [2.0, 3.0], "records": [120, 180], "seconds": [60.0, 60.0], "measurements": [9, 9]}
        >>> traffic = pa.table({**keys, **measured, "basis": ["commits", "commits"]})
        >>> [(row["member_id"], row["rate"]) for row in
        ...     member_traffic(traffic, pa.table({**keys, "member_id": ["a", "a"]})).to_pylist()]
        [('a', 5.0)]
    """
    wanted = pa.schema([*_WITHOUT_OFFSETS, ("member_id", pa.string())])
    measured = select_columns(traffic, "traffic", PARTITION_TRAFFIC)
    rows = select_columns(owners, "owners", wanted).join(measured, list(_KEYS))
    is_measured = pc.and_(pc.is_valid(rows["rate"]), pc.greater(pc.fill_null(rows["measurements"], 0), 0))
    columns = {name: rows[name] for name in ("group_id", "member_id", "rate", "records", "seconds", "measurements")}
    columns["unknown"] = pc.cast(pc.is_null(rows["rate"]), pa.int64())
    columns["is_measured"] = is_measured
    found = pa.table(columns).group_by(["group_id", "member_id"], use_threads=False)
    sums = found.aggregate(
        [
            ([], "count_all"),
            *((name, "sum") for name in ("rate", "records", "unknown")),
            *((name, "max") for name in ("seconds", "measurements")),
            ("is_measured", "any"),
        ]
    )
    known = sums["is_measured_any"]
    result = {
        "group_id": sums["group_id"],
        "member_id": sums["member_id"],
        "partitions": sums["count_all"],
        "rate": pc.if_else(known, sums["rate_sum"], pa.scalar(None, pa.float64())),
        "records": pc.if_else(known, sums["records_sum"], pa.scalar(None, pa.int64())),
        "seconds": pc.if_else(known, sums["seconds_max"], pa.scalar(None, pa.float64())),
        "measurements": pc.fill_null(sums["measurements_max"], 0),
        "unknown": sums["unknown_sum"],
    }
    order = [("group_id", "ascending"), ("member_id", "ascending")]
    return pa.table(result).cast(MEMBER_TRAFFIC).sort_by(order).combine_chunks()


def uneven_ratio(
    partitions: Sequence[int],
    rates: Sequence[float | None],
    *,
    records: int,
    seconds: float,
    measurements: int,
    packed: float,
) -> float | None:
    """Return how many times the mean the busiest member of a group has by traffic, if this is a finding.

    Args:
        partitions: Number of partitions of each member.
        rates: Records per second of each member; None if they are not known.
        records: Number of records that all members consumed or that were written for them.
        seconds: Length of the window in which they were measured.
        measurements: Highest number of measurements of a partition of the busiest member.
        packed: The highest rate of a member that longest-processing-time packing gives these members
            (`packed_weight`).

    Returns:
        The highest rate divided by the mean of all members. None if this is no finding:

        * it is less than `MIN_RATIO`, or less than 1.25 times the same ratio of the numbers of partitions, which
          then are the cause
        * the rate of a member is not known, or the group has fewer than two members
        * the window is shorter than `MIN_SECONDS`, has fewer than `MIN_RECORDS` records per member, or fewer than
          `MIN_MEASUREMENTS` measurements
        * packing would lower the highest rate by less than the factor `MIN_GAIN`: no assignor can divide the traffic,
          for example that of a single partition

    Example:
        >>> settings = {"records": 60_000, "seconds": 600.0, "measurements": 100, "packed": 50.0}
        >>> uneven_ratio([2, 2], [90.0, 10.0], **settings), uneven_ratio([2, 2], [52.0, 48.0], **settings)
        (1.8, None)
        >>> uneven_ratio([2, 2, 2], [90.0, 5.0, 5.0], **settings)
        2.7
    """
    known = [rate for rate in rates if rate is not None]
    total = math.fsum(known)  # the result of `sum` depends on the version of Python
    if len(known) < len(rates) or len(known) < 2 or total <= 0:
        return None
    if seconds < MIN_SECONDS or records < MIN_RECORDS * len(known) or measurements < MIN_MEASUREMENTS:
        return None
    most = max(known)
    ratio = most * len(known) / total
    by_count = max(partitions) * len(partitions) / max(sum(partitions), 1)
    if ratio < max(MIN_RATIO, _EVEN * by_count) or most < MIN_GAIN * packed:
        return None
    return ratio


def _of_ends(
    found: pa.Table, ends: pa.Table, since: Numbers, last: Numbers
) -> tuple[Numbers, npt.NDArray[np.float64], Numbers]:
    """Return the written records, the seconds and the number of end offsets of each partition.

    The seconds are 0 if the written records are not known.
    """
    ends = ends.filter(pc.and_(pc.is_valid(ends["end_offset"]), pc.is_valid(ends["at"])))
    written, elapsed, numbers = np.zeros(len(found), np.int64), np.zeros(len(found)), np.zeros(len(found), np.int64)
    if not len(ends):
        return written, elapsed, numbers
    both = pa.chunked_array([*found["topic"].chunks, *ends["topic"].chunks])
    topics = both.combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    wanted = topics[: len(found)] << 32 | found["partition"].to_numpy()
    keys = topics[len(found) :] << 32 | ends["partition"].to_numpy()
    times, offsets = ends["at"].to_numpy(), ends["end_offset"].to_numpy()
    order = np.lexsort((times, keys))
    keys, times, offsets = keys[order], times[order], offsets[order]
    # A lower end offset than before belongs to a topic that was created again.
    grown = np.append(0, np.cumsum(np.maximum(np.diff(offsets), 0)))
    lows, highs = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")
    counts = highs - lows
    rows = np.repeat(np.arange(len(found)), counts)
    indices = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(lows, counts)
    inside = (times[indices] >= since[rows]) & (times[indices] <= last[rows])
    rows, indices = rows[inside], indices[inside]
    starts, stops = np.full(len(found), len(times)), np.full(len(found), -1)
    np.minimum.at(starts, rows, indices)
    np.maximum.at(stops, rows, indices)
    known = np.flatnonzero(starts < stops)
    written[known] = grown[stops[known]] - grown[starts[known]]
    elapsed[known] = (times[stops[known]] - times[starts[known]]) / 1000
    numbers[known] = stops[known] - starts[known] + 1
    return written, elapsed, numbers


def _codes(keys: pa.Table) -> tuple[Numbers, Numbers]:
    """Return the number of the group, and that of the partition of a group, of each row."""
    group, topic = (keys[name].combine_chunks().dictionary_encode() for name in ("group_id", "topic"))
    groups = group.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    pairs = groups * len(topic.dictionary) + topic.indices.to_numpy(zero_copy_only=False)
    return groups, pairs << 32 | keys["partition"].to_numpy()
