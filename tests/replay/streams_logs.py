"""Records of hand-written streams groups (KIP-1071)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.replay.logs import STREAMS

if TYPE_CHECKING:
    from tests.replay.logs import Event


def epoch(number: int, replicas: int | None = 1, **fields: Any) -> Event:
    """Return the group record of an epoch, with the number of standby copies of a task if it has one."""
    settings = [{"key": "num.standby.replicas", "value": str(replicas)}] if replicas is not None else []
    return STREAMS.epoch(number, **{"validatedTopologyEpoch": 0, "lastAssignmentConfigs": settings, **fields})


def joins(member_id: str, process: str = "") -> Event:
    """Return the record of a member with topology epoch 0."""
    return STREAMS.joins(member_id, processId=process or f"process-{member_id}", topologyEpoch=0)
