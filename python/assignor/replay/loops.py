"""Rebalance loops of many groups: a fold over the events of a replay, which returns the loops that begin and end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.replay.group_loops import LEAST_REBALANCES, LONGEST_PAUSE_MS, GroupLoops
from assignor.replay.loop import Change, Loop

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

KINDS = ("rebalance", "member", "storm", "group_deleted")
"""Kinds of the events from which loops come."""

FIELDS = (
    *("event", "cluster", "group", "kind", "at", "offset", "generation", "causes", "evidence"),
    *("joined", "left", "replaced", "action", "member", "previous", "instance_id", "client_id", "client_host"),
    *("since", "until", "rebalances"),
)
"""Fields of these events that are read."""


def find_loops(events: Iterable[Mapping[str, Any]], end: int | None) -> list[Loop]:
    """Return the loops in the events of a finite log, in the order in which they end.

    Args:
        events: Events; each group in the order of `assignor.replay`.
        end: Time of the end of the log in milliseconds; None for an empty log.
    """
    fold = Loops()
    changes = [*fold.apply(events), *(fold.advance(end) if end is not None else ())]
    ended = [change.loop for change in changes if change.loop.until is not None]
    # A storm can contain the rebalances of a loop that was found before it.
    return [loop for loop in (*ended, *fold.current()) if loop.rebalances >= LEAST_REBALANCES]


class Loops:
    """Fold that finds the loops of many groups. Its state of a group does not grow with the number of rebalances."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], GroupLoops] = {}
        self._active: dict[tuple[str, str], GroupLoops] = {}
        self._deleted: dict[tuple[str, str], int] = {}
        self._now: dict[str, int] = {}

    def apply(self, events: Iterable[Mapping[str, Any]]) -> list[Change]:
        """Apply events, each group in the order of a replay, and return the loops that begin or end.

        Rebalances that only the log of a broker has are left out: their places among the events are not known.
        """
        chosen = (event for event in events if event["event"] in KINDS and event["offset"] >= 0)
        return [change for event in chosen for change in self._apply(event)]

    def _apply(self, event: Mapping[str, Any]) -> Iterator[Change]:
        key = (event["cluster"] or "", event["group"])
        self._now[key[0]] = max(event["at"], self._now.get(key[0], event["at"]))
        if event["event"] == "group_deleted":
            self._deleted[key] = event["at"]
            return
        self._deleted.pop(key, None)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = GroupLoops(*key)
        for loop in group.apply(event):
            yield Change(loop, event["at"], event["offset"])
        self._note(key, group)

    def _note(self, key: tuple[str, str], group: GroupLoops) -> None:
        if group.running is not None:
            self._active[key] = group
        else:
            self._active.pop(key, None)

    def advance(self, now: int, cluster: str | None = None) -> list[Change]:
        """Return the loops that have ended at a time, and forget groups that were deleted long before.

        Args:
            now: Time in milliseconds.
            cluster: Name of the cluster whose loops may end; None for all.
        """
        found = []
        for name in self._now if cluster is None else (cluster,):
            self._now[name] = max(now, self._now.get(name, now))
        for key, group in list(self._active.items()):
            if cluster is None or key[0] == cluster:
                found += [Change(loop, now, None) for loop in group.advance(now)]
                self._note(key, group)
        for key, at in list(self._deleted.items()):
            if key[0] in self._now and self._now[key[0]] - at > LONGEST_PAUSE_MS:
                del self._deleted[key]
                self._groups.pop(key, None)
        return found

    def current(self) -> list[Loop]:
        """Return the loops that last."""
        return [group.running.loop(group, None) for group in self._active.values() if group.running is not None]

    def to_json(self) -> list[Any]:
        """Return the groups with a loop, or with recent rebalances that can become one, as a JSON array."""
        return [group.to_json() for group in self._groups.values() if group.can_go_on(self._now[group.cluster])]

    @classmethod
    def from_json(cls, data: Iterable[Mapping[str, Any]]) -> Loops:
        """Return the fold from an array that `to_json` returned."""
        found = cls()
        for each in data:
            group = GroupLoops.from_json(each)
            key = (group.cluster, group.group)
            found._groups[key] = group
            found._now.setdefault(group.cluster, group.last_time())
            found._note(key, group)
        return found
