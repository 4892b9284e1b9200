"""Rows of the cost of rebalances for a page, from the groups of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.lines import format_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.page.data import Row

MOST_PARTS = 2_000
"""Largest number of rows per cause, hour and member that a page lists: those of the dearest groups."""

_PARTS = (("causes", "cause"), ("hours", "hour"), ("members", "member"))
_SECONDS = (("pause_ms", "pause"), ("partition_ms", "paused"), ("lost_ms", "lost"), ("epoch_ms", "epoch"))


def cost_rows(groups: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[list[Row], list[Row]]:
    """Return a row per group with a cost, the dearest first, and rows of their causes, hours and members."""
    known = sorted(
        ((row["cost"]["rank"], group, row["cost"]) for group, row in groups if row.get("cost")),
        key=lambda each: each[:2],
    )
    totals = [{"group": group, **_in_seconds(cost)} for _, group, cost in known]
    parts = [
        {
            "group": group,
            "by": by,
            "name": format_time(each[by])[:16] if by == "hour" else each[by],
            **_in_seconds(each),
        }
        for _, group, cost in known
        for field, by in _PARTS
        for each in cost[field]
    ]
    return totals, parts[:MOST_PARTS]


def _in_seconds(cost: Mapping[str, Any]) -> Row:
    found = {name: cost.get(name) for name in ("rebalances", "revoked", "assigned", "unknown_pauses", "open_pauses")}
    times = {name: None if cost.get(field) is None else round(cost[field] / 1_000, 3) for field, name in _SECONDS}
    return {**found, **{f"{name}_s": value for name, value in times.items()}}
