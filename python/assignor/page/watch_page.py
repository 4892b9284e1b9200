"""Page of a live cluster: what a watch knows now, and its events so far."""

from __future__ import annotations

import contextlib
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency, require
from assignor.lines import format_count, format_time
from assignor.page import html
from assignor.page.data import PageData, member_rows
from assignor.page.report_data import lag_rows, last_topics
from assignor.page.timeline import Timeline
from assignor.replay.loop_text import summary
from assignor.report.findings import KINDS

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from assignor.page.data import Live, MemberRow, Row
    from assignor.replay.lag_history import LagHistory
    from assignor.replay.watcher import Watcher


class WatchPage:
    """Page of a watch. Any thread can ask for it while another one adds events.

    Args:
        title: Name of the cluster.
        watcher: The watcher.
        lock: Lock that is held while the watcher changes.
        lag: Function that returns the last table of `assignor.lag.partition_lag`, or None if the lag is not known.
        history: Lag of the groups over time.

    Raises:
        MissingDependencyError: altair or vl-convert-python is not installed.
    """

    def __init__(
        self,
        title: str,
        watcher: Watcher,
        lock: threading.Lock,
        lag: Callable[[], pa.Table | None] = lambda: None,
        history: LagHistory | None = None,
    ) -> None:
        require("vl_convert", "altair")
        self._title = title
        self._watcher = watcher
        self._lock = lock
        self._lag = lag
        self._history = history
        self._timeline = Timeline()
        self._timeline_lock = threading.Lock()
        # What every page needs takes seconds to load. It is loaded while the log is read, in a thread that does not
        # hold up the end of the process.
        self._loading = threading.Thread(target=_load, daemon=True)
        self._loading.start()

    def add(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Add new events."""
        with self._timeline_lock:
            self._timeline.add({**event, "cluster": ""} for event in events)  # a page of one cluster does not name it

    def html(self, live: Live | None = None, notes: Sequence[str] = ()) -> str:
        """Return the HTML of the page as it is now.

        Args:
            live: How the browser gets newer pages; None for a page in a file.
            notes: Sentences on what is not known.
        """
        self._loading.join()
        with self._lock, self._timeline_lock:
            states = {row["group"]: row for row in self._watcher.groups()}
            lag = self._lag()
            data = PageData(
                title=self._title,
                events=(),
                records=self._watcher.records or None,  # a watch by polls reads no records
                groups=[_group(row) for row in states.values()],
                findings=list(self._findings()),
                notes=notes,
                members=lambda groups: _members(states[group] for group in groups if group in states),
                topics=last_topics(pa.Table.from_batches([self._watcher.topics()])),
                lag=None if lag is None else lambda groups: lag_rows(lag, groups),
                lag_over_time=None if self._history is None else self._history.rows,
            )
            return html.page(data, self._timeline, live)

    def _findings(self) -> Iterator[Row]:
        """Yield the lasting conditions of groups."""
        for loop in self._watcher.loops.current():
            yield _finding("rebalance_loop", loop.group, f"rebalance loop: {summary(loop)}", loop.since)
        for group, found in sorted(self._watcher.conditions.groups.items()):
            if found.storm_since is not None:
                yield _finding(
                    "storm", group, f"rebalance storm since {format_time(found.storm_since)}", found.storm_since
                )
            if found.unowned:
                yield _finding("unowned", group, f"no owner for {format_count(found.unowned, 'partition')}")
            if found.rebalancing_since is not None:
                since = found.rebalancing_since
                yield _finding("long_rebalance", group, f"in a rebalance since {format_time(since)}", since)
            if found.growing_since is not None:
                since = found.growing_since
                yield _finding("lag_growing", group, f"lag has been growing since {format_time(since)}", since)
            if found.stuck:
                yield _finding(
                    "stuck", group, f"{format_count(len(found.stuck), 'member')} stuck", None, sorted(found.stuck)
                )


def _load() -> None:
    """Load the scripts and the modules of pages; the write of a page reports what cannot be loaded."""
    with contextlib.suppress(Exception):
        html.bundle()
        import_module("assignor.page.charts")


def _finding(kind: str, group: str, text: str, since: int | None = None, members: Sequence[str] = ()) -> Row:
    evidence = f"Members: {', '.join(members)}." if members else ""
    return {
        "kind": kind,
        "severity": KINDS[kind].severity,
        "since": since,
        "until": None,
        "group": group,
        "text": text,
        "evidence": evidence,
    }


def _group(row: Mapping[str, Any]) -> Row:
    fields = ("group", "kind", "state", "protocol", "generation", "partitions", "unowned")
    return {**{field: row[field] for field in fields}, "members": len(row["members"])}


def _members(states: Iterable[Mapping[str, Any]]) -> Iterator[MemberRow]:
    kept = list(states)
    return member_rows(
        *(
            [{"group_id": state["group"], **row} for state in kept for row in state[name]]
            for name in ("members", "assignment")
        )
    )
