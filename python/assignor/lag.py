"""Consumer lag: committed offsets against the end offsets of partitions, as Arrow tables.

The lag of a partition is its end offset minus the committed offset. `docs/lag.md` explains the special cases.
"""

from __future__ import annotations

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.validation import wrong_type

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

__all__ = [
    "END_OFFSETS",
    "GROUP_LAG",
    "MEMBER_LAG",
    "PARTITION_LAG",
    "POSITIONS",
    "PROBLEMS",
    "SHARE_OFFSETS",
    "TIMED_END_OFFSETS",
    "group_lag",
    "join_owners",
    "member_lag",
    "partition_lag",
]

_KEYS = (("group_id", pa.string()), ("topic", pa.string()), ("partition", pa.int32()))

POSITIONS = pa.schema([*_KEYS, ("member_id", pa.string()), ("committed", pa.int64())])
"""Committed offsets and owners: a row per partition of a group, or several if several members own it.

member_id  the owner; null if the partition has none
committed  the committed offset; null or negative without a commit
"""

END_OFFSETS = pa.schema(
    [("topic", pa.string()), ("partition", pa.int32()), ("start_offset", pa.int64()), ("end_offset", pa.int64())]
)
"""First offset in the log of a partition, and the offset after the last record (the high watermark).

A partition that could not be read has no row, or nulls.
"""

TIMED_END_OFFSETS = pa.schema([("at", pa.int64()), *END_OFFSETS])
"""End offsets at a time in milliseconds: the columns of `end_offsets.parquet` in a recording."""

SHARE_OFFSETS = pa.schema([*_KEYS, ("start_offset", pa.int64())])
"""Start offsets of share groups: the columns of `share_offsets.parquet` in a recording."""

PROBLEMS = ("never_committed", "unknown_end", "beyond_end", "before_start")
"""Values of the column `problem`.

never_committed  the partition has an owner and no committed offset; its lag is unknown
unknown_end      the partition does not exist, or its end offset could not be read; its lag is unknown
beyond_end       the committed offset is beyond the end, for example because the topic was deleted and created again;
                 its lag is unknown
before_start     the committed offset is before the first offset: the records in between are deleted, but count as lag
"""

PARTITION_LAG = pa.schema(
    [
        *POSITIONS,
        ("start_offset", pa.int64()),
        ("end_offset", pa.int64()),
        ("lag", pa.int64()),
        ("deleted", pa.int64()),
        ("problem", pa.string()),
    ]
)
"""Lag of each partition.

lag      end offset minus committed offset; null if unknown
deleted  number of deleted offsets after the committed offset; the lag includes them; null if unknown
problem  one of `PROBLEMS`, or null
"""

LARGEST_LAG = 2**63 - 1
"""Highest sum of lags; a higher one is this number."""

COMPUTED = ("lag", "deleted", "problem")
"""Columns of `PARTITION_LAG` that `compute_lag` returns."""

_FIELDS = {field.name: field for schema in (PARTITION_LAG, END_OFFSETS) for field in schema}

SUMS = (
    ("partitions", pa.int64()),
    ("lag", pa.int64()),
    ("unknown", pa.int64()),
    *((name, pa.int64()) for name in PROBLEMS),
)
"""Columns of the sums of several partitions, see `MEMBER_LAG`."""

MEMBER_LAG = pa.schema([("group_id", pa.string()), ("member_id", pa.string()), *SUMS])
"""Lag of the partitions that a member owns.

partitions  number of partitions
lag         sum of the known lags, at most `LARGEST_LAG`; null if none is known
unknown     number of partitions whose lag is unknown
...         number of partitions with each of `PROBLEMS`
"""

GROUP_LAG = pa.schema([("group_id", pa.string()), *SUMS, ("unowned", pa.int64()), ("unowned_lag", pa.int64())])
"""Lag of a group, each partition counted once: the columns of `MEMBER_LAG` without `member_id`, and two more.

unowned      number of partitions with a committed offset and without an owner
unowned_lag  sum of their known lags; null if none is known
"""


def join_owners(committed: pa.Table, owners: pa.Table) -> pa.Table:
    """Join committed offsets and owners into one table, which `partition_lag` reads.

    Args:
        committed: The columns group_id, topic, partition and committed.
        owners: The columns group_id, topic, partition and member_id.

    Returns:
        The columns of `POSITIONS`: all partitions with a committed offset, an owner or both.

    Raises:
        WrongTypeError: A column is missing or cannot be converted to its type.
        IllegalArgumentError: A group has two committed offsets for one partition.
    """
    offsets = _select(committed, "committed", "group_id", "topic", "partition", "committed")
    _check_unique(offsets, "committed", "group_id", "topic", "partition")
    holders = _select(owners, "owners", "group_id", "topic", "partition", "member_id")
    keys = [name for name, _ in _KEYS]
    joined = offsets.join(holders, keys, join_type="full outer")
    return joined.select(POSITIONS.names).cast(POSITIONS)


