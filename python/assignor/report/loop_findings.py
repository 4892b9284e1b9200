"""Findings about rebalance loops, from the events in the tables of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq

from assignor.replay import loop_text
from assignor.replay.group_loops import LEAST_REBALANCES
from assignor.replay.loops import FIELDS, KINDS, find_loops
from assignor.report.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from assignor.replay.loop import Loop


def read_loops(part: Path, end: int | None) -> dict[str, tuple[Loop, ...]]:
    """Return the rebalance loops of each group, in the order of time.

    Args:
        part: Folder with the tables that `report_folder.TABLES` names.
        end: Time of the end of the log in milliseconds; None for an empty log.
    """
    busy = _busy_groups(part)
    if not busy:
        return {}
    is_wanted = pc.field("event").isin(KINDS) & pc.field("group").isin(busy)
    events = pq.read_table(part / "events", columns=list(FIELDS), filters=is_wanted).to_pylist()
    found: dict[str, list[Loop]] = {}
    for loop in find_loops(events, end):
        found.setdefault(loop.group, []).append(loop)
    return {group: tuple(loops) for group, loops in found.items()}


def _busy_groups(part: Path) -> list[str]:
    """Return the groups with enough rebalances for a loop."""
    table = pq.read_table(part / "events", columns=["group"], filters=pc.field("event") == "rebalance")
    counts = table.group_by("group").aggregate([([], "count_all")]).to_pylist()
    return [row["group"] for row in counts if row["count_all"] >= LEAST_REBALANCES]


def findings_of_loops(group: str, loops: Sequence[Loop]) -> Iterator[Finding]:
    """Yield a finding for each loop of a group."""
    for loop in loops:
        text = f"rebalance loop: {loop_text.summary(loop)}"
        yield Finding("rebalance_loop", loop.since, loop.until, group, text, _evidence(loop))


def _evidence(loop: Loop) -> str:
    facts = loop_text.generations(loop.kind, loop.first, loop.last).capitalize()
    if loop.restarts:
        members = "member" if loop.restarts == 1 else "members"
        facts += f": {loop.restarts:,} {members} took the place of one that had left"
    if loop.clients:
        facts += f"; {'clients' if len(loop.clients) > 1 else 'client'}: {loop_text.clients(loop)}"
    return f"{facts}. The last rebalance: {loop.evidence}"
