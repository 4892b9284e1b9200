"""Rebalance loops as text: how many rebalances, how fast, and what repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.lines import escape, format_count, format_duration, format_time

if TYPE_CHECKING:
    from assignor.replay.loop import Loop

CLIENTS_SHOWN = 4

_SAME_MEMBERS = {
    "leader_rejoined": "the leader joins again",
    "owned_partitions_changed": "members join again, with other owned partitions",
    "subscription_changed": "members join again, with another subscription",
}


def what_repeats(loop: Loop) -> str:
    """Return what happens again and again, and how often members change."""
    if loop.repeats == "same_members":
        return _SAME_MEMBERS.get(loop.cause, f"the same members, most often {loop.cause}")
    what = "a new member id each time" if loop.repeats == "new_member_ids" else "members join and leave"
    every = "" if loop.restart_interval is None else f", usually every {format_duration(loop.restart_interval)}"
    return what if not every or loop.restart_interval == loop.interval else f"{what}{every}"


def summary(loop: Loop) -> str:
    """Return the number of rebalances, the usual interval, the times and what repeats."""
    count = format_count(loop.rebalances, "rebalance")
    since = f"since {format_time(loop.since)}"
    when = since if loop.until is None else f"from {format_time(loop.since)} to {format_time(loop.until)}"
    return f"{count} {when}, usually every {format_duration(loop.interval)}: {what_repeats(loop)}"


def generations(kind: str, first: int, last: int) -> str:
    """Return the first and the last generation or epoch of a series in a group of some kind."""
    return f"{'generations' if kind == 'classic' else 'epochs'} {first:,} to {last:,}"


def clients(loop: Loop) -> str:
    """Return the names of the clients whose members change or join again, escaped; a long list is cut."""
    shown = ", ".join(map(escape, loop.clients[:CLIENTS_SHOWN]))
    more = len(loop.clients) - CLIENTS_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
