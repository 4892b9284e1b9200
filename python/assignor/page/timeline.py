"""Rebalances over time: counts per group, time bin and cause in bounded memory, however many rebalances there are."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.lines import format_spans, spans_of
from assignor.page.rebalance_details import Details
from assignor.replay.event_text import silence_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from assignor.page.data import Row

MOST_BINS = 240
"""Largest number of time bins of a page."""

MOST_ROWS = 1_500
"""Largest number of rows of rebalances of the first groups of a page, unless one time bin has more."""

MOST_OTHER_ROWS = 12_000
"""Largest number of rows of rebalances of the other groups, unless one time bin has more."""

MOST_CELLS = 200_000
"""Largest number of counters in memory, unless one time bin has more."""

MOST_STORMS = 200
"""Largest number of storms that a page lists."""

MOST_SILENCES = 200
"""Largest number of silences of the log that a page keeps: the last ones."""

MOST_DETAILS = 30_000
"""Number of rebalances with details in memory at which the details of the earlier half are dropped."""

LAST_TIME = _core.LATEST_TIME
"""Last millisecond of the year 9999."""

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000

STEPS_MS = (
    *(_SECOND, 2 * _SECOND, 10 * _SECOND, 30 * _SECOND),
    *(_MINUTE, 2 * _MINUTE, 10 * _MINUTE, 30 * _MINUTE),
    *(_HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR),
    *(_DAY, 2 * _DAY, 10 * _DAY, 30 * _DAY, 90 * _DAY, 360 * _DAY, 3600 * _DAY),
)
"""Lengths of time bins in milliseconds; each is a multiple of the one before."""

_TOPICS_SHOWN = 6


class _Cell:
    """Rebalances of a group with one cause in one time bin."""

    __slots__ = (
        *("details", "first", "joined", "last", "left", "moved", "not_known", "rebalances"),
        *("unowned_last", "unowned_most"),
    )

    def __init__(self) -> None:
        self.rebalances = self.joined = self.left = self.moved = self.not_known = 0
        self.first: tuple[int, int | None] | None = None
        self.last: tuple[int, int | None] | None = None
        self.unowned_last: int | None = None
        self.unowned_most: int | None = None
        self.details = Details()

    def add(self, event: Mapping[str, Any], at: int) -> bool:
        """Count a rebalance, which is the last one of the group so far; return True if its details are kept."""
        stamp = (at, event["generation"] or 0)  # a line of a broker may name no epoch
        self.rebalances += 1
        self.joined += len(event["joined"] or ())
        self.left += len(event["left"] or ())
        if event["moved"] is None:
            self.not_known += 1
        else:
            self.moved += len(event["moved"])
        self._extend(stamp, stamp, None if event["unowned"] is None else len(event["unowned"]))
        return self.details.add(event, at)

    def merge(self, other: _Cell) -> None:
        """Add the counts of another cell."""
        self.rebalances += other.rebalances
        self.joined += other.joined
        self.left += other.left
        self.moved += other.moved
        self.not_known += other.not_known
        self.details.merge(other.details)
        if other.first is not None and other.last is not None:
            most = [each for each in (self.unowned_most, other.unowned_most) if each is not None]
            self._extend(other.first, other.last, other.unowned_last)
            self.unowned_most = max(most, default=None)

    def _extend(self, first: tuple[int, int | None], last: tuple[int, int | None], unowned: int | None) -> None:
        if self.first is None or first < self.first:
            self.first = first
        if self.last is None or last >= self.last:
            self.last, self.unowned_last = last, unowned
        if unowned is not None:
            self.unowned_most = max(self.unowned_most or 0, unowned)


class Timeline:
    """Counts of the rebalances of all groups, their storms, and silences of the log.

    Events can be added at any time; the methods return what is known so far.

    Attributes:
        since: Time of the first event in milliseconds; None before it.
        until: Time of the last event in milliseconds; None before the first one.
        rebalances: Number of rebalances by group.
        silences: The last `MOST_SILENCES` silences: `since`, `until` and `text`.
    """

    def __init__(self) -> None:
        self.since: int | None = None
        self.until: int | None = None
        self.rebalances = Counter[str]()
        self.silences: list[Row] = []
        self._step = 0
        self._details = 0
        self._cells: dict[tuple[str, int, str], _Cell] = {}
        self._storms: dict[tuple[str, int], Row] = {}

    def add(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Count events, each group in the order of its log.

        An event whose time is not between 1970 and 9999 gets the latest time of the events before it.
        """
        for event in events:
            name, at = event["event"], event["at"]
            if name == "silence":
                row = {"since": event["since"], "until": event["until"], "text": silence_text(event)}
                self.silences = [*self.silences, row][-MOST_SILENCES:]
            if event["group"] is None:  # an event of the log, such as a bad record
                continue
            if not 0 < at <= LAST_TIME:
                at = self.until or 0
            self.since = at if self.since is None else min(self.since, at)
            self.until = at if self.until is None else max(self.until, at)
            if name == "rebalance":
                self._rebalance(event, at)
            elif name == "storm":
                self._storm(event)

    def _rebalance(self, event: Mapping[str, Any], at: int) -> None:
        group, cause = group_name(event), event["causes"][0] if event["causes"] else "unknown"
        self.rebalances[group] += 1
        step = STEPS_MS[self._step]
        key = (group, at // step * step, cause)
        cell = self._cells.get(key)
        if cell is None:
            if len(self._cells) >= MOST_CELLS and self._step + 1 < len(STEPS_MS):
                self._step, self._cells = _coarsen(self._cells, self._step + 1)
                step = STEPS_MS[self._step]
                key = (group, at // step * step, cause)
            cell = self._cells.setdefault(key, _Cell())
        self._details += cell.add(event, at)
        if self._details >= MOST_DETAILS:
            self._drop_details()

    def _drop_details(self) -> None:
        """Drop the details of the cells that were created first, until half of the details are left."""
        self._details = sum(len(cell.details) for cell in self._cells.values())
        for cell in self._cells.values():
            if self._details <= MOST_DETAILS // 2:
                break
            self._details -= len(cell.details)
            cell.details.drop()

    def _storm(self, event: Mapping[str, Any]) -> None:
        group = group_name(event)
        pairs = [_pair(each) for each in event["topic_partitions"] or ()]
        self._storms[group, event["since"]] = {
            "group": group,
            "since": event["since"],
            "until": event["until"],
            "rebalances": event["rebalances"],
            "partitions": len(pairs),
            "unowned": len(event["unowned"] or ()),
            "which": format_spans(spans_of(pairs), _TOPICS_SHOWN) if pairs else "",
        }

    def rows(
        self, groups: Collection[str], since: int, until: int, most: int = MOST_ROWS, shortest: int = 0
    ) -> tuple[int, list[Row]]:
        """Return the length of the time bins in milliseconds, and a row per group, time bin and cause.

        The bins are as short as `MOST_BINS` and `most` allow. If a row counts one rebalance, it has the exact time
        of that rebalance. The field `details` has the `Details` of its rebalances.

        Args:
            groups: The groups to return.
            since: Start of the page's time range in milliseconds.
            until: End of the page's time range in milliseconds.
            most: Largest number of rows, unless one time bin has more.
            shortest: Shortest length of the bins in milliseconds, one of `STEPS_MS`; 0 for no limit.
        """
        chosen = {key: cell for key, cell in self._cells.items() if key[0] in groups}
        number, count = self._step, len(chosen)
        while number + 1 < len(STEPS_MS) and (
            (count > most and since // STEPS_MS[number] < until // STEPS_MS[number])
            or STEPS_MS[number] < shortest
            or until // STEPS_MS[number] - since // STEPS_MS[number] >= MOST_BINS
        ):
            number += 1
            step = STEPS_MS[number]
            count = len({(group, start // step, cause) for group, start, cause in chosen})
        if number > self._step:
            number, chosen = _coarsen(chosen, number)
        step = STEPS_MS[number]
        found = sorted(chosen.items(), key=lambda item: (item[0][1], item[0][0], item[0][2]))
        return step, [_row(key, cell, step) for key, cell in found]

    def totals(self, step: int) -> list[Row]:
        """Return a row per time bin of this length with the rebalances and moves of all groups."""
        found: dict[int, Row] = {}
        for (_, at, _), cell in self._cells.items():
            start = at // step * step
            row = found.setdefault(
                start, {"group": None, "start": start, "end": start + step, "rebalances": 0, "moved": 0}
            )
            row["rebalances"] += cell.rebalances
            row["moved"] += cell.moved
        return [found[start] for start in sorted(found)]

    def storms(self, groups: Collection[str]) -> list[Row]:
        """Return a row per storm of the groups, those with most rebalances first; `MOST_STORMS` at most."""
        found = [storm for storm in self._storms.values() if storm["group"] in groups]
        return sorted(found, key=lambda storm: (-storm["rebalances"], storm["group"], storm["since"]))[:MOST_STORMS]

    def count_storms(self) -> int:
        """Return the number of storms of all groups."""
        return len(self._storms)


def group_name(event: Mapping[str, Any]) -> str:
    """Return the group id, after the name of its cluster if there is one."""
    return f"{event['cluster']}/{event['group']}" if event["cluster"] else str(event["group"])


def _pair(partition: Any) -> tuple[str, int]:
    return (partition["topic"], partition["partition"]) if isinstance(partition, dict) else (partition[0], partition[1])


def _coarsen(cells: Mapping[tuple[str, int, str], _Cell], number: int) -> tuple[int, dict[tuple[str, int, str], _Cell]]:
    """Merge the cells into time bins of the length `STEPS_MS[number]`."""
    step = STEPS_MS[number]
    merged: dict[tuple[str, int, str], _Cell] = {}
    for (group, start, cause), cell in cells.items():
        merged.setdefault((group, start // step * step, cause), _Cell()).merge(cell)
    return number, merged


def _generations(first: int | None, last: int | None) -> str:
    """Return the first and the last generation of a cell; a watch by polls does not know them."""
    if first is None or last is None:
        return "not known"
    return str(first) if first == last else f"{first}–{last}"


def _row(key: tuple[str, int, str], cell: _Cell, step: int) -> Row:
    group, start, cause = key
    first, last = cell.first or (start, 0), cell.last or (start, 0)
    return {
        "group": group,
        "cause": cause,
        "start": start,
        "end": start + step,
        "first": first[0],
        "last": last[0],
        "generations": _generations(first[1], last[1]),
        "rebalances": cell.rebalances,
        "joined": cell.joined,
        "left": cell.left,
        "moved": cell.moved,
        "not_known": cell.not_known,
        "unowned_most": cell.unowned_most,
        "unowned_last": cell.unowned_last,
        "details": cell.details,
    }
