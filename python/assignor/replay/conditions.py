"""Lasting conditions of groups: storms, partitions without an owner, stuck members, long rebalances, growing lag."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Event = dict[str, Any]


@dataclass
class Condition:
    """Lasting conditions of a group. Times are in milliseconds.

    Attributes:
        storm_since: Time of the first rebalance of the current storm; None without a storm.
        unowned: Number of partitions without an owner since the last rebalance; None if that is not known.
        silent: Event `stuck` of each member that has stopped committing, by member id. Whether records wait for the
            member is not known from the log.
        stuck: Ids of the silent members for which records wait.
        rebalancing_since: Time since which the group has been in a rebalance that is too long; None without one.
        growing_since: Time since which the lag has been growing; None if it does not grow.
    """

    storm_since: int | None = None
    unowned: int | None = None
    silent: dict[str, Event] = field(default_factory=dict)
    stuck: set[str] = field(default_factory=set)
    rebalancing_since: int | None = None
    growing_since: int | None = None

    @property
    def is_problem(self) -> bool:
        """True if a condition lasts that needs attention."""
        lasting = (self.storm_since, self.rebalancing_since, self.growing_since)
        return bool(self.stuck or self.unowned) or any(since is not None for since in lasting)


class Conditions:
    """Lasting conditions of groups, from their events and from what a watch measures.

    Attributes:
        groups: Conditions by group id. A group without events has none.
    """

    def __init__(self) -> None:
        self.groups: dict[str, Condition] = {}

    def of(self, group: str) -> Condition:
        """Return the conditions of a group, which the caller can change."""
        return self.groups.setdefault(group, Condition())

    def apply(self, events: Iterable[Event]) -> list[Event]:
        """Apply events in the order in which a replay returns them, and return those that are certain.

        An event `stuck` says only that a member stopped committing. Its beginning becomes certain with `confirm`, and
        its end is certain if its beginning was.
        """
        certain = []
        for event in events:
            change = _CHANGES.get(event["event"])
            if change is None or event["group"] is None or change(self.of(event["group"]), event):
                certain.append(event)
        return certain

    def silent(self) -> Iterator[tuple[str, Event]]:
        """Yield the group and the event of each silent member that is not known to be stuck."""
        for group, found in self.groups.items():
            for member, event in found.silent.items():
                if member not in found.stuck:
                    yield group, event

    def to_json(self) -> dict[str, Any]:
        """Return the conditions that follow from events as a JSON object."""
        return {
            group: {
                "storm_since": found.storm_since,
                "unowned": found.unowned,
                "silent": found.silent,
                "stuck": sorted(found.stuck),
            }
            for group, found in self.groups.items()
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Conditions:
        """Return the conditions from an object that `to_json` returned."""
        found = cls()
        found.groups = {
            group: Condition(each["storm_since"], each["unowned"], dict(each["silent"]), set(each["stuck"]))
            for group, each in data.items()
        }
        return found


def _rebalance(condition: Condition, event: Event) -> bool:
    condition.unowned = None if event["unowned"] is None else len(event["unowned"])
    return True


def _storm(condition: Condition, event: Event) -> bool:
    condition.storm_since = event["since"] if event["until"] is None else None
    return True


def _stuck(condition: Condition, event: Event) -> bool:
    member = event["member"]
    if event["until"] is None:
        condition.silent[member] = event
        return False
    condition.silent.pop(member, None)
    is_certain = member in condition.stuck
    condition.stuck.discard(member)
    return is_certain


_CHANGES = {"rebalance": _rebalance, "storm": _storm, "stuck": _stuck}
"""Changes of a condition by kind of event. Each returns True if the event is certain."""
