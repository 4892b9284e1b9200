"""Whether the lag of a group grew after its last member left.

A group without members is normal if nothing is left to consume. The lag has to be known at two times after the members
left: one lag alone does not show that records still arrive. The commits of another group do not show it either, because
that group may be reading older records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor.dependencies import dependency

with dependency("pyarrow"):
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from assignor.lag_growth import Measurement

ABSENT_MS = 30_000
"""Shortest time without members, in milliseconds, that is a finding: a consumer that is started again needs less."""


@dataclass(frozen=True, slots=True)
class Absence:
    """Lag of a group that grew after its last member left.

    Attributes:
        since: Time at which the last member left, in milliseconds.
        lag: Lag at the last time of the end offsets.
        first_at: Time of the first measurement after the departure, in milliseconds.
        first: Lag at that time.
    """

    since: int
    lag: int
    first_at: int
    first: int


def departures(part: Path) -> dict[str, int]:
    """Return the time at which the last member left, in milliseconds, of each group without members at the end.

    Groups that never had members are not among them, such as those with offsets of a tool or of an application that
    chooses its partitions itself.

    Args:
        part: Folder with the tables `groups` and `generations`.
    """
    is_empty = (pc.field("state") == "Empty") & pc.field("kind").isin(["classic", "consumer"])
    groups = pq.read_table(part / "groups", columns=["group_id"], filters=is_empty)["group_id"].combine_chunks()
    columns = ["group_id", "offset", "timestamp", "generation", "members"]
    rows = pq.read_table(part / "generations", columns=columns, filters=pc.field("group_id").isin(groups))
    found: dict[str, int] = {}
    for row in rows.sort_by("offset").to_pylist():
        if row["members"]:
            found.pop(row["group_id"], None)
        elif row["generation"]:  # the first generation with members has the number 1
            found.setdefault(row["group_id"], row["timestamp"])
    return found


def find_absence(since: int, measurements: Sequence[Measurement]) -> Absence | None:
    """Return the growth of the lag since a group has no members; None if the lag did not grow.

    Args:
        since: Time at which the last member left, in milliseconds.
        measurements: Lag at each time of the end offsets.
    """
    known = [one for one in measurements if one.at >= since and one.lag is not None]
    if not known or known[-1] is not measurements[-1] or known[-1].at - since < ABSENT_MS:
        return None
    first, last = known[0].lag or 0, known[-1].lag or 0
    produced = sum(one.produced for one in measurements if one.at > known[0].at)
    return Absence(since, last, known[0].at, first) if last > first and produced > 0 else None
