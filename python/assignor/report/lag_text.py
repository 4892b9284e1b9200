"""Text of lag in time: how far behind, until when a group catches up, and what is deleted before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.lag_time import REASONS
from assignor.lines import escape, format_count, format_duration, format_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    Row = Mapping[str, Any]

WORST = ("falling_behind", "steady", "catching_up")
"""Trends of groups that need a sentence."""


def behind_text(row: Row) -> str:
    """Return the seconds behind of a partition, topic, member or group; `-` if they are not known."""
    if row["behind_seconds"] is not None:
        return _duration(row["behind_seconds"])
    return f"> {_duration(row['behind_at_least'])}" if row["behind_at_least"] is not None else "-"


def catch_up_text(row: Row) -> str:
    """Return when it catches up, or what the lag does instead; `-` if it is not known."""
    trend, seconds = row["trend"], row["catch_up_seconds"]
    if trend == "caught_up":
        return "caught up"
    if seconds is not None:
        return f"in {_duration(seconds)}"
    reason = row["catch_up_reason"]
    if reason == "keeping_up":
        return "keeps up"
    if reason == "steady":
        return "no, stays"
    if reason == "growing":
        return f"no, {row['growth_per_second']:+,.1f}/s"
    return "-"


def deletion_text(row: Row) -> str:
    """Return the time until unread records are deleted; empty if it is not known."""
    return "" if row["deleted_in_seconds"] is None else f"in {_duration(row['deleted_in_seconds'])}"


def lag_lines(group: str, lag: Row) -> Iterator[str]:
    """Yield a line for a group that does not keep up, and one for its topic and member that are furthest behind.

    Args:
        group: Group id.
        lag: Columns of `lag_time_sums.SUMMED_TIME`, and `topics` and `members` with rows of them, or None.
    """
    if lag["trend"] not in WORST:
        return
    behind = behind_text(lag)
    parts = [f"{behind} behind" if behind != "-" else f"{format_count(lag['lag'] or 0, 'record')} behind"]
    yield f"{group}: {'; '.join([*parts, *_course(lag)])}"
    furthest = [
        f"{what} {worst[name]} ({behind_text(worst)}, {catch_up_text(worst)})"
        for what, name, rows in (("topic", "topic", lag["topics"]), ("member", "member_id", lag["members"]))
        if rows and (worst := max(rows, key=_age))["lag"]
    ]
    if furthest:
        yield f"  furthest behind: {', '.join(furthest)}"


def measured_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Yield a line for each group that has lag or could have it. What is not known is left out.

    Args:
        rows: Rows of `assignor.replay.measured_lag.measured_lag`.

    Example:
        >>> lag = {"lag": 672, "partitions": 4, "unknown": 1, "behind_seconds": 3.5, "behind_at_least": None,
        ...        "growth_per_second": 0.0, "trend": "keeping_up", "deleted_in_seconds": None}
        >>> list(measured_lines([{"group": "billing", "at": 0, "lag": lag}]))
        ['1970-01-01 00:00:00.000  billing  lag 672, unknown of 1 of 4 partitions; 3.5 s behind; keeps up']
    """
    for row in rows:
        lag = row["lag"]
        if lag is not None:
            yield f"{format_time(row['at'])}  {escape(row['group'])}  {'; '.join(_measured(lag))}"


def _measured(lag: Row) -> Iterator[str]:
    """Yield what is known of the lag of a group, in records and in time."""
    unknown = f", unknown of {lag['unknown']:,} of {format_count(lag['partitions'], 'partition')}"
    number = "unknown" if lag["lag"] is None else f"{lag['lag']:,}{unknown if lag['unknown'] else ''}"
    yield f"lag {number}"
    behind = behind_text(lag)
    if lag["lag"] and behind != "-":
        yield f"{behind} behind"
    if lag["trend"] in WORST:
        yield from _course(lag)
    elif lag["trend"] is not None:
        yield "caught up" if lag["trend"] == "caught_up" else "keeps up"


def _course(lag: Row) -> Iterator[str]:
    """Yield how the lag of a group that does not keep up changes, and when unread records are deleted."""
    if lag["growth_per_second"] is not None:
        yield f"lag changes by {lag['growth_per_second']:+,.1f} records/s"
    seconds, reason = lag["catch_up_seconds"], lag["catch_up_reason"]
    yield f"catches up in {_duration(seconds)}" if reason is None else f"does not catch up: {REASONS[reason]}"
    if lag["deleted_in_seconds"] is not None:
        yield f"the next unread record is deleted in {_duration(lag['deleted_in_seconds'])}"


def _age(row: Row) -> tuple[float, int]:
    return row["behind_seconds"] or row["behind_at_least"] or 0.0, row["lag"] or 0


def _duration(seconds: float) -> str:
    return format_duration(round(1_000 * seconds)) if seconds else "0 s"