def partition_lag(positions: pa.Table, end_offsets: pa.Table) -> pa.Table:
    """Return the lag of each partition.

    Args:
        positions: The columns of `POSITIONS`.
        end_offsets: The columns of `END_OFFSETS`. Read them after the committed offsets. Otherwise an offset that is
            committed between the two reads can be beyond the end.

    Returns:
        A row for each row of `positions` with a committed offset or an owner, with the columns of `PARTITION_LAG`,
        sorted by group, topic, partition and member.

    Raises:
        WrongTypeError: A column is missing or cannot be converted to its type.
        IllegalArgumentError: `end_offsets` has a partition twice.

    Example:
        >>> import pyarrow as pa
        >>> positions = pa.table({"group_id": ["g", "g"], "topic": ["t", "t"], "partition": [0, 1],
        ...                       "member_id": ["a", "a"], "committed": [7, None]})
        >>> ends = pa.table({"topic": ["t", "t"], "partition": [0, 1], "start_offset": [0, 0], "end_offset": [9, 4]})
        >>> [(row["lag"], row["problem"]) for row in partition_lag(positions, ends).to_pylist()]
        [(2, None), (None, 'never_committed')]
    """
    rows = _select(positions, "positions", *POSITIONS.names)
    ends = _select(end_offsets, "end_offsets", *END_OFFSETS.names)
    _check_unique(ends, "end_offsets", "topic", "partition")
    committed = pc.if_else(pc.greater_equal(rows["committed"], 0), rows["committed"], pa.scalar(None, pa.int64()))
    rows = rows.set_column(rows.schema.get_field_index("committed"), "committed", committed)
    rows = rows.filter(pc.or_(pc.is_valid(rows["committed"]), pc.is_valid(rows["member_id"])))
    rows = rows.join(ends, ["topic", "partition"], join_type="left outer")
    columns = compute_lag(rows["committed"], rows["start_offset"], rows["end_offset"])
    for name, column in zip(COMPUTED, columns, strict=True):
        rows = rows.append_column(name, column)
    order = [(name, "ascending") for name in ("group_id", "topic", "partition", "member_id")]
    return rows.select(PARTITION_LAG.names).cast(PARTITION_LAG).sort_by(order).combine_chunks()


