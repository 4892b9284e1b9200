"""Measurements of the lag of a live cluster, each in a thread of its own, and what successive ones show."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from assignor.cluster.background import Background
from assignor.cluster.topic_retention import RetentionReader
from assignor.cluster.topics import end_offsets
from assignor.dependencies import dependency
from assignor.lag import group_lag, partition_lag
from assignor.lag_retention import row_retention
from assignor.lag_time_sums import BY, sum_lag_in_time
from assignor.replay.growing_lag import GroupMeasurement, GrowingLag
from assignor.replay.lag_progress import LagProgress
from assignor.replay.offset_history import OffsetHistory

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from assignor.cluster.connection import ClientSettings
    from assignor.cluster.name_patterns import NamePatterns
    from assignor.cluster.topics import Place
    from assignor.lag_growth import Growth
    from assignor.lag_time_sums import By
    from assignor.replay.watcher import Watcher

SHORTEST_PAUSE = 1.0
"""Shortest time in seconds between two measurements."""


class LagMeasurement(NamedTuple):
    """Lag of all groups at one time.

    Attributes:
        at: The time in milliseconds.
        partitions: Lag of partitions in time, with the columns of `assignor.lag_time.TIME_LAG`.
        groups: Lag of groups, with the columns of `assignor.lag.GROUP_LAG`.
        sums: Lag in time of groups, topics and members, see `assignor.lag_time_sums`.
        waiting: Partitions in which records wait, see `LagProgress.waiting`.
        growing: Groups whose lag grows.
        unanswered: Partitions whose leader did not return the end offset.
        note: Sentence on settings of topics that could not be read, or an empty text.
    """

    at: int
    partitions: pa.Table
    groups: pa.Table
    sums: dict[By, pa.Table]
    waiting: pa.Table
    growing: dict[str, Growth]
    unanswered: frozenset[Place]
    note: str = ""


class LagSeries:
    """Successive measurements of the lag, and what they show.

    Args:
        watcher: The watcher, which knows the generations.
    """

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._progress = LagProgress()
        self._growing = GrowingLag()
        self._offsets = OffsetHistory()

    def add(
        self,
        at: int,
        partitions: pa.Table,
        unanswered: frozenset[Place],
        retention: RetentionReader | None = None,
    ) -> LagMeasurement:
        """Add the lag of partitions at a time, and return the measurement.

        Args:
            at: The time in milliseconds.
            partitions: Lag of partitions, with the columns of `assignor.lag.PARTITION_LAG`.
            unanswered: Partitions whose leader did not return the end offset.
            retention: Settings of topics; None if they are not read.
        """
        groups = group_lag(partitions)
        self._progress.add(at, partitions)
        growing = self._growing.add(at, self._measured(groups))
        settings = {} if retention is None else retention.arguments()
        timed = self._offsets.add(at, partitions, row_retention(partitions, **settings))
        sums = {by: sum_lag_in_time(timed, by=by) for by in BY}
        note = "" if retention is None else retention.note()
        return LagMeasurement(at, timed, groups, sums, self._progress.waiting(), growing, unanswered, note)

    def _measured(self, groups: pa.Table) -> Iterator[GroupMeasurement]:
        generations = {found.group: found.generation for found in self._watcher.summaries() if found.members}
        progress = {row["group_id"]: row for row in self._progress.groups().to_pylist()}
        for group, lag in zip(groups["group_id"].to_pylist(), groups["lag"].to_pylist(), strict=True):
            row = progress[group]
            yield GroupMeasurement(group, lag, row["produced"], row["interval"], generations.get(group))


class LagMeter:
    """Repeated measurement of the lag of all groups.

    Args:
        settings: Settings of the clients.
        admin: AdminClient of the cluster.
        watcher: The watcher, which knows the committed offsets.
        clock: Function that returns the local time in milliseconds.
        topics: Topics whose lag is measured; None for all.
        has_retention: True to read the settings of topics that say when records are deleted.
    """

    def __init__(
        self,
        settings: ClientSettings,
        admin: Any,
        watcher: Watcher,
        clock: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
        *,
        topics: NamePatterns | None = None,
        has_retention: bool = False,
    ) -> None:
        self._topics = topics
        self._settings = settings
        self._admin = admin
        self._watcher = watcher
        self._clock = clock
        self._series = LagSeries(watcher)
        self._retention = RetentionReader(settings, admin) if has_retention else None
        self._calls = Background(self._measure)
        self._started: int | None = None
        self._requested: int | None = None

    def start(self, pause: float) -> None:
        """Start a measurement if the last one was started `pause` seconds ago, or if one was requested for now."""
        now = self._clock()
        if self._started is not None:
            due = self._started + round(pause * 1_000)
            if self._requested is not None:
                due = min(due, max(self._requested, self._started + round(SHORTEST_PAUSE * 1_000)))
            if now < due:
                return
        self._started, self._requested = now, None
        self._calls.start()

    def request(self, at: int | None) -> None:
        """Request the next measurement for a time in milliseconds, if that is earlier than it would be; or not."""
        self._requested = at

    def take(self, seconds: float = 0) -> LagMeasurement | None:
        """Return a new measurement, only once; None if it does not end within some seconds."""
        return self._calls.take(seconds)

    def _measure(self) -> LagMeasurement:
        committed = self._watcher.committed()
        if self._topics is not None:
            committed = committed.filter(self._topics.mask(committed["topic"]))
        places = committed.group_by(["topic", "partition"]).aggregate([]).to_pylist()
        wanted = [(place["topic"], place["partition"]) for place in places]
        at = self._clock()
        ends, unanswered = end_offsets(self._settings, self._admin, wanted, at)
        lags = partition_lag(committed, pa.Table.from_batches([ends]))
        read_retention(self._retention, lags, at)
        return self._series.add(at, lags, unanswered, self._retention)


def read_retention(reader: RetentionReader | None, lags: pa.Table, at: int) -> None:
    """Read the settings of the topics with unread records that are not known yet, or are old.

    Args:
        reader: The reader; None to read nothing.
        lags: Lag of partitions, with the columns of `assignor.lag.PARTITION_LAG`.
        at: Time in milliseconds.
    """
    if reader is not None:
        reader.read(lags.filter(pc.greater(lags["lag"], 0))["topic"].unique().to_pylist(), at)
