"""Watch of a live cluster: it reads the log, its ends and the topics, and passes them to a `Watcher`."""

from __future__ import annotations

import contextlib
import dataclasses
import signal
import threading
import time
from typing import TYPE_CHECKING, Any

from assignor.cluster.background import Background
from assignor.cluster.log import TOPIC, LogReader, OffsetsLog
from assignor.cluster.log_ends import LogEnds
from assignor.cluster.topics import no_end_offsets, topic_rows
from assignor.errors import AuthorizationError, ClusterError, SnapshotError
from assignor.lines import format_count, format_duration
from assignor.replay import watch_state
from assignor.replay.cluster_polls import poll_leaders, poll_rebalances
from assignor.replay.coordinators import moved_text
from assignor.replay.growing_lag import note_growth
from assignor.replay.lag_history import LagHistory
from assignor.replay.lag_meter import LagMeter
from assignor.replay.long_rebalances import LongRebalances
from assignor.replay.state_file import StateFile
from assignor.replay.watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import FrameType

    import pyarrow as pa

    from assignor.cluster.connection import ClientSettings
    from assignor.cluster.log import LogEnd
    from assignor.cluster.log_ends import Answer
    from assignor.cluster.topics import Place
    from assignor.replay.metrics import WatchMetrics

Event = dict[str, Any]

POLL_SECONDS = 0.1
ENDS_SECONDS = 1.0
"""Time between two requests for the ends of the log."""

ENDS_TIMEOUT = 3.0
"""Seconds after which a broker that has not returned the ends of its partitions counts as lost."""

TOPICS_SECONDS = 30.0
"""Time between two requests for topic metadata while brokers answer and no group rebalances."""

TOPICS_PAUSE = 1.0
"""Shortest time between two requests for topic metadata, and longest wait for it before a rebalance is applied."""

LAG_SECONDS = 10.0
"""Time between two computations of lag."""

FORGET_SECONDS = 600.0
"""Time between two searches for groups that have been gone for long."""

_RECONNECT = {"reconnect.backoff.max.ms": 1_000}
"""Client settings to reconnect soon after brokers return (librdkafka's default: 10 s). The user can override them."""


@dataclasses.dataclass(frozen=True)
class WatchOptions:
    """What to watch.

    Attributes:
        groups: Group ids; empty for all.
        is_earliest: True to report the events of the whole log, not only new ones.
        state_file: File from which to continue, and in which the state is saved; None for no file.
        seconds: Time to watch after the log has been read to its end; None for no limit.
        has_lag: True to compute the lag of all groups every `LAG_SECONDS`. Without it, no member is reported as stuck
            and no lag as growing.
        waits_for_lag: True to end only when the lag has been computed.
        cluster: Name of the cluster in the events.
    """

    groups: tuple[str, ...] = ()
    is_earliest: bool = False
    state_file: Path | None = None
    seconds: float | None = None
    has_lag: bool = False
    waits_for_lag: bool = False
    cluster: str = ""


