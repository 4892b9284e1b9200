"""Rebalance loops of one group: whether it goes on rebalancing, from its events one after the other.

Two kinds of rebalances repeat. In the first, the membership is unchanged and no topic changed. The first
`FOLLOW_UPS` of them after another rebalance do not count, because members of cooperative assignors join again after a
change. In the second, a member takes the place of one that left, see `member_slots`. A loop is found at
`LEAST_REBALANCES` rebalances. If members change, one place must have at least `LEAST_RESTARTS` restarts, so that a
deployment, which restarts each member once or twice, is no loop, however many members it has.

A loop ends when its next rebalance does not come within `longest_pause`. The rebalances of a storm do not count.
"""

from __future__ import annotations

import itertools
import statistics
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from assignor.replay.loop import MOST_CLIENTS, Loop
from assignor.replay.member_slots import Mark, MemberSlots

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.replay.loop import Repeats
    from assignor.replay.member_slots import Slot

LEAST_REBALANCES = 20
"""Lowest number of rebalances of a loop."""

LEAST_RESTARTS = 5
"""Lowest number of restarts of one place in a loop in which members change."""

FOLLOW_UPS = 3
"""Number of rebalances with unchanged membership that can follow from another rebalance."""

PROBING_MS = 55_000
"""Shortest time before a probing rebalance of Kafka Streams, whose members stay the same while they restore state."""

LONGEST_PAUSE_MS = 3_600_000
"""Longest time between two rebalances of a loop."""

_SHORTEST_PAUSE_MS, _SLOW_PAUSE_MS = 60_000, 600_000
_STORM_WINDOW_MS = 60_000
_FEW, _SLOW_FEW = 10, 3
_RECENT = 64
_INTERVALS = 100
_TOPIC_CAUSES = frozenset(
    {
        *("partitions_increased", "topic_created", "topic_deleted", "partitions_initialized"),
        *("protocol_upgraded", "protocol_downgraded"),
    }
)
_STREAMS_THREAD = "-StreamThread-"


def longest_pause(intervals: Iterable[int]) -> float:
    """Return the time in milliseconds after which a loop has ended.

    It is ten times the interval, which is the larger one of median and mean, and at least a minute. Of slow loops, it
    is the larger one of ten minutes and three times the interval, and at most an hour.

    Args:
        intervals: The last intervals between its rebalances, in milliseconds.
    """
    found = list(intervals)
    # The mean counts if each long interval is followed by several short ones, as with a cooperative assignor.
    interval = max(statistics.median(found), statistics.fmean(found)) if found else 0
    slow = max(_SLOW_PAUSE_MS, _SLOW_FEW * interval)
    return max(_SHORTEST_PAUSE_MS, min(_FEW * interval, slow, LONGEST_PAUSE_MS))


@dataclass
class _Run:
    """Rebalances with unchanged membership that can become a loop. `counted` are those that follow from no change."""

    first: Mark
    last: int
    counted: int = 0


@dataclass
class _Running:
    """Loop that lasts."""

    first: Mark
    last: Mark
    same_members: int = 0
    restarts: int = 0
    at_once: int = 0
    restarted: int | None = None
    evidence: str = ""
    intervals: deque[int] = field(default_factory=lambda: deque(maxlen=_INTERVALS))
    restart_intervals: deque[int] = field(default_factory=lambda: deque(maxlen=_INTERVALS))
    causes: Counter[str] = field(default_factory=Counter)
    clients: dict[str, None] = field(default_factory=dict)

    def add_clients(self, slots: Iterable[Slot]) -> None:
        """Note the clients of slots."""
        for slot in slots:
            if slot.client and len(self.clients) < MOST_CLIENTS:
                self.clients[slot.client] = None

    def loop(self, group: GroupLoops, until: int | None) -> Loop:
        """Return the loop as a value."""
        repeats: Repeats = "same_members"
        if self.restarts > self.same_members:
            repeats = "new_member_ids" if 2 * self.at_once > self.restarts else "members_join_and_leave"
        changing = repeats != "same_members"
        clients = self.clients if changing else dict.fromkeys(group.clients())
        return Loop(
            group.cluster,
            group.group,
            group.kind,
            self.first.at,
            until,
            max(1, self.last.number - self.first.number + 1),
            _median(self.intervals),
            self.first.generation,
            self.last.generation,
            repeats,
            self.restarts if changing else 0,
            _median(self.restart_intervals) if changing and self.restart_intervals else None,
            self.causes.most_common(1)[0][0] if self.causes else "unknown",
            tuple(clients)[:MOST_CLIENTS],
            self.evidence,
        )


