"""Coordinators of groups on a live cluster: the leaders of the partitions of `__consumer_offsets`, and their moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.lines import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Event = dict[str, Any]


class Coordinators:
    """Leaders of the partitions of the log over time.

    A new leader counts when two answers in a row name it: after a change, brokers can return the previous leader for a
    moment. While the leader of a partition is not known, the last known leader counts.
    """

    def __init__(self) -> None:
        self._leaders: dict[int, int] = {}
        self._last: dict[int, int | None] = {}

    def observe(self, leaders: Mapping[int, int | None]) -> dict[tuple[int, int], list[int]]:
        """Add an answer, and return the partitions that moved, by their previous and their new leader.

        Args:
            leaders: Broker id of the leader of each partition; None if it has no leader.
        """
        moved: dict[tuple[int, int], list[int]] = {}
        for partition, leader in sorted(leaders.items()):
            is_confirmed = self._last.get(partition) == leader
            self._last[partition] = leader
            if leader is None:
                continue
            previous = self._leaders.setdefault(partition, leader)
            if leader != previous and is_confirmed:
                self._leaders[partition] = leader
                moved.setdefault((previous, leader), []).append(partition)
        return moved


def moved_event(
    brokers: tuple[int, int], partitions: Sequence[int], groups: int, *, at: int, cluster: str = ""
) -> Event:
    """Return the event `coordinator`: the coordinator of groups moved to another broker.

    Args:
        brokers: Ids of the previous and the new coordinator.
        partitions: Partitions of `__consumer_offsets` that moved.
        groups: Number of groups in these partitions.
        at: Local time in milliseconds.
        cluster: Name of the cluster.
    """
    previous, leader = brokers
    return {
        "event": "coordinator",
        "cluster": cluster,
        "group": None,
        "kind": None,
        "at": at,
        "offset": -1,
        "previous": str(previous),
        "leader": str(leader),
        "log_partitions": [str(partition) for partition in partitions],
        "groups": groups,
    }


def moved_text(event: Event) -> str:
    """Return what an event `coordinator` says, without the partitions."""
    groups = format_count(event["groups"], "group")
    return f"coordinator of {groups} moved from broker {event['previous']} to broker {event['leader']}"
