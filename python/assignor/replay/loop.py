"""Rebalance loop of a group, as a value: when, how often, how fast, and what repeats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_CLIENTS = 50
"""Highest number of clients that a loop names."""

Repeats = Literal["same_members", "new_member_ids", "members_join_and_leave"]


@dataclass(frozen=True, slots=True)
class Loop:
    """Rebalance loop. Times are in milliseconds.

    Attributes:
        cluster: Name of the cluster.
        group: Group id.
        kind: Kind of the group, as in events.
        since: Time of the first rebalance.
        until: Time of the last rebalance; None while the loop lasts.
        rebalances: Number of rebalances of the group from the first to the last one, without those of storms.
        interval: Usual interval between them: the median.
        first: Generation or epoch of the first rebalance.
        last: Generation or epoch of the last rebalance.
        repeats: `same_members`: the same members join again. `new_member_ids`: a member leaves and one with a new id
            joins, in one rebalance. `members_join_and_leave`: the same in several rebalances.
        restarts: Number of members that took the place of one that left, of the last two values of `repeats`.
        restart_interval: Usual interval between two of them; None if there are fewer than two.
        cause: Most frequent first cause of the rebalances.
        clients: Names of the clients whose members change, see `member_slots.client_name`; the first 50. Of
            `same_members`: those of all members.
        evidence: Evidence of the last rebalance.
    """

    cluster: str
    group: str
    kind: str
    since: int
    until: int | None
    rebalances: int
    interval: int
    first: int
    last: int
    repeats: Repeats
    restarts: int
    restart_interval: int | None
    cause: str
    clients: tuple[str, ...]
    evidence: str

    def covers(self, at: int, clients: Iterable[str] = ()) -> bool:
        """Return True if a rebalance at a time, in which members of these clients change, belongs to the loop."""
        if at < self.since or (self.until is not None and at > self.until):
            return False
        if self.repeats == "same_members":
            return not any(True for _ in clients)
        return len(self.clients) == MOST_CLIENTS or all(not each or each in self.clients for each in clients)


class Change(NamedTuple):
    """Beginning or end of a loop.

    Attributes:
        loop: The loop; its `until` is None at the beginning.
        at: Time of the event that shows it, or the deadline, in milliseconds.
        offset: Offset of the event that shows it; None for a deadline.
    """

    loop: Loop
    at: int
    offset: int | None