class GroupLoops:
    """Rebalances of one group."""

    def __init__(self, cluster: str, group: str) -> None:
        self.cluster = cluster
        self.group = group
        self.kind = "classic"
        self.running: _Running | None = None
        self._members = MemberSlots()
        self._recent: deque[tuple[Mark, bool]] = deque(maxlen=_RECENT)
        self._number = 0
        self._follow_ups = FOLLOW_UPS
        self._run: _Run | None = None
        self._storm_since: int | None = None
        self._before_storm = 0

    def can_go_on(self, now: int) -> bool:
        """Return True if there is a loop, or if the last rebalances can become one after a time."""
        is_recent = not self._recent or now - self._recent[-1][0].at <= LONGEST_PAUSE_MS
        return is_recent or self.running is not None or self._storm_since is not None

    def last_time(self) -> int:
        """Return the time of the last rebalance outside of storms."""
        return self._recent[-1][0].at if self._recent else 0

    def clients(self) -> list[str]:
        """Return the names of the clients of the members."""
        return [slot.client for slot in self._members.slots.values() if slot.client]

    def apply(self, event: Mapping[str, Any]) -> list[Loop]:
        """Apply an event, and return the loops that begin or end with it."""
        match event["event"]:
            case "member":
                self._members.observe(event)
                return []
            case "storm":
                return self._storm(event)
            case _:
                return [*self.advance(event["at"]), *self._rebalance(event)]

    def advance(self, now: int) -> list[Loop]:
        """End the loop if its next rebalance is overdue."""
        running = self.running
        if running is None or now - running.last.at <= longest_pause(running.intervals):
            return []
        return [self._end(running)]

    def _end(self, running: _Running) -> Loop:
        found = running.loop(self, running.last.at)
        self.running = self._run = None
        self._members.reset(running.last)
        self._follow_ups = FOLLOW_UPS
        return found

    def _rebalance(self, event: Mapping[str, Any]) -> list[Loop]:
        self.kind = event["kind"]
        mark = Mark(event["at"], event["generation"], self._number + 1)
        touched = self._members.rebalance(event, mark)
        is_same = not touched and bool(self._recent) and event["causes"][0] not in _TOPIC_CAUSES
        if is_same and self._storm_since is not None:
            return []
        before = self._recent[-1][0].at if self._recent else mark.at
        self._number = mark.number
        self._recent.append((mark, is_same))
        repeats = any(slot.restarts for slot in touched)
        is_counted = False
        if not is_same:
            self._follow_ups = FOLLOW_UPS
        elif not (mark.at - before >= PROBING_MS and self._is_streams()):
            repeats, is_counted = True, self._same_members(mark)
        if self.running is None:
            return self._begin(event, touched)
        if repeats:
            self.running.same_members += is_counted
            self._go_on(self.running, event, mark, before, touched)
        return []

    def _is_streams(self) -> bool:
        return any(_STREAMS_THREAD in client for client in self.clients())

    def _same_members(self, mark: Mark) -> bool:
        """Add a rebalance with unchanged membership to the run; return False if it can follow from a change."""
        if self._run is not None and mark.at - self._run.last > self._pause(self._run.first):
            self._run, self._follow_ups = None, 0
        if self._run is not None:
            self._run.last = mark.at
        if self._follow_ups:
            self._follow_ups -= 1
            return False
        if self._run is None:
            self._run = _Run(self._first_of_run(), mark.at)
        self._run.counted += 1
        return True

    def _pause(self, first: Mark) -> float:
        return longest_pause(_intervals(each for each, _ in self._recent if each.number >= first.number))

    def _first_of_run(self) -> Mark:
        """Return the earliest rebalance from which the later ones follow without a long pause.

        The rebalances before the last change or storm are not searched.
        """
        found: list[Mark] = []
        for mark, is_same in reversed(self._recent):
            if mark.number <= self._before_storm:
                break
            found.insert(0, mark)
            if not is_same or len(found) > FOLLOW_UPS + 1:
                break
        pause = longest_pause(_intervals(found))
        for place in range(len(found) - 1, 0, -1):
            if found[place].at - found[place - 1].at > pause:
                return found[place]
        return found[0]

    def _begin(self, event: Mapping[str, Any], touched: list[Slot]) -> list[Loop]:
        """Return the loop that begins with a rebalance, if any."""
        run = self._run
        excused = FOLLOW_UPS + 1  # of a run that begins with a change
        is_long = run is not None and run.counted >= LEAST_REBALANCES - excused
        if run is not None and is_long and self._count(run.first) >= LEAST_REBALANCES and not self._is_nearly_storm():
            self.running = _Running(run.first, self._recent[-1][0], same_members=run.counted)
        elif any(slot.restarts >= LEAST_RESTARTS for slot in touched):
            slots = self._members.restarted(LEAST_RESTARTS)
            # The parts of a rebalance that changes several slots are fractions, whose sum can be off by a little.
            if sum(slot.rebalances for slot in slots) < LEAST_REBALANCES - 1e-6:
                return []
            first = min((slot.first for slot in slots), key=lambda mark: mark.number)
            self.running = _Running(first, self._recent[-1][0])
            self.running.restarts = sum(slot.restarts for slot in slots)
            self.running.at_once = sum(slot.at_once for slot in slots)
            self.running.add_clients(slots)
        else:
            return []
        running = self.running
        running.intervals.extend(_intervals(each for each, _ in self._recent if each.number >= running.first.number))
        running.causes[event["causes"][0]] += 1
        running.evidence = event["evidence"]
        return [running.loop(self, None)]

    def _is_nearly_storm(self) -> bool:
        """Return True if the last rebalances are as dense as those of a storm, which may begin with the next one."""
        times = [mark.at for mark, is_same in self._recent if is_same][-LEAST_REBALANCES + 1 :]
        return len(times) == LEAST_REBALANCES - 1 and times[-1] - times[0] < _STORM_WINDOW_MS

    def _count(self, first: Mark) -> int:
        return self._number - first.number + 1

    def _go_on(self, running: _Running, event: Mapping[str, Any], mark: Mark, before: int, touched: list[Slot]) -> None:
        """Add a rebalance to the loop."""
        running.last = mark
        running.intervals.append(max(0, mark.at - before))
        running.causes[event["causes"][0]] += 1
        running.evidence = event["evidence"]
        again = [slot for slot in touched if slot.restarts and slot.joined == mark.at]
        running.add_clients(slot for slot in touched if slot.restarts)
        running.restarts += len(again)
        running.at_once += len(again) if event["left"] or event["replaced"] else 0
        if again:
            if running.restarted is not None:
                running.restart_intervals.append(max(0, mark.at - running.restarted))
            running.restarted = mark.at

    def _storm(self, event: Mapping[str, Any]) -> list[Loop]:
        """Take the rebalances of a storm away; a loop of the same members ends before the storm."""
        if event["until"] is not None:
            self._storm_since = None
            return []
        if event["since"] == self._storm_since:
            return []
        self._storm_since = event["since"]
        # The storm consists of the last rebalances with unchanged membership. They are found by their number, because
        # the times of a storm of epochs are those at which the target assignments were complete.
        left = event["rebalances"]
        kept: list[tuple[Mark, bool]] = []
        for mark, is_same in reversed(self._recent):
            if is_same and left:
                left -= 1
            else:
                kept.insert(0, (mark, is_same))
        number = self._number - len(self._recent)
        self._recent.clear()
        for mark, is_same in kept:
            number += 1
            self._recent.append((mark._replace(number=number), is_same))
        self._number = self._before_storm = number
        self._run = None
        running = self.running
        if running is None:
            return []
        running.last = max(self._recent[-1][0] if self._recent else running.first, running.first, key=_number)
        if running.restarts > running.same_members:
            return []
        return [self._end(running)]

    def to_json(self) -> dict[str, Any]:
        """Return the state as a JSON object."""
        running = self.running
        return {
            "cluster": self.cluster,
            "group": self.group,
            "kind": self.kind,
            "members": self._members.to_json(),
            "recent": [[list(mark), is_same] for mark, is_same in self._recent],
            "number": self._number,
            "follow_ups": self._follow_ups,
            "run": None if self._run is None else [list(self._run.first), self._run.last, self._run.counted],
            "storm_since": self._storm_since,
            "before_storm": self._before_storm,
            "running": None
            if running is None
            else {
                **{name: getattr(running, name) for name in _PLAIN},
                "first": list(running.first),
                "last": list(running.last),
                "intervals": list(running.intervals),
                "restart_intervals": list(running.restart_intervals),
                "causes": dict(running.causes),
                "clients": list(running.clients),
            },
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> GroupLoops:
        """Return the state from an object that `to_json` returned."""
        found = cls(data["cluster"], data["group"])
        found.kind = data["kind"]
        found._members = MemberSlots.from_json(data["members"])
        found._recent.extend((Mark(*mark), is_same) for mark, is_same in data["recent"])
        found._number = data["number"]
        found._follow_ups = data["follow_ups"]
        if data["run"] is not None:
            first, last, counted = data["run"]
            found._run = _Run(Mark(*first), last, counted)
        found._storm_since, found._before_storm = data["storm_since"], data["before_storm"]
        if data["running"] is not None:
            given = data["running"]
            found.running = running = _Running(**{name: given[name] for name in _PLAIN})
            running.first, running.last = Mark(*running.first), Mark(*running.last)
            running.intervals.extend(given["intervals"])
            running.restart_intervals.extend(given["restart_intervals"])
            running.causes.update(given["causes"])
            running.clients.update(dict.fromkeys(given["clients"]))
        return found


_PLAIN = ("first", "last", "same_members", "restarts", "at_once", "restarted", "evidence")


def _number(mark: Mark) -> int:
    return mark.number


def _intervals(marks: Iterable[Mark]) -> list[int]:
    times = [mark.at for mark in marks]
    return [max(0, later - earlier) for earlier, later in itertools.pairwise(times)]


def _median(intervals: Iterable[int]) -> int:
    """Return the median, rounded down; 0 without intervals."""
    found = list(intervals)
    return int(statistics.median(found)) if found else 0
