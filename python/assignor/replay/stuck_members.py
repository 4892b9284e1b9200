"""Stuck members of a live cluster: members that stopped committing although records wait for them.

A client such as librdkafka commits only after it has read something. So a member that stops committing can simply have
nothing to read. A member is stuck if records have waited for `INTERVALS` of its usual intervals behind the offset that
it committed last. For a partition that the member commits less often than others, these are the intervals of the
partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.waiting import INTERVALS, usual_intervals

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignor.replay.conditions import Conditions

Event = dict[str, Any]


def confirm(
    conditions: Conditions, waiting: pa.Table, at: int, interrupted: Mapping[str, int]
) -> tuple[list[Event], int | None]:
    """Find the silent members that are stuck, and mark them in the conditions.

    Args:
        conditions: The conditions of the groups.
        waiting: Result of `LagProgress.waiting`.
        at: Time of the measurement in milliseconds, which becomes the time of the events.
        interrupted: Latest time at which the coordinator of a partition of `__consumer_offsets` did not answer or
            moved, by the partition as in the field `cluster` of the events. Members could not commit until then.

    Returns:
        A tuple. First the events `stuck` of the members. Then the time at which the next member becomes stuck if it
        commits nothing; None if no records wait for a silent member.
    """
    candidates = list(conditions.silent())
    if not candidates:
        return [], None
    groups = pa.array(sorted({group for group, _ in candidates}), pa.string())
    rows = waiting.filter(pc.is_in(waiting["group_id"], groups)).to_pylist()
    since = {(row["group_id"], row["topic"], row["partition"]): row["waiting_since"] for row in rows}
    found: list[Event] = []
    later: list[int] = []
    for group, event in candidates:
        places = ((group, topic, partition) for topic, partition in event["topic_partitions"])
        waits = [
            (since[place], usual) for place, usual in zip(places, usual_intervals(event), strict=True) if place in since
        ]
        if not waits:
            continue
        answers = interrupted.get(event["cluster"], 0)
        due = min(max(first, answers) + INTERVALS * usual for first, usual in waits)
        if due <= at:
            conditions.of(group).stuck.add(event["member"])
            found.append({**event, "at": at})
        else:
            later.append(due)
    return found, min(later, default=None)
