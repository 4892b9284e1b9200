"""Events of a recording as a readable history: for each group what happened when, why, and to which members.

The writer takes the events of one group after the other, each in the order of time, and keeps only what belongs to the
current entry. Rebalances that follow each other without a change of membership are one entry with counts; stuck
members, unusual offsets and bad records between them are listed after it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from assignor.lines import escape, format_count, format_duration, format_partitions, format_time, wrap
from assignor.replay import event_text
from assignor.replay.event_text import MemberNames, generation_number, rebalance_details, storm_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assignor.replay.events import Event

REPEATED = 4
"""Lowest number of successive rebalances with unchanged membership that become one entry."""

REPEATED_WITHIN_MS = 60_000
"""Longest time between two rebalances of such an entry."""

_BOLD, _RESET = "\x1b[1m", "\x1b[0m"


def write_history(events: Iterable[Event], *, colour: bool = False, width: int | None = None) -> Iterator[str]:
    """Yield the lines of a history.

    Args:
        events: Events, sorted by group and then by time.
        colour: Highlight the names of groups and storms.
        width: Columns of the terminal; longer lines are wrapped. None for no limit.
    """
    history: _GroupHistory | None = None
    for event in events:
        group = event["group"]
        if history is None or group != history.group:
            if history is not None:
                yield from _finished(history, width)
                yield ""
            history = _GroupHistory(group, colour)
            yield _heading(event, colour)
        for line in history.add(event):
            yield from wrap(line, width)
    if history is not None:
        yield from _finished(history, width)


def _finished(history: _GroupHistory, width: int | None) -> Iterator[str]:
    for line in history.finish():
        yield from wrap(line, width)


def _heading(event: Event, colour: bool) -> str:
    name = "the log" if event["group"] is None else escape(event["group"])
    return f"{_BOLD}{name}{_RESET}" if colour else name


class _GroupHistory:
    """Lines of the events of one group."""

    def __init__(self, group: str | None, colour: bool) -> None:
        self.group = group
        self._colour = colour
        self._names = MemberNames()
        self._generation: Event | None = None
        self._replaced: list[str] = []
        self._is_first = True
        self._storm_since: int | None = None
        self._is_storm = False
        self._differing: set[str] = set()
        self._last_rebalance = 0
        self._repeated: _Repeated | None = None
        # Rebalances that are too few for an entry with counts, with their generations, and other events after them.
        self._waiting: list[tuple[Event, Event | None]] = []

    def add(self, event: Event) -> Iterator[str]:
        """Yield the lines that an event completes."""
        name = event["event"]
        if name != "rebalance":
            yield from self._without_rebalance()
        if name == "group_deleted":
            self._is_first = True
        if name == "generation":
            self._generation = event
        elif name == "rebalance":
            generation, self._generation = self._generation, None
            yield from self._rebalance(event, generation)
        elif name == "member":
            self._names.add(event)
            if event["action"] == "replaced":
                self._replaced.append(event["member"])
            if event["action"] in {"expired", "subscription_changed"}:
                yield from self._before()
                action, member = _MEMBER_ACTIONS[event["action"]], self._names.of(event["member"])
                yield f"  {format_time(event['at'])}  {action}: {member}"
        elif name == "storm" and event["until"] is None and event["since"] != self._storm_since:
            self._storm_since, self._is_storm = event["since"], True
            yield from self._begin_storm(event)
        elif name != "storm" and (self._repeated or self._waiting) and self._is_soon(event):
            self._waiting.append((event, None))
        else:
            yield from self._before()
            self._is_storm = self._is_storm and name != "storm"
            yield from self._other(event)

    def finish(self) -> Iterator[str]:
        """Yield the lines of the entries that are still open at the end of the group."""
        yield from self._before()

    def _before(self) -> Iterator[str]:
        yield from self._without_rebalance()
        yield from self._end_of_run()

    def _without_rebalance(self) -> Iterator[str]:
        """Yield the line of a generation record that is not a rebalance."""
        event, self._generation = self._generation, None
        if event is None:
            return
        yield from self._end_of_run()
        if event["generation"] == 0:
            what = "the group is created"
        elif event["members"] == 0:
            what = "the group has no members"
        else:
            what = f"generation {event['generation']} is written again"
            if self._replaced:
                what += f", because a static member returned: {self._names.of_all(self._replaced)}"
        self._replaced = []
        yield f"  {format_time(event['at'])}  {what}"

    def _rebalance(self, event: Event, generation: Event | None) -> Iterator[str]:
        self._replaced = []
        is_repeated = not (event["joined"] or event["left"] or event["replaced"]) and not self._is_first
        self._is_first = False
        if not (is_repeated and self._is_soon(event)):
            yield from self._end_of_run()
        self._last_rebalance = event["at"]
        if not is_repeated:
            yield from self._entry(event, generation)
            return
        if self._repeated is not None:
            self._repeated.add(event)
            return
        self._waiting.append((event, generation))
        rebalances = [each for each, _ in self._waiting if each["event"] == "rebalance"]
        if len(rebalances) == REPEATED:
            self._repeated = _Repeated(self._is_storm)
            for each in rebalances:
                self._repeated.add(each)
            self._waiting = [each for each in self._waiting if each[0]["event"] != "rebalance"]

    def _is_soon(self, event: Event) -> bool:
        """Return True if the last rebalance was not long before the event."""
        return bool(event["at"] - self._last_rebalance <= REPEATED_WITHIN_MS)

    def _end_of_run(self) -> Iterator[str]:
        repeated, self._repeated = self._repeated, None
        if repeated is not None:
            yield from repeated.lines(self._colour)
        waiting, self._waiting = self._waiting, []
        for event, generation in waiting:
            yield from self._entry(event, generation) if event["event"] == "rebalance" else self._other(event)

    def _other(self, event: Event) -> Iterator[str]:
        """Yield the lines of an event of a storm, a stuck member, commits or a bad record."""
        lasting = "has not ended at the end of the recording"
        title, details = event_text.other(event, self._names, lasting=lasting, colour=self._colour)
        yield f"  {format_time(event['at'])}  {title}"
        yield from (f"      {label}: {text}" for label, text in details)

    def _entry(self, event: Event, generation: Event | None) -> Iterator[str]:
        """Yield the lines of a rebalance."""
        facts = [generation_number(event)]
        if generation is not None:
            facts += [generation["protocol"]] if generation["protocol"] else []
            facts.append(format_count(generation["members"], "member"))
            if generation["duration_ms"] is not None:
                facts.append(f"{format_duration(generation['duration_ms'])} after the previous one")
        yield f"  {format_time(event['at'])}  {escape(', '.join(facts))}: {', '.join(event['causes'])}"
        yield from (f"      {label}: {text}" for label, text in rebalance_details(event, self._names))
        comparison = generation and generation["comparison"]
        if comparison and comparison["outcome"] == "different" and comparison["assignor"] not in self._differing:
            self._differing.add(comparison["assignor"])
            remarks = "; ".join(comparison["remarks"])
            yield (f"      first assignment that differs from Kafka's {comparison['assignor']}: {escape(remarks)}")

    def _begin_storm(self, event: Event) -> Iterator[str]:
        """Mark the current entry as a storm, or yield a line if there is no such entry."""
        if self._repeated is not None:
            self._repeated.is_storm = True
            return
        yield from self._end_of_run()
        yield f"  {format_time(event['at'])}  {storm_title(self._colour)} begins"


_MEMBER_ACTIONS = {"expired": "member expired", "subscription_changed": "subscription changed"}


class _Repeated:
    """Successive rebalances with unchanged membership."""

    def __init__(self, is_storm: bool) -> None:
        self.is_storm = is_storm
        self._causes = Counter[str]()
        self._first: Event | None = None
        self._last: Event | None = None
        self._count = 0
        self._moved: set[tuple[str, int]] = set()

    def add(self, event: Event) -> None:
        """Count a rebalance."""
        self._first = self._first or event
        self._last = event
        self._count += 1
        self._causes.update(event["causes"][:1])
        self._moved.update(map(tuple, event["moved"] or ()))

    def lines(self, colour: bool) -> Iterator[str]:
        """Yield the lines of the entry."""
        first, last = self._first, self._last
        if first is None or last is None:
            return
        took = format_duration(last["at"] - first["at"])
        count = f"{self._count:,} rebalances"
        causes = ", ".join(f"{cause} {number:,}" for cause, number in self._causes.most_common())
        numbers = f"generations {first['generation']:,} to {last['generation']:,}"
        shown = f"{storm_title(colour)}: {count}" if self.is_storm else count
        yield f"  {format_time(first['at'])}  {shown} within {took} with unchanged membership, {numbers}"
        yield f"      until: {format_time(last['at'])}"
        yield f"      most likely causes: {causes}"
        yield f"      evidence of the last one: {escape(last['evidence'])}"
        if self._moved:
            yield f"      moved: {format_partitions(sorted(self._moved))}"
        if last["unowned"]:
            yield f"      no owner in the last generation: {format_partitions(last['unowned'])}"
