"""Storms and loops as entries of a history: each is one entry for all its rebalances."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assignor.lines import escape, format_count, format_duration, format_partitions, format_time
from assignor.replay import loop_text
from assignor.replay.event_text import shortened, storm_title
from assignor.replay.loops import find_loops

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assignor.replay.events import Event
    from assignor.replay.loop import Loop

_RECENT = 64


@dataclass(frozen=True, slots=True)
class Series:
    """Storm or loop of a group.

    Attributes:
        since: Time of the first rebalance, in milliseconds.
        until: Time of the last rebalance; None if the series has not ended at the end of the log.
        found: The loop, or the last event of the storm.
    """

    since: int
    until: int | None
    found: Loop | Event

    def covers(self, at: int, clients: Iterable[str]) -> bool:
        """Return True if a rebalance at a time, in which members of these clients change, belongs to the series."""
        if not isinstance(self.found, dict):
            return self.found.covers(at, clients)
        return self.since <= at and (self.until is None or at <= self.until) and not any(True for _ in clients)


def find_series(events: Iterable[Event], end: int | None) -> dict[str | None, list[Series]]:
    """Return the storms and loops of each group, in the order in which they begin; storms before loops.

    Args:
        events: Events; each group in the order of `assignor.replay`.
        end: Time of the end of the log in milliseconds; None for an empty log.
    """
    storms = _Storms()
    loops = find_loops(storms.noted(events), end)
    found: dict[str | None, list[Series]] = {}
    for group, series in storms.found():
        found.setdefault(group, []).append(series)
    for loop in loops:
        found.setdefault(loop.group, []).append(Series(loop.since, loop.until, loop))
    return {group: sorted(series, key=lambda each: each.since) for group, series in found.items()}


class _Storms:
    """Storms in a sequence of events."""

    def __init__(self) -> None:
        self._latest: dict[tuple[str, int], Event] = {}
        self._first: dict[tuple[str, int], int] = {}
        self._recent: dict[str, deque[int]] = {}

    def noted(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events of groups, and note their storms."""
        for event in events:
            if event["group"] is None:  # a bad record
                continue
            recent = self._recent.setdefault(event["group"], deque(maxlen=_RECENT))
            if event["event"] == "storm":
                key = (event["group"], event["since"])
                self._latest[key] = event
                if recent:
                    self._first.setdefault(key, recent[-min(event["rebalances"], len(recent))])
            elif (
                event["event"] == "rebalance"
                and event["offset"] >= 0  # a record has it
                and not (event["joined"] or event["left"] or event["replaced"])
            ):
                recent.append(event["at"])
            yield event

    def found(self) -> Iterator[tuple[str, Series]]:
        """Yield the group and the series of each storm."""
        for (group, since), storm in self._latest.items():
            # The times of a storm of epochs are those at which the target assignments were complete.
            yield group, Series(min(since, self._first.get((group, since), since)), storm["until"], storm)


class SeriesEntry:
    """Entry of a history for the rebalances of a series.

    Attributes:
        series: The series.
        later: Lines of other events between these rebalances, which follow the entry.
    """

    def __init__(self, series: Series) -> None:
        self.series = series
        self.later: list[str] = []
        self._causes = Counter[str]()
        self._moved: set[tuple[str, int]] = set()
        self._first: Event | None = None
        self._last: Event | None = None

    def add(self, event: Event) -> None:
        """Count a rebalance of the series."""
        self._first, self._last = self._first or event, event
        self._causes.update(event["causes"][:1])
        self._moved.update(map(tuple, event["moved"] or ()))

    def lines(self, *, colour: bool) -> Iterator[str]:
        """Yield the lines of the entry, and those of the other events."""
        found = self.series.found
        yield f"  {format_time(self.series.since)}  {self._storm(colour) if isinstance(found, dict) else _loop(found)}"
        until = self.series.until
        yield f"      until: {'not ended at the end of the recording' if until is None else format_time(until)}"
        if not isinstance(found, dict) and found.clients:
            yield f"      {'clients' if len(found.clients) > 1 else 'client'}: {loop_text.clients(found)}"
        causes = ", ".join(f"{cause} {number:,}" for cause, number in self._causes.most_common())
        yield f"      most likely causes: {causes}"
        if self._last is not None:
            yield f"      evidence of the last one: {shortened(escape(self._last['evidence']))}"
        if isinstance(found, dict) and found["topic_partitions"]:
            changed = format_partitions(found["topic_partitions"])
            yield f"      partitions that changed owners or had no owner: {changed}"
        elif self._moved:
            yield f"      moved: {format_partitions(sorted(self._moved))}"
        if self._last is not None and self._last["unowned"]:
            yield f"      no owner in the last generation: {format_partitions(self._last['unowned'])}"
        yield from self.later

    def _storm(self, colour: bool) -> str:
        storm: Any = self.series.found
        count = format_count(storm["rebalances"], "rebalance")
        first, last = self._first, self._last
        if first is None or last is None:
            return f"{storm_title(colour)}: {count} with unchanged membership"
        numbers = loop_text.generations(storm["kind"], first["generation"], last["generation"])
        took = format_duration(last["at"] - first["at"])
        return f"{storm_title(colour)}: {count} within {took} with unchanged membership, {numbers}"


def _loop(loop: Loop) -> str:
    count = format_count(loop.rebalances, "rebalance")
    every = f"usually every {format_duration(loop.interval)}"
    numbers = loop_text.generations(loop.kind, loop.first, loop.last)
    return f"rebalance loop: {count}, {every}, {numbers}: {loop_text.what_repeats(loop)}"
