"""What a watch prints of a measurement of the lag: an object per group, with `event` equal to `lag`.

It is no event of a replay, because a log does not have the ends of the topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from assignor.lag_time_sums import By
    from assignor.replay.lag_meter import LagMeasurement

    Row = dict[str, Any]

EVENT = "lag"
"""Value of the field `event`. No event of `assignor.replay.events.FIELDS` has this name."""

BEGINS, LASTS, ENDS = "begins", "lasts", "ends"
"""Values of the field `growth`; null if the lag does not grow."""


def measured_lag(
    found: LagMeasurement,
    kinds: Mapping[str, str],
    *,
    growing_before: Collection[str] = (),
    cluster: str = "",
    is_complete: bool = True,
) -> list[Row]:
    """Return the lag of each group at a measurement, sorted by group id.

    Args:
        found: The measurement.
        kinds: Kind of each group.
        growing_before: Groups whose lag grew at the measurement before.
        cluster: Name of the cluster.
        is_complete: False to return only the groups whose lag begins to grow or no longer grows.

    Returns:
        Objects with the fields that all events have, and these:

        * `growth`: `"begins"`, `"lasts"` or `"ends"`; None if the lag does not grow
        * `growing_since`: time in milliseconds, and `growing_from`: lag at this time; None if the lag does not grow
        * `lag`: the sums of `assignor.lag.GROUP_LAG` and the columns of `assignor.lag_time_sums.SUMMED_TIME`, with
          `topics` and `members`: lists with those of each; None if the group has neither owned partitions nor
          committed offsets any more
    """
    changed = found.growing.keys() ^ set(growing_before)
    sums = {row["group_id"]: row for row in found.groups.to_pylist()}
    names = sorted((sums.keys() | changed) if is_complete else changed)
    times = {row["group_id"]: row for row in found.sums["group"].to_pylist()}
    details: dict[str, dict[str, list[Row]]] = {name: {"topics": [], "members": []} for name in names}
    kinds_of_rows: tuple[tuple[By, str], ...] = (("topic", "topics"), ("member", "members"))
    for by, field in kinds_of_rows if names else ():
        for row in found.sums[by].to_pylist():
            if row["group_id"] in details:
                details[row["group_id"]][field].append(_without_group(row))
    rows = []
    for name in names:
        growth = found.growing.get(name)
        status = (LASTS if name in growing_before else BEGINS) if growth else ENDS if name in growing_before else None
        lag = None if name not in sums else {**_without_group(sums[name] | times[name]), **details[name]}
        rows.append(
            {
                "event": EVENT,
                "cluster": cluster,
                "group": name,
                "kind": kinds.get(name),
                "at": found.at,
                "offset": -1,
                "growth": status,
                "growing_since": None if growth is None else growth.since,
                "growing_from": None if growth is None else growth.first,
                "lag": lag,
            }
        )
    return rows


def _without_group(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "group_id"}
