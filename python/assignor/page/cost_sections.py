"""Section of a page with the cost of rebalances: a row per group, and rows per cause, hour and member."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.page.cells import NOT_KNOWN, Column
from assignor.page.figures import GROUP, numbers, section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.page.tables import Tables


_TEXT = (
    "Time without commits of the partitions that rebalances took from members or gave to members, from the last commit "
    "before to the first one after. The groups that lost the most beyond their usual intervals between commits come "
    "first. A pause over several rebalances counts once, for the first one."
)


def costs(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    """Yield the section; nothing if no group has a rebalance with a known cost."""
    if found.costs:
        yield from section("costs", _TEXT, _content(found, groups))


def _content(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    columns = (
        Column("rebalances", "rebalances", "number"),
        Column("pause_s", "seconds with a pause", "number", NOT_KNOWN),
        Column("paused_s", "partition-seconds", "number", NOT_KNOWN),
        Column("lost_s", "beyond the usual interval", "number", NOT_KNOWN),
        Column("revoked", "partitions revoked", "number", NOT_KNOWN),
        Column("assigned", "assigned", "number", NOT_KNOWN),
        Column("unknown_pauses", "pauses not known", "number", NOT_KNOWN),
        Column("open_pauses", "without an end", "number", NOT_KNOWN),
        Column("epoch_s", "seconds to the epoch, at most", "number", NOT_KNOWN),
    )
    yield from numbers("costs", (GROUP, *columns), found.costs, groups, caption="Cost of rebalances by group")
    parts = (GROUP, Column("by", "by"), Column("name", "which", "name"), *columns)
    yield from numbers("cost_parts", parts, found.cost_parts, groups, caption="Cost by cause, hour (UTC) and member")
