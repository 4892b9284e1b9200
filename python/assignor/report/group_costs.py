"""Costs of the rebalances of groups, read with pyarrow from the table `events` of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assignor.costs import EVENT_COLUMNS, rebalance_costs
from assignor.dependencies import dependency

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

MOST_MEMBERS = 20
"""Number of members of a group whose costs a report lists: the dearest ones."""


@dataclass(frozen=True, slots=True)
class GroupCosts:
    """Cost of the rebalances of a group: rows of `assignor.costs.rebalance_costs`, without cluster and group.

    Attributes:
        total: The cost.
        rank: Place of the group among the groups, the dearest first, from 0.
        causes: Costs by most likely cause, the dearest first.
        hours: Costs by hour, the dearest first.
        members: Costs by member: the `MOST_MEMBERS` dearest ones.
    """

    total: dict[str, Any]
    rank: int
    causes: tuple[dict[str, Any], ...]
    hours: tuple[dict[str, Any], ...]
    members: tuple[dict[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `assignor report --json` prints."""
        return {
            **self.total,
            "rank": self.rank,
            "causes": list(self.causes),
            "hours": list(self.hours),
            "members": list(self.members),
        }


def read_costs(part: Path) -> dict[str, GroupCosts]:
    """Return the cost of the rebalances of each group that has any, the dearest first.

    Args:
        part: Folder with the tables that `report_folder.TABLES` names.
    """
    is_wanted = pc.field("event").isin(["rebalance", "cost"])
    events = pq.read_table(part / "events", columns=EVENT_COLUMNS.names, filters=is_wanted)
    found = rebalance_costs(events)
    causes, hours, members = (_by_group(table) for table in (found.causes, found.hours, found.members))
    return {
        group: GroupCosts(
            total,
            rank,
            causes=tuple(causes.get(group, ())),
            hours=tuple(hours.get(group, ())),
            members=tuple(members.get(group, ()))[:MOST_MEMBERS],
        )
        for rank, (group, [total]) in enumerate(_by_group(found.groups).items())
    }


def _by_group(table: pa.Table) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each group without cluster and group, in their order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in table.drop_columns(["cluster"]).to_pylist():
        found.setdefault(row.pop("group"), []).append(row)
    return found