class Watch:
    """Watch of a live cluster.

    Args:
        settings: Settings of the clients.
        options: What to watch.
        report: Function that gets the new events as a list. It is called without events if a rebalance loop ended.
        notice: Function that gets sentences on the progress and on the connection.

    Attributes:
        watcher: The watcher.
        lock: Lock that is held while the watcher changes.
        metrics: Metrics to update, or None.
        lag: Lag of partitions, with the columns of `assignor.lag.PARTITION_LAG`; None before it is known.
        lag_history: Lag of groups over time.

    Raises:
        SnapshotError: The state file is damaged, of another version, or of other groups.
    """

    def __init__(
        self,
        settings: ClientSettings,
        options: WatchOptions,
        report: Callable[[list[Event]], None],
        notice: Callable[[str], None],
    ) -> None:
        self._settings = dataclasses.replace(settings, client={**_RECONNECT, **settings.client})
        self._options = options
        self._report = report
        self._notice = notice
        self._file = StateFile(options.state_file, options.groups, notice)
        try:
            self.watcher = Watcher(groups=options.groups, state=self._file.state, cluster=options.cluster)
        except SnapshotError as error:
            raise watch_state.unusable(options.state_file, error) from None
        self.lock = threading.Lock()
        self.metrics: WatchMetrics | None = None
        self.lag: pa.Table | None = None
        self.lag_history = LagHistory()
        self._log = OffsetsLog(self._settings)
        self._admin = self._settings.admin()
        self._cluster_id = ""
        self._topics = Background(lambda: topic_rows(self._settings, self._admin, _now()))
        self._topics_read = 0.0
        self._meter = LagMeter(self._settings, self._admin, self.watcher)
        self._unanswered: frozenset[Place] = frozenset()
        self._leaders = poll_leaders(self._settings, self._admin)
        self._rebalancing = poll_rebalances(self._settings, self._admin)
        self._rebalances = LongRebalances()
        self._topics_due = False
        self._is_stopped = threading.Event()
        self._ids: list[int] = []
        self._asked = 0.0
        self._began = self._forgot = time.monotonic()
        self._lost_since: float | None = None
        self._target: dict[int, LogEnd] | None = None
        self._caught_up: float | None = None

    def run(self) -> None:
        """Watch until the time is over, or until Ctrl-C.

        Raises:
            AuthorizationError: A permission is missing.
            ClusterError: The cluster does not answer at the start, or rejects the connection later.
            SnapshotError: The state file is of another cluster or log.
            OSError: The state file cannot be written at the end.
            KeyboardInterrupt: After Ctrl-C, when the current events are reported and saved.
        """
        self._ids = self._partitions()
        if not self._ids:
            return
        bounds = self._log.bounds(self._admin, self._ids)
        starts = self._file.starts(bounds, self._cluster_id, self._settings.address)
        if self._options.is_earliest and self.watcher.is_silent:
            self.watcher.start(is_earliest=True)
        self._deliver(self.watcher.observe_topics(topic_rows(self._settings, self._admin, _now())))
        self._topics_read = time.monotonic()
        ends = LogEnds(self._log, self._admin, self._ids, ENDS_TIMEOUT)
        with LogReader(self._log) as reader, _interrupts(self._is_stopped):
            reader.assign(starts)
            while not (self._is_over() or self._is_stopped.is_set()):
                self._step(reader, ends)
            if self._options.waits_for_lag and self.lag is None and not self._is_stopped.is_set():
                self._deliver(self._read_lag(2 * self._settings.timeout))  # a short watch ends before the lag is known
            self._file.write(self.watcher, self._cluster_id)

    def stop(self) -> None:
        """End `run` when the current events are reported and saved. Any thread can call this."""
        self._is_stopped.set()

    @property
    def is_stopped(self) -> bool:
        """True after `stop`, and after Ctrl-C or SIGTERM."""
        return self._is_stopped.is_set()

    def _partitions(self) -> list[int]:
        """Return the partitions of the log; wait for the topic if the cluster does not have it yet.

        The list is empty if `stop` was called meanwhile.
        """
        is_waiting = False
        while not self._is_stopped.wait(ENDS_SECONDS if is_waiting else 0):
            metadata = self._settings.metadata(self._admin)
            self._cluster_id = metadata.cluster_id
            try:
                return self._log.partitions(self._admin)
            except AuthorizationError:
                raise
            except ClusterError:
                if TOPIC in metadata.topics:
                    raise
            if not is_waiting:
                self._notice(f"{self._settings.address} has no topic {TOPIC} yet; waiting for the first consumer group")
                is_waiting = True
                if self.watcher.is_silent:
                    self.watcher.start(is_earliest=True)
        return []

    def _is_over(self) -> bool:
        if self._caught_up is None or self._options.seconds is None:
            return False
        return time.monotonic() - self._caught_up >= self._options.seconds

    def _step(self, reader: LogReader, ends: LogEnds) -> None:
        """Read records once; report the new events, and save the state."""
        records = reader.poll(POLL_SECONDS)
        now = _now()
        is_current = self._caught_up is not None
        is_rebalance = records.num_rows > 0 and self.watcher.has_group_records(records)
        topics = self._current_topics(is_needed=is_current and is_rebalance)
        with self.lock:
            events = self.watcher.observe_topics(topics) if topics is not None else []
            events += self.watcher.push(records, reader.positions, now if is_current else None)
            if topics is not None and is_rebalance:
                events += self.watcher.observe_topics(topics)
            answer = ends.take()
            if answer is not None:
                events += self._settle(answer)
            if is_current:
                events += self._read_cluster(now, events)
            if self._options.has_lag:
                events += self._read_lag()
            if self.metrics is not None:
                self.metrics.observe(events)
        if time.monotonic() - self._asked >= ENDS_SECONDS:
            self._asked = time.monotonic()
            ends.ask(now)
        self._deliver(events)

    def _read_cluster(self, now: int, events: list[Event]) -> list[Event]:
        """Take what the brokers say beside the log: moves of coordinators, which are events, and long rebalances."""
        leaders = self._leaders.take()
        moved = [] if leaders is None else self.watcher.observe_leaders(leaders, now)
        for event in moved:
            self._notice(moved_text(event))
        self._rebalances.note(events)
        groups = self._rebalancing.take()
        if groups is not None:
            wanted = self._options.groups
            found = [group for group in groups if not wanted or group in wanted]
            conditions = self.watcher.conditions
            for text in self._rebalances.observe(now, found, self.watcher.rebalance_timeout, conditions):
                self._notice(text)
        if time.monotonic() - self._forgot >= FORGET_SECONDS:
            self._forgot = time.monotonic()
            self.lag_history.forget(self.watcher.forget_gone())
        return moved

    def _current_topics(self, *, is_needed: bool) -> pa.RecordBatch | None:
        """Return topic metadata if new metadata has arrived; request it if a rebalance needs it or it is old."""
        age = time.monotonic() - self._topics_read
        self._topics_due |= is_needed
        if age >= (TOPICS_PAUSE if self._topics_due else TOPICS_SECONDS):
            self._topics.start()
        found = self._topics.take(TOPICS_PAUSE if is_needed else 0)
        if found is not None:
            self._topics_read, self._topics_due = time.monotonic(), False
        return found

    def _settle(self, answer: Answer) -> list[Event]:
        """Advance the clocks, and notice whether the log is read to its end and whether brokers are lost."""
        events = self.watcher.settle(answer.ends, answer.asked)
        missing = [id for id in self._ids if id not in answer.ends]
        self._note_lost(missing)
        self.watcher.interrupt(missing, _now())
        if missing:
            self._topics_due = True  # librdkafka repeats a rejected leader epoch until it gets new metadata
        else:
            self._target = self._target or answer.ends
            if self.metrics is not None:
                self.metrics.checked = answer.asked / 1000
                self.metrics.behind = self.watcher.behind(answer.ends)
        if self._caught_up is None and self._target is not None and not self.watcher.behind(self._target):
            self._caught_up = time.monotonic()
            if self.watcher.is_silent:
                self.watcher.start()
            self._note_start()
        return events

    def _note_lost(self, missing: list[int]) -> None:
        if self._settings.errors.fatal:
            raise self._settings.unreachable(f"read topic {TOPIC}")
        if missing and self._lost_since is None:
            self._lost_since = time.monotonic()
            which = "all" if len(missing) == len(self._ids) else f"{len(missing)} of {len(self._ids)}"
            self._notice(
                f"no answer from {self._settings.address} for {which} partitions of {TOPIC}; waiting for the brokers"
            )
        elif not missing and self._lost_since is not None:
            lasted = format_duration(round(1_000 * (time.monotonic() - self._lost_since)))
            self._notice(f"{self._settings.address} answers again after {lasted}; the watch continues")
            self._lost_since = None

    def _note_start(self) -> None:
        summaries = [found for found in self.watcher.summaries() if found.state != "gone"]
        groups = format_count(len(summaries), "group")
        members = format_count(sum(found.members for found in summaries), "member")
        storms = sum(found.storm_since is not None for found in self.watcher.conditions.groups.values())
        loops = len(self.watcher.loops.current())
        counts = [(storms, "storm"), (loops, "rebalance loop")]
        found = " and ".join(format_count(number, noun) for number, noun in counts if number)
        lasting = f", {found} in progress" if found else ""
        took = time.monotonic() - self._began
        records = format_count(self.watcher.records, "record")
        self._notice(f"watching {groups} with {members}{lasting}; {records} read in {took:.1f} s")
        known = {found.group for found in summaries}
        for group in self._options.groups:
            if group not in known:
                self._notice(f"group {group!r} does not exist yet")

    def _deliver(self, events: list[Event]) -> None:
        """Report events and loops, and save the state if that is due."""
        is_changed = bool(events or self.watcher.loop_changes)
        if is_changed:
            self._report(events)
            self.watcher.loop_changes.clear()
        self._file.write_if_due(self.watcher, self._cluster_id, is_changed=is_changed)

    def _read_lag(self, seconds: float = 0) -> list[Event]:
        """Start a measurement of the lag if it is due, and apply a new one if there is one within some seconds."""
        if self._caught_up is not None:
            self._meter.start(LAG_SECONDS)
        found = self._meter.take(seconds)
        if found is None:
            return []
        self.lag = found.partitions
        self.lag_history.add(found.at, found.groups)
        if self.metrics is not None:
            self.metrics.lag = found.groups
        self._note_unanswered(found.unanswered)
        for text in note_growth(found.growing, self.watcher.conditions):
            self._notice(text)
        events, due = self.watcher.confirm_stuck(found.waiting, found.at)
        self._meter.request(due)
        return events

    def _note_unanswered(self, partitions: frozenset[Place]) -> None:
        """Send a notice if the partitions without end offsets have changed."""
        if partitions and partitions != self._unanswered:
            self._notice(f"{no_end_offsets(partitions)}; their lag is not known")
        elif self._unanswered and not partitions:
            self._notice("all brokers return end offsets again")
        self._unanswered = partitions


def _now() -> int:
    return time.time_ns() // 1_000_000


@contextlib.contextmanager
def _interrupts(event: threading.Event) -> Iterator[None]:
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
