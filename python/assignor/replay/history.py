"""Events of a recording as a readable history: for each group what happened when, why, and to which members.

The writer takes the events of one group after the other, each in the order of time, and keeps only what belongs to the
current entries. The rebalances of a storm or a loop are one entry with counts; other events between them are listed
after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.lines import escape, format_count, format_duration, format_time, wrap
from assignor.replay import event_text
from assignor.replay.event_text import MemberNames, causes_text, generation_number, group_title, rebalance_details
from assignor.replay.series import SeriesEntry
from assignor.replay.task_text import task_details

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assignor.replay.events import Event
    from assignor.replay.series import Series

_BOLD, _RESET = "\x1b[1m", "\x1b[0m"


def write_history(
    events: Iterable[Event],
    series: Mapping[str | None, Sequence[Series]],
    *,
    colour: bool = False,
    width: int | None = None,
) -> Iterator[str]:
    """Yield the lines of a history.

    Args:
        events: Events, sorted by group and then by time.
        series: Storms and loops of each group, which `series.find_series` returns for the same events.
        colour: Highlight the names of groups and storms.
        width: Columns of the terminal; longer lines are wrapped. None for no limit.
    """
    history: _GroupHistory | None = None
    for event in _joined_deletions(events):
        group = event["group"]
        if history is None or group != history.group:
            if history is not None:
                yield from _finished(history, width)
                yield ""
            history = _GroupHistory(group, series.get(group, ()), colour)
            yield _heading(event, colour)
        for line in history.add(event):
            yield from wrap(line, width)
    if history is not None:
        yield from _finished(history, width)


def _joined_deletions(events: Iterable[Event]) -> Iterator[Event]:
    """Yield events, in which offsets that were deleted together are one event."""
    last: Event | None = None
    for event in events:
        is_deletion = event["event"] == "offsets_deleted"
        if last is not None and is_deletion and all(event[name] == last[name] for name in _OF_DELETION):
            last = {**last, "topic_partitions": sorted([*last["topic_partitions"], *event["topic_partitions"]])}
            continue
        if last is not None:
            yield last
        last = event if is_deletion else None
        if last is None:
            yield event
    if last is not None:
        yield last


def _finished(history: _GroupHistory, width: int | None) -> Iterator[str]:
    for line in history.finish():
        yield from wrap(line, width)


def _heading(event: Event, colour: bool) -> str:
    if event["group"] is not None:
        name = group_title(event["group"])
    else:
        name = "records without a readable group" if event["event"] == "bad_record" else "the log"
    return f"{_BOLD}{name}{_RESET}" if colour else name


class _GroupHistory:
    """Lines of the events of one group."""

    def __init__(self, group: str | None, series: Sequence[Series], colour: bool) -> None:
        self.group = group
        self._colour = colour
        self._names = MemberNames()
        self._generation: Event | None = None
        self._replaced: list[str] = []
        self._differing: set[tuple[str, str]] = set()
        self._series = list(series)
        self._open: list[SeriesEntry] = []

    def add(self, event: Event) -> Iterator[str]:
        """Yield the lines that an event completes."""
        yield from self._close(event["at"])
        yield from self._placed(self._lines(event))

    def finish(self) -> Iterator[str]:
        """Yield the lines of what is still open at the end of the group."""
        yield from self._placed(self._without_rebalance())
        yield from self._close(None)

    def _placed(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines, or keep them until the first open entry of a series is complete."""
        if self._open:
            self._open[0].later.extend(lines)
        else:
            yield from lines

    def _close(self, now: int | None) -> Iterator[str]:
        """Yield the entries of the series that ended before a time; of all for None."""
        for entry in list(self._open):
            until = entry.series.until
            if now is None or (until is not None and until < now):
                self._open.remove(entry)
                yield from self._placed(entry.lines(colour=self._colour))

    def _lines(self, event: Event) -> Iterator[str]:
        name = event["event"]
        if name != "rebalance" or event["offset"] < 0:  # only the log of a broker has the rebalance
            yield from self._without_rebalance()
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
                action, member = _MEMBER_ACTIONS[event["action"]], self._names.of(event["member"])
                yield f"  {format_time(event['at'])}  {action}: {member}"
        elif name != "storm":  # a storm is a series
            lasting = "has not ended at the end of the recording"
            title, details = event_text.other(event, self._names, lasting=lasting, colour=self._colour)
            yield f"  {format_time(event['at'])}  {title}"
            yield from (f"      {label}: {text}" for label, text in details)

    def _without_rebalance(self) -> Iterator[str]:
        """Yield the line of a generation record that is not a rebalance."""
        event, self._generation = self._generation, None
        if event is None:
            return
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
        clients = self._names.clients((*event["joined"], *event["left"], *event["replaced"]))
        is_recorded = event["offset"] >= 0
        found = next((each for each in self._series if is_recorded and each.covers(event["at"], clients)), None)
        if found is None:
            yield from self._entry(event, generation)
            return
        entry = next((each for each in self._open if each.series is found), None)
        if entry is None:
            entry = SeriesEntry(found)
            self._open.append(entry)
        entry.add(event)

    def _entry(self, event: Event, generation: Event | None) -> Iterator[str]:
        """Yield the lines of a rebalance."""
        facts = [generation_number(event)]
        if generation is not None:
            facts += [generation["protocol"]] if generation["protocol"] else []
            facts.append(format_count(generation["members"], "member"))
            if generation["duration_ms"] is not None:
                facts.append(f"{format_duration(generation['duration_ms'])} after the previous one")
        yield f"  {format_time(event['at'])}  {escape(', '.join(facts))}: {causes_text(event)}"
        yield from (f"      {label}: {text}" for label, text in rebalance_details(event, self._names))
        if generation is not None:
            yield from (f"      {label}: {text}" for label, text in task_details(generation))
        comparison = generation and generation["comparison"]
        if not comparison or comparison["outcome"] != "different":
            return
        kind = (comparison["assignor"], comparison["class"])
        if kind not in self._differing:
            self._differing.add(kind)
            remarks = "; ".join(comparison["remarks"])
            yield (f"      first assignment that differs from Kafka's {comparison['assignor']}: {escape(remarks)}")


_OF_DELETION = ("group", "at", "causes", "evidence")
_MEMBER_ACTIONS = {"expired": "member expired", "subscription_changed": "subscription changed"}
