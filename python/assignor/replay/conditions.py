"""Lasting conditions of groups: storms, partitions without an owner, and stuck members."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Event = dict[str, Any]


@dataclass
class Condition:
    """Lasting conditions of a group.

    Attributes:
        storm_since: Time of the first rebalance of the current storm; None without a storm.
        unowned: Number of partitions without an owner since the last rebalance; None if that is not known.
        stuck: Ids of the members that are stuck.
    """

    storm_since: int | None = None
    unowned: int | None = None
    stuck: set[str] = field(default_factory=set)


class Conditions:
    """Lasting conditions of groups, from their events.

    Attributes:
        groups: Conditions by group id. A group without events has none.
    """

    def __init__(self) -> None:
        self.groups: dict[str, Condition] = {}

    def apply(self, events: Iterable[Event]) -> None:
        """Apply events in the order in which a replay returns them."""
        for event in events:
            change = _CHANGES.get(event["event"])
            if change is not None and event["group"] is not None:
                change(self.groups.setdefault(event["group"], Condition()), event)

    def to_json(self) -> dict[str, Any]:
        """Return the conditions as a JSON object."""
        return {
            group: {"storm_since": found.storm_since, "unowned": found.unowned, "stuck": sorted(found.stuck)}
            for group, found in self.groups.items()
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Conditions:
        """Return the conditions from an object that `to_json` returned."""
        found = cls()
        found.groups = {
            group: Condition(each["storm_since"], each["unowned"], set(each["stuck"])) for group, each in data.items()
        }
        return found


def _rebalance(condition: Condition, event: Event) -> None:
    condition.unowned = None if event["unowned"] is None else len(event["unowned"])


def _storm(condition: Condition, event: Event) -> None:
    condition.storm_since = event["since"] if event["until"] is None else None


def _stuck(condition: Condition, event: Event) -> None:
    if event["until"] is None:
        condition.stuck.add(event["member"])
    else:
        condition.stuck.discard(event["member"])


_CHANGES = {"rebalance": _rebalance, "storm": _storm, "stuck": _stuck}