def compute_lag(committed: pa.Array, start: pa.Array, end: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return the columns `COMPUTED` of partitions.

    Args:
        committed: Committed offsets; null without a commit.
        start: First offsets of the partitions.
        end: Offsets after their last records.
    """
    problem = _first_true(
        never_committed=pc.is_null(committed),
        unknown_end=pc.is_null(end),
        beyond_end=pc.greater(committed, end),
        before_start=pc.less(committed, start),
    )
    is_known = pc.or_(pc.is_null(problem), pc.equal(problem, "before_start"))
    is_known = pc.fill_null(is_known, fill_value=True)
    unknown = pa.scalar(None, pa.int64())
    lag = pc.if_else(is_known, pc.subtract(end, committed), unknown)
    # The start can be far below the committed offset, so that the difference would not fit in 64 bits.
    lost = pc.if_else(pc.greater(start, committed), pc.subtract(start, committed), 0)
    deleted = pc.if_else(is_known, lost, unknown)
    return lag, deleted, problem


def member_lag(partitions: pa.Table) -> pa.Table:
    """Sum up the lag by member.

    A partition that several members own counts for each of them.

    Args:
        partitions: Result of `partition_lag`.

    Returns:
        The columns of `MEMBER_LAG`, sorted by group and member. Members without partitions have no row.

    Raises:
        WrongTypeError: `partitions` is not a table with the columns of `PARTITION_LAG`.
    """
    partitions = _select(partitions, "partitions", *PARTITION_LAG.names)
    owned = partitions.filter(pc.is_valid(partitions["member_id"]))
    return sum_lag(owned, ["group_id", "member_id"]).cast(MEMBER_LAG)


def group_lag(partitions: pa.Table) -> pa.Table:
    """Sum up the lag by group.

    Args:
        partitions: Result of `partition_lag`.

    Returns:
        The columns of `GROUP_LAG`, sorted by group. Groups that have neither owned partitions nor committed offsets
        have no row.

    Raises:
        WrongTypeError: `partitions` is not a table with the columns of `PARTITION_LAG`.

    Example:
        >>> import pyarrow as pa
        >>> topics = {"topic": ["t", "t", "t"], "partition": [0, 1, 2]}
        >>> owners = {"member_id": ["a", "b", None], "committed": [7, None, 1]}
        >>> positions = pa.table({"group_id": ["g", "g", "g"], **topics, **owners})
        >>> ends = pa.table({**topics, "start_offset": [0, 0, 0], "end_offset": [9, 9, 9]})
        >>> (group,) = group_lag(partition_lag(positions, ends)).to_pylist()
        >>> group["lag"], group["unknown"], group["never_committed"], group["unowned_lag"]
        (10, 1, 1, 8)
    """
    once = first_rows(_select(partitions, "partitions", *PARTITION_LAG.names))
    unowned = sum_lag(once.filter(pc.is_null(once["member_id"])), ["group_id"]).select(
        ["group_id", "partitions", "lag"]
    )
    unowned = unowned.rename_columns(["group_id", "unowned", "unowned_lag"])
    found = sum_lag(once, ["group_id"]).join(unowned, "group_id", join_type="left outer").sort_by("group_id")
    counts = pc.fill_null(found["unowned"], 0)
    found = found.set_column(found.schema.get_field_index("unowned"), "unowned", counts)
    return found.select(GROUP_LAG.names).cast(GROUP_LAG).combine_chunks()


def first_rows(partitions: pa.Table) -> pa.Table:
    """Return the first row of each partition of a group: a partition with several owners has several rows."""
    keys = [name for name, _ in _KEYS]
    columns = [name for name in partitions.schema.names if name not in keys]
    firsts = [(name, "first", pc.ScalarAggregateOptions(skip_nulls=False)) for name in columns]
    return partitions.group_by(keys, use_threads=False).aggregate(firsts).rename_columns([*keys, *columns])


def sum_lag(rows: pa.Table, keys: list[str]) -> pa.Table:
    """Return number, sum of lag, number of unknown lags and number of each problem, by key."""
    columns = {name: rows[name] for name in (*keys, "lag")}
    columns["unknown"] = pc.is_null(rows["lag"])
    for name in PROBLEMS:
        columns[name] = pc.fill_null(pc.equal(rows["problem"], name), fill_value=False)
    counts = ["unknown", *PROBLEMS]
    wanted = [
        ("lag", "count", pc.CountOptions(mode="all")),
        ("lag", "sum", pc.ScalarAggregateOptions(min_count=1)),
        *((name, "sum") for name in counts),
    ]
    largest = pc.max(rows["lag"]).as_py() or 0
    if largest * len(rows) > LARGEST_LAG:
        columns["lag"] = rows["lag"].cast(pa.decimal128(38))
    found = pa.table(columns).group_by(keys, use_threads=False).aggregate(wanted)
    found = found.rename_columns([*keys, "partitions", "lag", *counts])
    if largest * len(rows) > LARGEST_LAG:
        most = pa.scalar(LARGEST_LAG, pa.decimal128(38))
        capped = pc.if_else(pc.greater(found["lag"], most), most, found["lag"]).cast(pa.int64())
        found = found.set_column(found.schema.get_field_index("lag"), "lag", capped)
    return found.sort_by([(key, "ascending") for key in keys])


def _first_true(**conditions: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return, for each row, the name of the first condition that is true, or null; a null condition is false."""
    found = pa.scalar(None, pa.string())
    for name, condition in reversed(conditions.items()):
        found = pc.if_else(pc.fill_null(condition, fill_value=False), name, found)
    return found


def _select(table: pa.Table, what: str, *names: str) -> pa.Table:
    """Return columns of a table with their types."""
    return select_columns(table, what, pa.schema([_FIELDS[name] for name in names]))


def select_columns(table: pa.Table, what: str, schema: pa.Schema) -> pa.Table:
    """Return the columns of a schema with their types.

    Args:
        table: The table.
        what: Name of the argument in errors.
        schema: The columns.

    Raises:
        WrongTypeError: A column is missing or cannot be converted to its type.
    """
    if not isinstance(table, (pa.Table, pa.RecordBatch)):
        raise wrong_type(what, "a pyarrow.Table", table)
    for name in schema.names:
        if name not in table.schema.names:
            raise WrongTypeError(f"{what} has no column {name}; its columns are {', '.join(table.schema.names)}")
    try:
        return pa.table(table).select(schema.names).cast(schema)
    except (pa.ArrowException, TypeError, ValueError) as error:
        described = ", ".join(f"{field.name}: {field.type}" for field in schema)
        raise WrongTypeError(f"{what} cannot be read as {described}: {error}") from error


def _check_unique(rows: pa.Table, what: str, *keys: str) -> None:
    """Raise an error if two rows have the same key."""
    counts = rows.select(keys).group_by(keys).aggregate([([], "count_all")])
    twice = counts.filter(pc.greater(counts["count_all"], 1)).sort_by([(key, "ascending") for key in keys])
    if len(twice):
        row = twice.slice(0, 1).to_pylist()[0]
        named = ", ".join(f"{key} {row[key]!r}" for key in keys)
        raise IllegalArgumentError(f"{what} has {row['count_all']} rows for {named}; a partition must have one row")
