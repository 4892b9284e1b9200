"""Watch of a live cluster by polls of an Admin client, for users without permission to read `__consumer_offsets`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.cluster.background import Background
from assignor.cluster.description import UNREAD, describe
from assignor.cluster.topic_retention import RetentionReader
from assignor.cluster.topics import topic_rows
from assignor.dependencies import dependency
from assignor.errors import ClusterError
from assignor.lag import PARTITION_LAG
from assignor.lines import escape, format_count
from assignor.replay.lag_meter import LagSeries, read_retention
from assignor.replay.long_rebalances import LongRebalances
from assignor.replay.poll_watcher import PollWatcher
from assignor.replay.polled_groups import Poll
from assignor.replay.watch_loop import WatchLoop, interrupts, local_ms

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.cluster.cluster_description import ClusterDescription
    from assignor.cluster.connection import ClientSettings
    from assignor.replay.watch_loop import WatchOptions

Event = dict[str, Any]

WAIT_SECONDS = 0.1
"""Time between two looks for the result of a poll."""

TIMEOUT_NAME = "the default rebalance timeout"
"""No Admin client returns the rebalance timeouts of members."""


class Polled(NamedTuple):
    """Answers to a poll.

    Attributes:
        asked: Local time in milliseconds before the first request.
        at: Local time after the last answer.
        topics: Topic metadata; None if it could not be read.
        description: The groups with their lag.
        lag: Lag of partitions, with the columns of `assignor.lag.PARTITION_LAG`.
    """

    asked: int
    at: int
    topics: pa.RecordBatch | None
    description: ClusterDescription
    lag: pa.Table


class AdminWatch(WatchLoop):
    """Watch of a live cluster by polls.

    Args:
        settings: Settings of the clients.
        options: What to watch; `is_earliest` and `state_file` have no effect.
        report: Function that gets the new events as a list. It is called without events if a rebalance loop ended.
        notice: Function that gets sentences on the progress and on the connection.
    """

    watcher: PollWatcher

    def __init__(
        self,
        settings: ClientSettings,
        options: WatchOptions,
        report: Callable[[list[Event]], None],
        notice: Callable[[str], None],
    ) -> None:
        watcher = PollWatcher(groups=options.groups, cluster=options.cluster)
        super().__init__(settings, options, watcher, LongRebalances(TIMEOUT_NAME), report, notice)
        self._series = LagSeries(watcher)
        self._retention = RetentionReader(self._settings, self._admin) if options.has_retention else None
        self._polls = Background(self._try)
        self._problems: set[tuple[str, bool]] = set()

    def run(self) -> None:
        """Watch until the time is over, or until Ctrl-C.

        Raises:
            AuthorizationError: A permission is missing.
            ClusterError: The cluster does not answer at the start, or rejects the connection later.
            KeyboardInterrupt: After Ctrl-C, when the current events are reported.
        """
        started = time.monotonic()
        self._apply(self._read())
        self._caught_up = time.monotonic()
        self._note_start(f"polled every {self._options.interval:g} s, first")
        with interrupts(self._is_stopped):
            while not (self._is_over() or self._is_stopped.is_set()):
                if time.monotonic() - started >= self._options.interval:
                    started = time.monotonic()
                    self._polls.start()
                found = self._polls.take(WAIT_SECONDS)
                if found is None:
                    self._is_stopped.wait(WAIT_SECONDS)
                elif isinstance(found, ClusterError):
                    self._lose(found)
                else:
                    self._note_lost("")
                    self._apply(found)

    def _try(self) -> Polled | ClusterError:
        """Return the answers to a poll, or the error."""
        try:
            return self._read()
        except ClusterError as error:
            return error

    def _read(self) -> Polled:
        """Ask the cluster. This can take as long as the time limit for each kind of request."""
        try:
            topics = topic_rows(self._settings, self._admin, local_ms())
        except ClusterError:
            if self._caught_up is None:
                raise
            topics = None
        asked = local_ms()
        description = describe(
            self._settings, self._options.groups, admin=self._admin, has_other_groups=False, has_times=False
        )
        rows = [row for found in description.partitions.values() for row in found]
        lag = pa.Table.from_pylist(rows, PARTITION_LAG)
        if self._measured_topics is not None:
            lag = lag.filter(self._measured_topics.mask(lag["topic"]))
        at = local_ms()
        read_retention(self._retention, lag, at)
        return Polled(asked, at, topics, description, lag)

    def _lose(self, error: ClusterError) -> None:
        if self._settings.errors.fatal:
            raise error
        with self.lock:
            self.watcher.interrupt_all(local_ms())
        self._note_lost(str(error))

    def _apply(self, polled: Polled) -> None:
        """Apply the answers to a poll, and report the events."""
        description = polled.description
        with self.lock:
            events = self.watcher.poll(Poll.of(description, polled.asked, polled.at), polled.topics)
            self._rebalances.note(events)
            self._note_long_rebalances(polled.at, self.watcher.polled.rebalancing())
            chosen, unanswered = self._measured_topics, description.unanswered
            if chosen is not None:
                unanswered = frozenset(place for place in unanswered if chosen.matches(place[0]))
            measured = self._series.add(polled.asked, polled.lag, unanswered, self._retention)
            events += self._apply_lag(measured)[0]
            self._forget_gone()
            if self.metrics is not None:
                self.metrics.observe(events)
                if description.is_complete:
                    self.metrics.checked = polled.asked / 1000
                    self.metrics.is_caught_up = True
        self._note_problems(description)
        self._deliver_events(events)

    def _note_problems(self, description: ClusterDescription) -> None:
        """Send a notice if the groups that cannot be read have changed. End offsets have notices of their own."""
        listed = {group.group_id for group in description.groups}
        problems = [
            (group, text)
            for group, text in description.problems
            if (group in listed) or (not group and not text.startswith("end offset of "))
        ]
        problems += [
            (group, "no broker lists this group: its coordinator does not run") for group in self.watcher.polled.lost
        ]
        named = {(group, text == UNREAD) for group, text in problems}
        if named == self._problems:
            return
        self._problems = named
        unread = [group for group, text in problems if text == UNREAD]
        if unread:
            self._notice(f"{format_count(len(unread), 'group')} without members, such as {escape(unread[0])}: {UNREAD}")
        for group, text in [each for each in problems if each[1] != UNREAD][:1]:
            more = len(problems) - len(unread) - 1
            rest = f"; {format_count(more, 'other problem')}" if more else ""
            self._notice(f"{escape(f'{group}: ' if group else '')}{escape(text)}{rest}")
        if not problems:
            self._notice("all groups can be described again")
