"""Groups as they are after the last record: state, members, committed offsets and owners of partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.reference.history import summarize
from assignor.reference.replay.model import History

if TYPE_CHECKING:
    from assignor.reference.history.metadata import Metadata
    from assignor.reference.replay.state import GroupState

__all__ = ["group_row", "position_rows"]


def group_row(state: GroupState, metadata: Metadata) -> dict[str, Any]:
    """Return the row of a group, as it is after the last record."""
    kind = next((kind for kind in reversed(state.kinds) if state.generation_of(kind) is not None), None)
    status, protocol, generation, members = "Empty", None, None, []
    if kind == "classic" and state.classic:
        status, protocol, generation = state.classic.state, state.classic.protocol, state.classic.generation
        members = state.classic.members()
    elif kind is not None:
        group = state.epoch_groups[kind]
        status, generation, members = group.state, group.epoch, group.members()
        protocol = group.assignor() if kind == "consumer" else None
    elif state.is_deleted and not state.committed.offsets:
        status = "gone"
        if state.last:
            kind, generation = state.last.kind, state.last.generation
    offsets = len(state.committed.offsets)
    history = History(kind or "offsets", status, protocol, generation, members, [], offsets, state.bad_records)
    row = summarize(history, metadata)
    row["rebalances"] = state.rebalances
    counters = {name: getattr(state, name) for name in ("records", "duplicates", "time_backwards")}
    return {"cluster": state.cluster, "group": state.group, **row, **counters}


def position_rows(state: GroupState) -> list[dict[str, Any]]:
    """Return a row for each partition with a committed offset or an owner."""
    offsets, ownerships = state.committed.offsets, state.committed.ownerships
    return [
        {
            "cluster": state.cluster,
            "group_id": state.group,
            "topic": topic,
            "partition": partition,
            "member_id": ownerships[topic, partition].owner if (topic, partition) in ownerships else None,
            "committed": offsets.get((topic, partition)),
        }
        for topic, partition in sorted({*offsets, *ownerships})
    ]
