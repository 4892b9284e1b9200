"""Logs of groups that rebalance again and again, and of groups that do so for a good reason, written from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assignor.replay import Replay
from assignor.replay.loops import find_loops
from tests.replay.logs import classic, event
from tests.support.record_bytes import LogRecord, assignment, subscription

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignor.replay.loop import Loop
    from tests.replay.logs import Row

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
START = 1_700_000_000_000


@dataclass
class Group:
    """Log of a classic group, written while its members change.

    Attributes:
        seed: Seed of ids, times and assignments.
        cooperative: Number of rebalances with unchanged membership that follow each change, 1 s apart.
        hosts: True if each member has a host of its own.
        jitter: Part of a time by which it varies.
        client: Client id of the members that join.
    """

    seed: int = 0
    cooperative: int = 0
    hosts: bool = False
    jitter: float = 0.0
    client: str = "app"
    at: int = START
    generation: int = 0
    members: list[str] = field(default_factory=list)
    records: list[LogRecord] = field(default_factory=list)
    ids: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.partitions = self.random.randint(1, 12)

    def wait(self, ms: float) -> Group:
        """Let time pass."""
        self.at += max(1, round(ms * (1 + self.random.uniform(-self.jitter, self.jitter))))
        return self

    def again(self) -> Group:
        """Write a generation with the same members."""
        self.generation += 1
        rows = [self._row(member) for member in sorted(self.members)]
        self._write(classic(self.generation, *rows))
        return self

    def change(self, *, joins: int = 0, leaves: Sequence[str] = ()) -> Group:
        """Write a generation in which members left and others joined, and the rebalances that follow from it."""
        self.members = [member for member in self.members if member not in leaves]
        for _ in range(joins):
            self.ids += 1
            self.members.append(f"{self.client}-{self.random.getrandbits(64):016x}-{self.ids}")
        self.again()
        for _ in range(self.cooperative if self.members else 0):
            self.wait(SECOND).again()
        return self

    def commit(self) -> Group:
        """Commit an offset."""
        self._write(event(1, {"group": "g", "topic": "t", "partition": 0}, {"offset": self.at}))
        return self

    def restart(self, member: str, down: float, *, at_once: bool = False) -> Group:
        """Replace a member: in one rebalance, or in two with some time between them."""
        if at_once:
            return self.change(joins=1, leaves=[member])
        return self.change(leaves=[member]).wait(down).change(joins=1)

    def _row(self, member: str) -> Row:
        share = {"t": [id for id in range(self.partitions) if id % len(self.members) == self.members.index(member)]}
        return {
            "memberId": member,
            "groupInstanceId": None,
            "clientId": member.rsplit("-", 2)[0],
            "clientHost": f"/10.0.0.{self.members.index(member) if self.hosts else 1}",
            "subscription": subscription("t"),
            "assignment": assignment(*share.items()),
            "sessionTimeout": 45_000,
            "rebalanceTimeout": 300_000,
        }

    def _write(self, written: Any) -> None:
        self.records.append(LogRecord(len(self.records), self.at, written.key, written.value))

    def events(self, end: int | None = None) -> list[Row]:
        """Return the events of the log."""
        replay = Replay()
        events = [event for record in self.records for event in replay.push(record)]
        return events + replay.advance(max(self.at, end or 0)) + replay.finish()

    def loops(self, end: int | None = None) -> list[Loop]:
        """Return the loops in the log, which ends with its last record or later."""
        return find_loops(self.events(end), max(self.at, end or 0))


def birth(group: Group, members: int, pause: float = 0) -> Group:
    """Let members join, one after another if there is a pause."""
    if not pause:
        return group.change(joins=members)
    for _ in range(members):
        group.wait(pause).change(joins=1)
    return group


def deployment(group: Group, pause: float, rounds: int = 1, *, surge: bool = False, at_once: bool = False) -> Group:
    """Restart each member, one after another, in some rounds. With `surge`, the new member joins before."""
    for _ in range(rounds):
        for member in list(group.members):
            if surge:
                group.wait(pause).change(joins=1).wait(pause).change(leaves=[member])
            else:
                group.wait(pause).restart(member, pause, at_once=at_once)
    return group


def leader_joins_again(group: Group, members: int, count: int, interval: float) -> Group:
    birth(group, members)
    for _ in range(count - 1):
        group.wait(interval).again()
    return group


def new_id_each_time(group: Group, members: int, count: int, interval: float) -> Group:
    """Write generations in which the oldest member is lost and a new one is added."""
    birth(group, members)
    for _ in range(count - 1):
        group.wait(interval).restart(group.members[0], 0, at_once=True)
    return group


def one_client_without_id(group: Group, members: int, count: int, interval: float) -> Group:
    """Write generations in which the newest member is lost and a new one is added; the other members stay."""
    birth(group, members)
    for _ in range(count - 1):
        group.wait(interval).restart(group.members[-1], 0, at_once=True)
    return group


def opened_and_closed(group: Group, count: int, interval: float, share: float = 0.5) -> Group:
    """Let the only member join and leave; it is a member for a share of the time."""
    for _ in range(count):
        group.wait(interval * (1 - share)).change(joins=1).wait(interval * share).change(leaves=list(group.members))
    return group


def one_joins_and_leaves(group: Group, members: int, count: int, interval: float) -> Group:
    """Let one of several members join and leave."""
    birth(group, members - 1)
    for _ in range(count):
        group.wait(interval / 2).change(joins=1).wait(interval / 2).change(leaves=[group.members[-1]])
    return group
