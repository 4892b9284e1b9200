"""Page of a live cluster, which is written again while events happen and when the watch ends."""

from __future__ import annotations

import contextlib
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lines import format_count, format_time
from assignor.page import html
from assignor.page.data import PageData, member_rows
from assignor.page.html import check_page, write_page
from assignor.page.report_data import lag_rows, last_topics
from assignor.page.timeline import Timeline
from assignor.replay.loop_text import summary
from assignor.report.findings import KINDS

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from assignor.page.data import MemberRow, Row
    from assignor.replay.lag_history import LagHistory
    from assignor.replay.watcher import Watcher

WRITE_SECONDS = 30.0
"""Shortest time between two writes of the page while events happen."""

_JOIN_SECONDS = 0.05


class WatchPage:
    """Page of a watch.

    It is written in a thread of its own, for which the watch waits, so that Ctrl-C can end a long write.

    Args:
        path: The HTML file.
        title: Name of the cluster.
        watcher: The watcher.
        notice: Function that gets a sentence if the page cannot be written while the watch goes on.
        lag: Function that returns the last table of `assignor.lag.partition_lag`, or None if the lag is not known.
        history: Lag of the groups over time.
        is_stopped: Function that returns True if the watch ends, so that nothing waits for a write.
        clock: Function that returns seconds.

    Raises:
        IllegalArgumentError: The page cannot be written to the path.
        MissingDependencyError: altair or vl-convert-python is not installed.
    """

    def __init__(
        self,
        path: str,
        title: str,
        watcher: Watcher,
        notice: Callable[[str], None],
        lag: Callable[[], pa.Table | None] = lambda: None,
        history: LagHistory | None = None,
        is_stopped: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_page(path)
        self._path = path
        self._title = title
        self._watcher = watcher
        self._notice = notice
        self._lag = lag
        self._history = history
        self._is_stopped = is_stopped
        self._clock = clock
        self._timeline = Timeline()
        self._written: float | None = None
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        # What every page needs takes seconds to load. It is loaded while the log is read, in a thread that does not
        # hold up the end of the process.
        self._loading = threading.Thread(target=_load, daemon=True)
        self._loading.start()

    def add(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Add new events, and write the page unless it was written less than `WRITE_SECONDS` ago."""
        self._timeline.add({**event, "cluster": ""} for event in events)  # a page of one cluster does not name it
        now = self._clock()
        if self._written is None or now - self._written >= WRITE_SECONDS:
            self._written = now
            self._start()
            while self._is_writing(_JOIN_SECONDS) and not self._is_stopped():
                pass
            try:
                self._raise_error()
            except IllegalArgumentError as error:
                self._notice(str(error))

    def finish(self, seconds: float | None = None) -> None:
        """Write the page for the last time.

        Args:
            seconds: How long to wait for it; None for no limit. After that, the page stays as it was written before.

        Raises:
            IllegalArgumentError: The file cannot be written.
        """
        if seconds is None:
            self._is_writing(None)
            self._error = None
            self.write()
            return
        end = time.monotonic() + seconds
        if not self._is_writing(seconds):
            self._error = None
            self._start()
            if not self._is_writing(max(0, end - time.monotonic())):
                self._raise_error()
                return
        lacks = "lacks the last events" if Path(self._path).exists() else "was not written"
        self._notice(f"the page {self._path} {lacks}: writing it takes longer than {seconds:g} s")

    def _start(self) -> None:
        """Start to write the page in a thread."""
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        self._loading.join()
        try:
            self.write()
        except Exception as error:
            self._error = error

    def _is_writing(self, seconds: float | None) -> bool:
        """Wait some seconds, or without a limit, for the end of the write; return True if it goes on."""
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                return True
            self._thread = None
        return False

    def _raise_error(self) -> None:
        """Raise the error of the last write."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def write(self) -> None:
        """Write the page.

        Raises:
            IllegalArgumentError: The file cannot be written.
        """
        states = {row["group"]: row for row in self._watcher.groups()}
        lag = self._lag()
        data = PageData(
            title=self._title,
            events=(),
            records=self._watcher.records or None,  # a watch by polls reads no records
            groups=[_group(row) for row in states.values()],
            findings=list(self._findings()),
            members=lambda groups: _members(states[group] for group in groups if group in states),
            topics=last_topics(pa.Table.from_batches([self._watcher.topics()])),
            lag=None if lag is None else lambda groups: lag_rows(lag, groups),
            lag_over_time=None if self._history is None else self._history.rows,
        )
        write_page(self._path, data, self._timeline)

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
