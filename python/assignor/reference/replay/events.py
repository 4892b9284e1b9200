"""Events of a replay: their fields, and the functions that build them.

An event is a dict with the fields of its kind, in the order of `FIELDS`. Partitions are pairs of topic and id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["COMMON", "FIELDS", "Event", "Partition", "event", "pairs"]

Event = dict[str, Any]

Partition = tuple[str, int]
"""Topic, or topic id, and partition id."""

COMMON = ("event", "cluster", "group", "kind", "at", "offset")

FIELDS = {
    "generation": (
        "generation",
        "protocol_type",
        "protocol",
        "leader",
        "members",
        "partitions",
        "duration_ms",
        "same_members",
        "comparison",
    ),
    "rebalance": ("generation", "causes", "evidence", "joined", "left", "replaced", "moved", "unowned"),
    "member": ("action", "member", "instance_id", "client_id", "client_host", "previous", "generation", "causes"),
    "storm": ("since", "until", "rebalances", "topic_partitions", "unowned"),
    "stuck": ("member", "topic_partitions", "since", "until", "usual_interval_ms"),
    "offsets": ("problem", "topic_partitions", "evidence"),
    "bad_record": ("record_type", "error"),
}
"""Fields of each kind of event after the common ones."""


def event(name: str, common: tuple[str, str | None, str | None, int, int], *values: Any) -> Event:
    """Build an event from its common values (cluster, group, kind, at, offset) and the values of its own fields."""
    return dict(zip((*COMMON, *FIELDS[name]), (name, *common, *values), strict=True))


def pairs(partitions: Iterable[Partition]) -> list[list[Any]]:
    """Return partitions as sorted lists of topic and id."""
    return [list(partition) for partition in sorted(partitions)]
