"""Watch of a live cluster: it reads the log, its ends and the topics, and passes them to a `Watcher`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from assignor.cluster.background import Background
from assignor.cluster.log import TOPIC, LogReader, OffsetsLog
from assignor.cluster.log_ends import LogEnds
from assignor.cluster.topics import topic_rows
from assignor.errors import AuthorizationError, ClusterError, SnapshotError
from assignor.lines import format_count
from assignor.replay import watch_state
from assignor.replay.cluster_polls import poll_leaders, poll_rebalances
from assignor.replay.coordinators import moved_text
from assignor.replay.lag_meter import LagMeter
from assignor.replay.long_rebalances import LongRebalances
from assignor.replay.state_file import StateFile
from assignor.replay.watch_loop import WatchLoop, interrupts, local_ms
from assignor.replay.watcher import Watcher

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from assignor.cluster.connection import ClientSettings
    from assignor.cluster.log import LogEnd
    from assignor.cluster.log_ends import Answer
    from assignor.replay.watch_loop import WatchOptions

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


class Watch(WatchLoop):
    """Watch of a live cluster by its log.

    Args:
        settings: Settings of the clients.
        options: What to watch.
        report: Function that gets the new events as a list. It is called without events if a rebalance loop ended.
        notice: Function that gets sentences on the progress and on the connection.

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
        self._file = StateFile(options.state_file, options.groups, notice)
        try:
            watcher = Watcher(groups=options.groups, state=self._file.state, cluster=options.cluster)
        except SnapshotError as error:
            raise watch_state.unusable(options.state_file, error) from None
        super().__init__(settings, options, watcher, LongRebalances(), report, notice)
        self._log = OffsetsLog(self._settings)
        self._cluster_id = ""
        self._topics = Background(lambda: topic_rows(self._settings, self._admin, local_ms()))
        self._topics_read = 0.0
        self._meter = LagMeter(
            *(self._settings, self._admin, self.watcher),
            topics=self._measured_topics,
            has_retention=self._options.has_retention,
        )
        self._leaders = poll_leaders(self._settings, self._admin)
        self._rebalancing = poll_rebalances(self._settings, self._admin)
        self._topics_due = False
        self._ids: list[int] = []
        self._asked = 0.0
        self._target: dict[int, LogEnd] | None = None

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
        self._deliver(self.watcher.observe_topics(topic_rows(self._settings, self._admin, local_ms())))
        self._topics_read = time.monotonic()
        ends = LogEnds(self._log, self._admin, self._ids, ENDS_TIMEOUT)
        with LogReader(self._log) as reader, interrupts(self._is_stopped):
            reader.assign(starts)
            while not (self._is_over() or self._is_stopped.is_set()):
                self._step(reader, ends)
            if self._options.waits_for_lag and self.lag is None and not self._is_stopped.is_set():
                self._deliver(self._read_lag(2 * self._settings.timeout))  # a short watch ends before the lag is known
            self._file.write(self.watcher, self._cluster_id)

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

    def _step(self, reader: LogReader, ends: LogEnds) -> None:
        """Read records once; report the new events, and save the state."""
        records = reader.poll(POLL_SECONDS)
        now = local_ms()
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
            self._note_long_rebalances(now, filter(self.watcher.follows, groups))
        self._forget_gone()
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
        self._note_missing(missing)
        self.watcher.interrupt(missing, local_ms())
        if missing:
            self._topics_due = True  # librdkafka repeats a rejected leader epoch until it gets new metadata
        else:
            self._target = self._target or answer.ends
            if self.metrics is not None:
                self.metrics.checked = answer.asked / 1000
                self.metrics.behind = self.watcher.behind(answer.ends)
        if self._caught_up is None and self._target is not None and not self.watcher.behind(self._target):
            self._caught_up = time.monotonic()
            if self.metrics is not None:
                self.metrics.is_caught_up = True
            if self.watcher.is_silent:
                self.watcher.start()
            records = format_count(self.watcher.records, "record")
            self._note_start(f"{records} read")
        return events

    def _note_missing(self, missing: list[int]) -> None:
        if self._settings.errors.fatal:
            raise self._settings.unreachable(f"read topic {TOPIC}")
        which = "all" if len(missing) == len(self._ids) else f"{len(missing)} of {len(self._ids)}"
        lost = f"no answer from {self._settings.address} for {which} partitions of {TOPIC}"
        self._note_lost(lost if missing else "")

    def _deliver(self, events: list[Event]) -> None:
        """Report events and loops, and save the state if that is due."""
        is_changed = self._deliver_events(events)
        self._file.write_if_due(self.watcher, self._cluster_id, is_changed=is_changed)

    def _read_lag(self, seconds: float = 0) -> list[Event]:
        """Start a measurement of the lag if it is due, and apply a new one if there is one within some seconds."""
        if self._caught_up is not None:
            self._meter.start(LAG_SECONDS)
        found = self._meter.take(seconds)
        if found is None:
            return []
        events, due = self._apply_lag(found)
        self._meter.request(due)
        return events
