"""Events of a finite log in which each rebalance has its whole cost, instead of a later event `cost`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assignor.replay.events import Event

_OF_PAUSES = (
    *("paused", "pause_since", "pause_until", "partition_ms", "compared_ms", "lost_ms"),
    *("unknown_pauses", "open_pauses", "cost_open"),
)
"""Fields of a rebalance that its event `cost` has."""

COST_FIELDS = ("revoked", "assigned", "target_ms", *_OF_PAUSES, "member_costs")
"""Fields of a rebalance that say what it cost."""

_NUMBERS = ("revoked", "assigned", "paused", "partition_ms", "compared_ms", "lost_ms", "epoch_ms")


def with_costs(events: Iterable[Event]) -> Iterator[Event]:
    """Yield events, in which each rebalance has the fields of its event `cost`.

    A rebalance whose cost is open comes when its event `cost` does, which is later than in `events`. An event `cost` of
    no such rebalance is left out. The number of waiting rebalances is at most that of partitions and groups.

    Args:
        events: Events of a finite log, up to those that its end completes.
    """
    waiting: dict[tuple[Any, ...], Event] = {}
    for event in events:
        if event["event"] == "rebalance" and event.get("cost_open"):
            waiting[event["cluster"], event["group"], event["offset"]] = event
        elif event["event"] == "cost":
            found = waiting.pop((event["cluster"], event["group"], event["rebalance_offset"]), None)
            if found is not None:
                yield joined(found, event)
        else:
            yield event
    yield from waiting.values()


def joined(rebalance: Event, cost: Event) -> Event:
    """Return the event of a rebalance with the fields of its event `cost`."""
    members = {each["member"]: dict(each) for each in rebalance["member_costs"] or ()}
    for each in cost["member_costs"] or ():
        found = members.setdefault(each["member"], dict.fromkeys(_NUMBERS) | {"member": each["member"]})
        found.update({name: each[name] for name in _NUMBERS if each[name] is not None})
    ordered = [{"member": name, **{key: members[name][key] for key in _NUMBERS}} for name in sorted(members)]
    return {**rebalance, **{name: cost[name] for name in _OF_PAUSES}, "member_costs": ordered}
