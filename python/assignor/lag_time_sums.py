"""Lag in time of members, topics and groups: sums and worst values of their partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lag import SUMS, first_rows, select_columns, sum_lag
from assignor.lag_time import REASONS, TIME_LAG, TRENDS
from assignor.validation import shown

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BY", "SUMMED_TIME", "By", "sum_lag_in_time", "summed_schema"]

By = Literal["group", "topic", "member"]

BY: tuple[By, ...] = ("group", "topic", "member")
"""What the partitions are summed up by."""

_KEYS = {"group": ("group_id",), "topic": ("group_id", "topic"), "member": ("group_id", "member_id")}

SUMMED_TIME = pa.schema(
    [
        ("behind_seconds", pa.float64()),
        ("behind_at_least", pa.float64()),
        ("behind_unknown", pa.int64()),
        ("behind_reason", pa.string()),
        ("growth_per_second", pa.float64()),
        ("growth_unknown", pa.int64()),
        ("growth_reason", pa.string()),
        ("trend", pa.string()),
        ("catch_up_seconds", pa.float64()),
        ("catch_up_reason", pa.string()),
        ("records_to_start", pa.int64()),
        ("start_reason", pa.string()),
        ("deleted_in_seconds", pa.float64()),
        ("deletion_reason", pa.string()),
    ]
)
"""Lag in time of several partitions.

behind_seconds      age of the oldest record that is not read; null if no age is known, or if one that is not known is
                    higher than all that are
behind_at_least     highest lower bound of an age that is not known, if it is above `behind_seconds`; else null
behind_unknown      number of partitions whose seconds behind are not known
growth_per_second   sum of the known growths
growth_unknown      number of partitions whose growth is not known
trend               worst trend; null if no trend is known
catch_up_seconds    time until all partitions with a known lag have caught up: the highest of these times; null if a
                    partition does not catch up, or if its time is not known. Partitions that keep up do not count
records_to_start    smallest distance of a committed offset from the start of its log
deleted_in_seconds  shortest time until a record at a committed offset is deleted

