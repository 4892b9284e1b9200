"""Findings about the lag of a group: that it grew, with or without members, and that offsets are not in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.lines import format_count, format_duration, format_spans, format_time
from assignor.report.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.report.absence import Absence
    from assignor.report.lag import GroupLag


def findings_of_lag(group: str, lag: GroupLag) -> Iterator[Finding]:
    """Yield the findings about the lag of a group."""
    if lag.absence is not None:
        yield _of_absence(group, lag.absence)
    growth = lag.growth
    if growth is not None:
        text = f"lag grew from {growth.first:,} to {growth.last:,} records in generation {growth.generation}"
        windows = f"windows of {format_duration(lag.window_ms)}" if lag.window_ms else "measurements"
        committed = growth.produced - (growth.last - growth.first)
        moved = f"advanced by only {committed:,}" if committed >= 0 else f"went back by {-committed:,}"
        evidence = (
            f"The lowest lag rose in {growth.rises:,} {windows} in a row. {format_count(growth.produced, 'record')} "
            f"were produced, but the committed offsets {moved}."
        )
        yield Finding("lag_growing", growth.since, growth.until, group, text, evidence)
    beyond, before = lag.out_of_range
    if beyond or before:
        count = sum(length for _, _, length in (*beyond, *before))
        parts = [f"Beyond the end: {format_spans(beyond)}."] if beyond else []
        if before:
            parts.append(f"Before the start ({format_count(lag.deleted, 'record')} deleted): {format_spans(before)}.")
        text = f"committed offsets of {format_count(count, 'partition')} are not in the log"
        yield Finding("out_of_range", lag.at, None, group, text, " ".join(parts))


def _of_absence(group: str, absence: Absence) -> Finding:
    text = f"no member since {format_time(absence.since)}; lag {absence.lag:,} and growing"
    evidence = (
        f"The last member left at {format_time(absence.since)}. The lag was {absence.first:,} at "
        f"{format_time(absence.first_at)} and is {absence.lag:,} at the end."
    )
    return Finding("no_members", absence.since, None, group, text, evidence)
