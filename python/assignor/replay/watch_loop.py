"""What every watch of a live cluster has: reports, notices, lag, long rebalances, and an end by time or by a signal."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

from assignor.cluster.name_patterns import NamePatterns
from assignor.cluster.topics import no_end_offsets
from assignor.lines import format_count, format_duration
from assignor.replay.growing_lag import note_growth
from assignor.replay.lag_history import LagHistory
from assignor.replay.measured_lag import measured_lag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from types import FrameType

    import pyarrow as pa

    from assignor.cluster.connection import ClientSettings
    from assignor.cluster.topics import Place
    from assignor.replay.lag_meter import LagMeasurement
    from assignor.replay.long_rebalances import LongRebalances
    from assignor.replay.metrics import WatchMetrics
    from assignor.replay.watcher import Watcher

Event = dict[str, Any]

FORGET_SECONDS = 600.0
"""Time between two searches for groups that have been gone for long."""

INTERVAL_SECONDS = 10.0
"""Default time between the starts of two polls of an Admin client."""

_RECONNECT = {"reconnect.backoff.max.ms": 1_000}
"""Client settings to reconnect soon after brokers return (librdkafka's default: 10 s). The user can override them."""


@dataclasses.dataclass(frozen=True)
class WatchOptions:
    """What to watch.

    Attributes:
        groups: Names of groups, or patterns as in `NamePatterns`; empty for all.
        topics: Names or patterns of the topics whose lag is measured; empty for all.
        is_earliest: True to report the events of the whole log, not only new ones.
        state_file: File from which to continue, and in which the state is saved; None for no file.
        seconds: Time to watch after the state of the groups is known; None for no limit.
        has_lag: True to compute the lag of all groups again and again. Without it, no member is reported as stuck and
            no lag as growing. A watch by polls always computes it.
        waits_for_lag: True to end only when the lag has been computed.
        reports_each_lag: True to report the lag of every group at each measurement; False to report that of a group
            when it begins to grow and when it no longer grows.
        has_retention: True to read the settings of topics that say when records are deleted.
        cluster: Name of the cluster in the events.
        interval: Seconds from the start of a poll to the start of the next, for a watch by polls.
    """

    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    is_earliest: bool = False
    state_file: Path | None = None
    seconds: float | None = None
    has_lag: bool = False
    waits_for_lag: bool = False
    reports_each_lag: bool = False
    has_retention: bool = False
    cluster: str = ""
    interval: float = INTERVAL_SECONDS


class WatchLoop:
    """Watch of a live cluster.

    Args:
        settings: Settings of the clients.
        options: What to watch.
        watcher: The watcher.
        rebalances: Groups in a rebalance.
        report: Function that gets the new events as a list. It is called without events if a rebalance loop ended.
        notice: Function that gets sentences on the progress and on the connection.

    Attributes:
        watcher: The watcher.
        lock: Lock that is held while the watcher changes.
        metrics: Metrics to update, or None.
        lag: Lag of partitions, with the columns of `assignor.lag_time.TIME_LAG`; None before it is known.
        lag_history: Lag of groups over time.
        report_lag: Function that gets the rows of `measured_lag` after each measurement that has any, or None.
    """

    def __init__(
        self,
        settings: ClientSettings,
        options: WatchOptions,
        watcher: Watcher,
        rebalances: LongRebalances,
        report: Callable[[list[Event]], None],
        notice: Callable[[str], None],
    ) -> None:
        self.watcher = watcher
        self.lock = threading.Lock()
        self.metrics: WatchMetrics | None = None
        self.lag: pa.Table | None = None
        self.lag_history = LagHistory()
        self.report_lag: Callable[[list[dict[str, Any]]], None] | None = None
        self._lag_rows: list[dict[str, Any]] = []
        self._has_note = False
        self._settings = dataclasses.replace(settings, client={**_RECONNECT, **settings.client})
        self._admin = self._settings.admin()
        self._options = options
        self._measured_topics = NamePatterns(options.topics, "topics") if options.topics else None
        self._report = report
        self._notice = notice
        self._rebalances = rebalances
        self._is_stopped = threading.Event()
        self._unanswered: frozenset[Place] = frozenset()
        self._began = self._forgot = time.monotonic()
        self._caught_up: float | None = None
        self._lost_since: float | None = None

    def run(self) -> None:
        """Watch until the time is over, or until Ctrl-C."""
        raise NotImplementedError

    def stop(self) -> None:
        """End `run` when the current events are reported and saved. Any thread can call this."""
        self._is_stopped.set()

    @property
    def is_stopped(self) -> bool:
        """True after `stop`, and after Ctrl-C or SIGTERM."""
        return self._is_stopped.is_set()

    def _is_over(self) -> bool:
        if self._caught_up is None or self._options.seconds is None:
            return False
        return time.monotonic() - self._caught_up >= self._options.seconds

    def _note_start(self, read: str) -> None:
        """Send a notice with the groups, and with what was read to know them."""
        summaries = [found for found in self.watcher.summaries() if found.state != "gone"]
        groups = format_count(len(summaries), "group")
        members = format_count(sum(found.members for found in summaries), "member")
        storms = sum(found.storm_since is not None for found in self.watcher.conditions.groups.values())
        loops = len(self.watcher.loops.current())
        counts = [(storms, "storm"), (loops, "rebalance loop")]
        found = " and ".join(format_count(number, noun) for number, noun in counts if number)
        lasting = f", {found} in progress" if found else ""
        took = time.monotonic() - self._began
        self._notice(f"watching {groups} with {members}{lasting}; {read} in {took:.1f} s")
        missing = NamePatterns(self._options.groups).unmatched(found.group for found in summaries)
        for group in missing:
            self._notice(f"group {group!r} does not exist yet")
        if self._measured_topics is not None:
            for topic in self._measured_topics.unmatched(set(self.watcher.topics()["topic"].to_pylist())):
                self._notice(f"topic {topic!r} does not exist yet")

    def _note_lost(self, problem: str) -> None:
        """Send a notice if brokers no longer answer, or answer again; `problem` is "" if they do."""
        if problem and self._lost_since is None:
            self._lost_since = time.monotonic()
            self._notice(f"{problem}; waiting for the brokers")
        elif not problem and self._lost_since is not None:
            lasted = format_duration(round(1_000 * (time.monotonic() - self._lost_since)))
            self._notice(f"{self._settings.address} answers again after {lasted}; the watch continues")
            self._lost_since = None

    def _deliver_events(self, events: list[Event]) -> bool:
        """Report events, loops and lag; return True if there are events or loops."""
        is_changed = bool(events or self.watcher.loop_changes)
        if is_changed:
            self._report(events)
            self.watcher.loop_changes.clear()
        if self._lag_rows and self.report_lag is not None:
            self.report_lag(self._lag_rows)
        self._lag_rows = []
        return is_changed

    def _apply_lag(self, found: LagMeasurement) -> tuple[list[Event], int | None]:
        """Apply a measurement of the lag; return the events, and the time at which the next one is needed, or None."""
        self.lag = found.partitions
        self.lag_history.add(found.at, found.groups)
        if self.metrics is not None:
            self.metrics.lag = found.groups
            self.metrics.in_time.sums = {by: table.to_pylist() for by, table in found.sums.items()}
        self._note_unanswered(found.unanswered)
        if found.note and not self._has_note:
            self._notice(found.note)
        self._has_note |= bool(found.note)
        in_time = {row["group_id"]: row for row in found.sums["group"].to_pylist()}
        conditions = self.watcher.conditions
        before = {group for group, each in conditions.groups.items() if each.growing_since is not None}
        for text in note_growth(found.growing, conditions, in_time):
            self._notice(text)
        if self.report_lag is not None:
            self._lag_rows += measured_lag(
                found,
                {each.group: each.kind for each in self.watcher.summaries()},
                growing_before=before,
                cluster=self._options.cluster,
                is_complete=self._options.reports_each_lag,
            )
        return self.watcher.confirm_stuck(found.waiting, found.at)

    def _note_unanswered(self, partitions: frozenset[Place]) -> None:
        """Send a notice if the partitions without end offsets have changed."""
        if partitions and partitions != self._unanswered:
            self._notice(f"{no_end_offsets(partitions)}; their lag is not known")
        elif self._unanswered and not partitions:
            self._notice("all brokers return end offsets again")
        self._unanswered = partitions

    def _note_long_rebalances(self, now: int, groups: Iterable[str]) -> None:
        """Send a notice for each rebalance that has become too long, or is over; `groups` are in a rebalance now."""
        watcher = self.watcher
        for text in self._rebalances.observe(now, groups, watcher.rebalance_timeout, watcher.conditions):
            self._notice(text)

    def _forget_gone(self) -> None:
        """Forget groups that have been gone for long, from time to time."""
        if time.monotonic() - self._forgot >= FORGET_SECONDS:
            self._forgot = time.monotonic()
            self.lag_history.forget(self.watcher.forget_gone())


def local_ms() -> int:
    """Return the local time in milliseconds."""
    return time.time_ns() // 1_000_000


@contextlib.contextmanager
def interrupts(event: threading.Event) -> Iterator[None]:
    """Set an event at the first Ctrl-C or SIGTERM, so that the current events are reported and saved.

    The signal has its usual effect after the block. A second signal has its usual effect immediately.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    before: dict[int, Any] = {}

    def stop(number: int, _frame: FrameType | None) -> None:
        if received:
            signal.signal(number, before[number])
            signal.raise_signal(number)
        received.append(number)
        event.set()

    for each in (signal.SIGINT, signal.SIGTERM):
        before[each] = signal.signal(each, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[0])