The columns that end with `_reason` have one of `assignor.lag_time.REASONS`: the first one, in this order, of the
partitions with a known lag, or of all partitions if no lag is known.
"""

_UNKNOWN_RANK = 5
_RANKS: dict[str | None, int] = {None: _UNKNOWN_RANK, **{name: 2 * rank for rank, name in enumerate(TRENDS)}}
"""How bad a trend is for catching up. A trend that is not known is between `catching_up` and `steady`."""

_MIN_ONE = pc.ScalarAggregateOptions(min_count=1)
_BLOCKED = {"keeping_up": "keeping_up", "steady": "steady", "falling_behind": "growing"}


def summed_schema(by: By) -> pa.Schema:
    """Return the columns that `sum_lag_in_time` returns.

    Raises:
        IllegalArgumentError: Unknown `by`.
    """
    if not isinstance(by, str) or by not in _KEYS:
        raise IllegalArgumentError(f"by must be 'group', 'topic' or 'member', not {shown(by)}")
    return pa.schema([*(TIME_LAG.field(name) for name in _KEYS[by]), *SUMS, *SUMMED_TIME])


def sum_lag_in_time(partitions: pa.Table, *, by: By = "group") -> pa.Table:
    """Return the lag in time of groups, of the topics of groups, or of members.

    A partition with several owners counts once for a group and its topics, and for each of its owners.

    Args:
        partitions: Result of `assignor.lag_time.lag_in_time`.
        by: `"group"`, `"topic"` or `"member"`.

    Returns:
        The columns `group_id`, `topic` for topics and `member_id` for members, then the sums of
        `assignor.lag.MEMBER_LAG` and the columns of `SUMMED_TIME`, sorted by these names.

    Raises:
        WrongTypeError: `partitions` is not a table with the columns of `assignor.lag_time.TIME_LAG`.
        IllegalArgumentError: Unknown `by`.

    Example:
        >>> keys = {"group_id": "g", "topic": "t", "member_id": "a"}
        >>> falling = {"lag": 30, "behind_seconds": 4.0, "growth_per_second": -2.0, "trend": "catching_up"}
        >>> rising = {"lag": 500, "behind_seconds": 90.0, "growth_per_second": 5.0, "trend": "falling_behind"}
        >>> rows = [{**keys, **falling, "partition": 0, "catch_up_seconds": 15.0},
        ...         {**keys, **rising, "partition": 1, "catch_up_reason": "growing"}]
        >>> table = pa.Table.from_pylist(rows, TIME_LAG)
        >>> (group,) = sum_lag_in_time(table).to_pylist()
        >>> group["lag"], group["behind_seconds"], group["growth_per_second"], group["trend"], group["catch_up_reason"]
        (530, 90.0, 3.0, 'falling_behind', 'growing')
    """
    schema = summed_schema(by)
    rows = select_columns(partitions, "partitions", TIME_LAG)
    rows = rows.filter(pc.is_valid(rows["member_id"])) if by == "member" else first_rows(rows)
    keys = list(_KEYS[by])
    sums = sum_lag(rows, keys)
    times = _times(rows, keys).join(sums, keys, join_type="inner")
    order = [(key, "ascending") for key in keys]
    return times.select(schema.names).cast(schema).sort_by(order).combine_chunks()


def _times(rows: pa.Table, keys: list[str]) -> pa.Table:
    """Return the columns of `SUMMED_TIME` by key."""
    columns = {name: rows[name] for name in keys}
    values = ("behind_seconds", "behind_at_least", "growth_per_second", "records_to_start", "deleted_in_seconds")
    columns |= {name: rows[name] for name in values}
    has_lag = pc.is_valid(rows["lag"])
    ranks = [_RANKS[trend] for trend in rows["trend"].to_pylist()]
    rank = pc.if_else(has_lag, pa.array(ranks, pa.int64()), pa.scalar(None, pa.int64()))
    columns["rank"] = rank
    columns["known_rank"] = pc.if_else(pc.is_valid(rows["trend"]), rank, pa.scalar(None, pa.int64()))
    columns["catch_up_seconds"] = rows["catch_up_seconds"]
    columns["behind_unknown"] = pc.is_null(rows["behind_seconds"])
    columns["growth_unknown"] = pc.is_null(rows["growth_per_second"])
    reasons = ("behind_reason", "growth_reason", "catch_up_reason", "start_reason", "deletion_reason")
    codes = {name: number for number, name in enumerate(REASONS)}
    later = pc.if_else(has_lag, 0, len(codes))  # the reason of a partition whose lag is not known decides alone only
    for name in reasons:
        numbers = [None if reason is None else codes[reason] for reason in rows[name].to_pylist()]
        columns[name] = pc.add(pa.array(numbers, pa.int64()), later)
    is_unknown = pc.and_(has_lag, pc.equal(pa.array(ranks, pa.int64()), _UNKNOWN_RANK))
    columns["trend_reason"] = pc.if_else(is_unknown, columns["catch_up_reason"], pa.scalar(None, pa.int64()))
    aggregations = {
        **dict.fromkeys(("behind_seconds", "behind_at_least", "catch_up_seconds", "rank", "known_rank"), "max"),
        **dict.fromkeys(("records_to_start", "deleted_in_seconds", "trend_reason", *reasons), "min"),
        **dict.fromkeys(("growth_per_second", "behind_unknown", "growth_unknown"), "sum"),
    }
    wanted = [(name, kind, _MIN_ONE) for name, kind in aggregations.items()]
    found = pa.table(columns).group_by(keys, use_threads=False).aggregate(wanted)
    found = found.rename_columns([*keys, *aggregations])
    is_higher = pc.greater(found["behind_at_least"], pc.fill_null(found["behind_seconds"], -1.0))
    is_higher = pc.fill_null(is_higher, fill_value=False)
    nothing = pa.scalar(None, pa.float64())
    names = dict(enumerate([*REASONS, *REASONS]))
    behind = pc.if_else(is_higher, nothing, found["behind_seconds"])
    catch_up = [_catch_up(*row) for row in zip(*(found[name].to_pylist() for name in _DECIDING), strict=True)]
    trends = {rank: name for name, rank in _RANKS.items()}
    # Rounded by numpy, which divides a whole number: the last digit does not depend on the order of the rows.
    growth = pa.array(np.round(found["growth_per_second"].to_numpy(), 6) + 0.0, from_pandas=True)
    return pa.table(
        {
            **{key: found[key] for key in keys},
            "behind_seconds": behind,
            "behind_at_least": pc.if_else(is_higher, found["behind_at_least"], nothing),
            "behind_unknown": found["behind_unknown"],
            "behind_reason": _reasons(behind, found["behind_reason"], names),
            "growth_per_second": growth,
            "growth_unknown": found["growth_unknown"],
            "growth_reason": _reasons(growth, found["growth_reason"], names),
            "trend": pa.array([trends.get(rank) for rank in found["known_rank"].to_pylist()], pa.string()),
            "catch_up_seconds": pa.array([seconds for seconds, _ in catch_up], pa.float64()),
            "catch_up_reason": pa.array([reason for _, reason in catch_up], pa.string()),
            "records_to_start": found["records_to_start"],
            "start_reason": _reasons(found["records_to_start"], found["start_reason"], names),
            "deleted_in_seconds": found["deleted_in_seconds"],
            "deletion_reason": _reasons(found["deleted_in_seconds"], found["deletion_reason"], names),
        }
    )


_DECIDING = ("rank", "catch_up_seconds", "trend_reason", "catch_up_reason")


def _catch_up(
    rank: int | None, seconds: float | None, trend_reason: int | None, reason: int | None
) -> tuple[float | None, str | None]:
    """Return the time until all partitions have caught up, or why it is not known."""
    names = [*REASONS, *REASONS]
    if rank is None:  # no lag is known
        return None, None if reason is None else names[reason]
    if rank == _UNKNOWN_RANK:
        return None, None if trend_reason is None else names[trend_reason]
    trend = next(name for name, each in _RANKS.items() if each == rank)
    if trend in _BLOCKED:
        return None, _BLOCKED[trend or ""]
    return seconds, None


def _reasons(values: pa.ChunkedArray, codes: pa.ChunkedArray, names: dict[int, str]) -> pa.Array:
    """Return the reasons of the values that are null."""
    pairs: Sequence[tuple[bool, int | None]] = list(zip(values.is_valid().to_pylist(), codes.to_pylist(), strict=True))
    return pa.array([None if is_known or code is None else names[code] for is_known, code in pairs], pa.string())
