"""Events that a watch does not print: those of the rebalances of a storm or a rebalance loop that lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.replay.member_slots import client_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assignor.replay.event_text import MemberNames
    from assignor.replay.events import Event
    from assignor.replay.loop import Change, Loop

_CHANGES = frozenset({"joined", "left", "replaced"})


def hidden_events(
    events: Sequence[Event],
    changes: Sequence[Change],
    *,
    loops: Iterable[Loop],
    storms: Iterable[str],
    names: MemberNames,
) -> set[int]:
    """Return the places of the events that belong to rebalances of storms and loops.

    Args:
        events: Events, in the order of a replay.
        changes: Loops that began or ended with these events.
        loops: The loops that last after the events.
        storms: Ids of the groups that are in a storm after the events.
        names: Names of members, to which those of the events are added.
    """
    found = _Hidden(events, changes, loops, storms, names)
    for place, event in enumerate(events):
        if event["group"] is not None:
            found.add(place, event)
    return found.places | {
        place
        for place, event in enumerate(events)
        if (event["group"], event["offset"]) in found.rebalances
        and (event["event"] in {"generation", "rebalance"} or event.get("action") in _CHANGES)
    }


class _Hidden:
    """Events of storms and loops.

    Attributes:
        places: Places of the events `member` of loops in which members change.
        rebalances: Group and offset of each rebalance of a storm or a loop.
    """

    def __init__(
        self,
        events: Sequence[Event],
        changes: Sequence[Change],
        loops: Iterable[Loop],
        storms: Iterable[str],
        names: MemberNames,
    ) -> None:
        self.places: set[int] = set()
        self.rebalances: set[tuple[str, int]] = set()
        self._names = names
        last = list(loops)
        self._latest = {(loop.group, loop.since): loop for loop in (*(each.loop for each in changes), *last)}
        self._begins = {(each.loop.group, each.offset): each.loop for each in changes if each.loop.until is None}
        self._loops = _loops_before(last, changes)
        self._storms = _storms_before(storms, events)

    def add(self, place: int, event: Event) -> None:
        """Add the next event."""
        group = event["group"]
        loop = self._loops.get(group)
        match event["event"]:
            case "member":
                self._names.add(event)
                is_of_loop = loop is not None and loop.repeats != "same_members" and event["action"] in _CHANGES
                if is_of_loop and loop is not None and loop.covers(event["at"], [client_name(event)]):
                    self.places.add(place)
            case "storm" if event["until"] is None:
                self._storms.add(group)
            case "storm":
                self._storms.discard(group)
            case "rebalance":
                self._rebalance(event, loop)

    def _rebalance(self, event: Event, loop: Loop | None) -> None:
        group, key = event["group"], (event["group"], event["offset"])
        members = (*event["joined"], *event["left"], *event["replaced"])
        is_of_storm = group in self._storms and not members
        if is_of_storm or (loop is not None and loop.covers(event["at"], self._names.clients(members))):
            self.rebalances.add(key)
        if key in self._begins:
            self._loops[group] = self._latest[group, self._begins[key].since]


def _loops_before(loops: Iterable[Loop], changes: Sequence[Change]) -> dict[str, Loop]:
    """Return the loops that lasted before changes, by group, from those that last after them."""
    found = {loop.group: loop for loop in loops}
    for change in reversed(changes):
        if change.loop.until is None:
            found.pop(change.loop.group, None)
        else:
            found[change.loop.group] = change.loop
    return found


def _storms_before(storms: Iterable[str], events: Sequence[Event]) -> set[str]:
    """Return the groups in a storm before events, from those in a storm after them."""
    found = set(storms)
    for event in reversed(events):
        if event["event"] == "storm" and event["until"] is None:
            found.discard(event["group"])
        elif event["event"] == "storm":
            found.add(event["group"])
    return found
