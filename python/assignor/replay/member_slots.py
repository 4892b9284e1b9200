"""Places of the members of a group, and how often each place gets another member.

A member that joins takes the place of a member that left, of its own client if possible. So the place of a member that
is restarted has one restart, and the place of a client that joins without its member id gets one with each generation,
although no member id ever returns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

ALONE_MS = 50_000
"""Longest cycle, in milliseconds, of a place whose group has no members in between. A cron job needs a minute."""

AMONG_OTHERS_MS = 300_000
"""Longest cycle of a place whose group keeps other members. An autoscaler needs five minutes to remove a member."""

AT_ONCE_MS = 1_800_000
"""Longest cycle of a place whose old member leaves, and whose new member joins, in the same rebalance."""

POLL_EXCEEDED_MS = 3_600_000
"""Longest cycle of a place whose member left because it exceeded its poll interval; also how long a place is kept."""

_BY_FAR = 4
_MOST_VACANT = 1_000


class Mark(NamedTuple):
    """Rebalance: its time in milliseconds, its generation, and its number among the rebalances outside of storms."""

    at: int
    generation: int
    number: int


@dataclass
class Slot:
    """Place of one member after another.

    Attributes:
        client: Name of the client of the current or last member: its instance id, or client id and host.
        joined: Time at which that member joined, in milliseconds.
        first: First rebalance of the current series of restarts.
        restarts: Members that took the place since then.
        at_once: Those of them that joined in the rebalance in which the member before left.
        slow: Those of them whose cycle was longer than the limit.
        rebalances: Rebalances in which the place lost or got a member. One that changed several places counts in parts.
    """

    client: str
    joined: int
    first: Mark
    restarts: int = 0
    at_once: int = 0
    slow: int = 0
    rebalances: float = 0.0

    def restart(self, mark: Mark, limit: int, *, is_at_once: bool) -> None:
        """Count a restart. A new series begins if more than half of the cycles, or one by far, exceed the limit."""
        cycle = mark.at - self.joined
        self.restarts += 1
        self.at_once += is_at_once
        self.slow += cycle > limit
        if 2 * self.slow > self.restarts or cycle > _BY_FAR * limit:
            self.reset(mark)

    def reset(self, mark: Mark) -> None:
        """Begin a new series."""
        self.first, self.restarts, self.at_once, self.slow, self.rebalances = mark, 0, 0, 0, 0.0

    def to_json(self) -> list[Any]:
        """Return the fields as a JSON array."""
        return [self.client, self.joined, list(self.first), self.restarts, self.at_once, self.slow, self.rebalances]

    @classmethod
    def from_json(cls, data: list[Any]) -> Slot:
        """Return the slot from an array that `to_json` returned."""
        client, joined, first, *counts = data
        return cls(client, joined, Mark(*first), *counts)


@dataclass
class Vacancy:
    """Slot without a member. `number` is that of the rebalance in which the member left, `limit` its longest cycle."""

    slot: Slot
    left: int
    number: int
    is_poll_exceeded: bool


def client_name(event: Mapping[str, Any]) -> str:
    """Return the name of the client of a `member` event: the instance id, or client id and host; empty if unknown."""
    if event["instance_id"]:
        return str(event["instance_id"])
    if not event["client_id"]:
        return ""
    host = event["client_host"]
    return f"{event['client_id']} on {host.removeprefix('/')}" if host else str(event["client_id"])


class MemberSlots:
    """Slots of the members of one group, from its events `member` and `rebalance`."""

    def __init__(self) -> None:
        self.slots: dict[str, Slot] = {}
        self._vacant: list[Vacancy] = []
        self._joined: dict[str, str] = {}
        self._left: dict[str, None] = {}
        self._emptied = 0

    def observe(self, event: Mapping[str, Any]) -> None:
        """Apply an event `member`. A member that joined or left counts with the next rebalance."""
        member, action = event["member"], event["action"]
        if action == "joined":
            self._left.pop(member, None)
            self._joined[member] = client_name(event)
        elif action in {"left", "expired"}:
            if member in self.slots:
                self._left[member] = None
            self._joined.pop(member, None)
        elif action == "replaced" and event["previous"] in self.slots:
            self.slots[member] = self.slots.pop(event["previous"])

    def rebalance(self, event: Mapping[str, Any], mark: Mark) -> list[Slot]:
        """Apply an event `rebalance`, and return the slots that lost or got a member.

        Args:
            event: The event.
            mark: The rebalance.
        """
        left = dict.fromkeys((*self._left, *(event["left"] or ())))
        joined = {**dict.fromkeys(event["joined"] or (), ""), **self._joined}
        self._left, self._joined = {}, {}
        is_poll_exceeded = event["causes"][:1] == ["poll_interval_exceeded"]
        touched: dict[int, Slot] = {}
        for member in left:
            slot = self.slots.pop(member, None) or Slot("", mark.at, mark)
            self._vacant.append(Vacancy(slot, mark.at, mark.number, is_poll_exceeded))
            touched[id(slot)] = slot
        self._vacant = [each for each in self._vacant if mark.at - each.left <= POLL_EXCEEDED_MS][-_MOST_VACANT:]
        if not (self.slots or joined):
            self._emptied = mark.number
        for member, client in joined.items():
            if member not in self.slots:
                slot = self.slots[member] = self._fill(client, mark)
                touched[id(slot)] = slot
        for member in event["replaced"] or ():
            slot = self.slots.setdefault(member, Slot("", mark.at, mark))
            slot.restart(mark, AT_ONCE_MS, is_at_once=True)
            slot.joined = mark.at
            touched[id(slot)] = slot
        for slot in touched.values():
            slot.rebalances += 1 / len(touched)
        return list(touched.values())

    def _fill(self, client: str, mark: Mark) -> Slot:
        """Return the slot for a member that joined: that of the last member that left, of the same client if any."""
        place = len(self._vacant) - 1
        for number in range(place, -1, -1):
            if client and self._vacant[number].slot.client == client:
                place = number
                break
        if place < 0:
            return Slot(client, mark.at, mark)
        found = self._vacant.pop(place)
        is_at_once = found.number == mark.number
        if is_at_once:
            limit = AT_ONCE_MS
        elif found.is_poll_exceeded:
            limit = POLL_EXCEEDED_MS
        else:
            limit = ALONE_MS if self._emptied >= found.number else AMONG_OTHERS_MS
        found.slot.restart(mark, limit, is_at_once=is_at_once)
        found.slot.client, found.slot.joined = client or found.slot.client, mark.at
        return found.slot

    def restarted(self, restarts: int) -> list[Slot]:
        """Return the slots with at least this many restarts."""
        return [slot for slot in self._all() if slot.restarts >= restarts]

    def reset(self, mark: Mark) -> None:
        """Begin a new series in each slot."""
        for slot in self._all():
            slot.reset(mark)

    def _all(self) -> Iterable[Slot]:
        return (*self.slots.values(), *(each.slot for each in self._vacant))

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        return {
            "slots": {member: slot.to_json() for member, slot in self.slots.items()},
            "vacant": [[each.slot.to_json(), each.left, each.number, each.is_poll_exceeded] for each in self._vacant],
            "joined": dict(self._joined),
            "left": list(self._left),
            "emptied": self._emptied,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MemberSlots:
        """Return the slots from an object that `to_json` returned."""
        found = cls()
        found.slots = {member: Slot.from_json(each) for member, each in data["slots"].items()}
        found._vacant = [Vacancy(Slot.from_json(slot), *rest) for slot, *rest in data["vacant"]]
        found._joined, found._left = dict(data["joined"]), dict.fromkeys(data["left"])
        found._emptied = data["emptied"]
        return found
