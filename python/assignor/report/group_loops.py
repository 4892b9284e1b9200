"""Rebalance loops of groups, read with pyarrow from the tables of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.replay.group_loops import LEAST_REBALANCES
from assignor.replay.loops import FIELDS, KINDS, find_loops

with dependency("pyarrow"):
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

if TYPE_CHECKING:
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
