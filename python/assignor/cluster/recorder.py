"""Recorder of a live cluster: the records of `__consumer_offsets`, topics over time, end offsets, aborted transactions.

A record counts as aborted if a read_uncommitted reader gets it and a read_committed reader does not. Both read the same
offsets, all before the first open transaction, so that the outcome of each transaction is known. The read_committed
reader is first, so that a record that compaction removes in between does not count as aborted.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from assignor.cluster.log import READ_COMMITTED, READ_UNCOMMITTED, TOPIC, LogReader, OffsetsLog
from assignor.cluster.recording_files import RecordingFiles
from assignor.cluster.topics import end_offsets, no_end_offsets, topic_rows
from assignor.errors import IllegalArgumentError, UnreachableError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping

    import pyarrow as pa

    from assignor.cluster.connection import ClientSettings

SNAPSHOT_SECONDS = 30.0
"""Time between snapshots of the topics and their end offsets."""

COMMIT_SECONDS = 10.0
"""Time after which the records that were read are written as a complete file."""

ROUND_RECORDS = 100_000
"""Number of records that the read_committed reader reads before the read_uncommitted reader reads the same offsets."""

_IDLE_SECONDS = 0.5


@dataclasses.dataclass
class Progress:
    """Progress of a run: what it has recorded, and problems.

    Attributes:
        records: Number of records that this run has recorded.
        aborted: Number of these records that belong to aborted transactions.
        missing: Number of offsets up to the end of the log that are not recorded yet.
        is_open: True if offsets are still missing when the run ends, because they follow an open transaction.
        problem: Why the cluster does not answer now, or "".
        gap: Which partitions have no end offsets in the last snapshot because their leaders did not answer, or "".
    """

    records: int = 0
    aborted: int = 0
    missing: int = 0
    is_open: bool = False
    problem: str = ""
    gap: str = ""


def record(
    settings: ClientSettings,
    folder: str | os.PathLike[str],
    *,
    until_end: bool = False,
    duration: float | None = None,
    is_stopped: Callable[[], bool] = lambda: False,
    show: Callable[[Progress], None] = lambda _: None,
    snapshot_seconds: float = SNAPSHOT_SECONDS,
    topic: str = TOPIC,
) -> Progress:
    """Record a live cluster, or continue a recording.

    Args:
        settings: Settings of the clients.
        folder: Folder of the recording; a run with the same folder continues where the last one ended.
        until_end: True to stop at the offsets at which the log ended when the run started.
        duration: Seconds after which the run ends; by default it has no limit.
        is_stopped: Function that returns True to end the run early.
        show: Function that gets the progress when the cluster has answered, and then several times a second.
        snapshot_seconds: Seconds between snapshots of the topics and their end offsets.
        topic: The topic, which has records like those of `__consumer_offsets`.

    Returns:
        What was recorded.

    Raises:
        AuthorizationError: A permission is missing.
        ClusterError: The cluster does not answer at the start. With `until_end`, also if the cluster does
            not answer later; a run without `until_end` then waits for it.
        IllegalArgumentError: The folder is not a recording of this cluster and log.
        OSError: The folder cannot be written.
    """
    admin = settings.admin()
    cluster_id = settings.metadata(admin).cluster_id or ""
    logs = [OffsetsLog(settings, topic, level) for level in (READ_COMMITTED, READ_UNCOMMITTED)]
    ids = logs[0].partitions(admin)
    with RecordingFiles(folder, cluster_id, settings.address) as files:
        run = _Run(settings, admin, files, logs, ids, show, is_stopped)
        with run.committed, run.uncommitted:
            run.check_log()
            run.loop(until_end, None if duration is None else time.monotonic() + duration, snapshot_seconds)
    return run.progress


class _Run:
    def __init__(
        self,
        settings: ClientSettings,
        admin: Any,
        files: RecordingFiles,
        logs: list[OffsetsLog],
        ids: list[int],
        show: Callable[[Progress], None],
        is_stopped: Callable[[], bool],
    ) -> None:
        self.progress = Progress()
        self._settings, self._admin, self._files, self._logs, self._ids = settings, admin, files, logs, ids
        self._show, self._is_stopped = show, is_stopped
        earliest = {"auto.offset.reset": "earliest"}  # records may be deleted after the bounds are read
        self.committed, self.uncommitted = (LogReader(log, **earliest) for log in self._logs)
        self._topics: pa.RecordBatch | None = None

    def check_log(self) -> None:
        """Check that the log continues the recording."""
        for id, (_, end) in self._logs[1].bounds(self._admin, self._ids).items():
            recorded = self._files.positions.get(id, 0)
            if recorded > end:
                raise IllegalArgumentError(
                    f"{self._files.folder} has records of partition {id} up to offset {recorded - 1}, but the log ends "
                    f"at offset {end}: the topic was created again, or its log was truncated. Give a new folder"
                )

    def loop(self, until_end: bool, stop_at: float | None, snapshot_seconds: float) -> None:
        target = self._ends(1) if until_end else None
        self._show(self.progress)
        end_wait: float | None = None
        next_snapshot = committed_at = time.monotonic()
        while not self._is_stopped():
            now = time.monotonic()
            try:
                if now >= next_snapshot:
                    self._snapshot()
                    next_snapshot = now + snapshot_seconds
                found = self._round(target)
                self.progress.problem = ""
            except UnreachableError as error:
                self._files.commit()
                if until_end:
                    raise
                self.progress.problem, found = str(error), 0
                self._admin = self._settings.admin()  # librdkafka keeps old leader epochs of partitions for minutes
            if target is not None and not found:
                if self._lag(target) == 0:
                    break
                # The missing offsets follow an open transaction; most transactions end soon.
                end_wait = end_wait or now + self._settings.timeout
                if now > end_wait:
                    self.progress.is_open = True
                    break
            if now - committed_at > COMMIT_SECONDS:
                self._files.commit()
                committed_at = now
            if stop_at is not None and now >= stop_at:
                break
            self._show(self.progress)
            if not found:
                time.sleep(_IDLE_SECONDS if stop_at is None else max(0.0, min(_IDLE_SECONDS, stop_at - now)))
        self._files.commit()
        if not self.progress.problem:
            self._snapshot(is_last=True)

    def _ends(self, level: int) -> dict[int, int]:
        return {id: end for id, (_, end) in self._logs[level].bounds(self._admin, self._ids).items()}

    def _lag(self, ends: Mapping[int, int]) -> int:
        self.progress.missing = sum(max(0, end - self._files.positions.get(id, 0)) for id, end in ends.items())
        return self.progress.missing

    def _round(self, target: Mapping[int, int] | None) -> int:
        """Record the next records up to the first open transaction, and return the number of offsets."""
        bounds = self._logs[0].bounds(self._admin, self._ids)
        ends = {id: end if target is None else min(end, target[id]) for id, (_, end) in bounds.items()}
        starts = {id: max(low, self._files.positions.get(id, 0)) for id, (low, _) in bounds.items()}
        starts = {id: start for id, start in starts.items() if start < ends[id]}
        if not starts:
            return 0
        seen = self._read_committed(starts, ends)
        reached = dict(self.committed.positions)
        self.uncommitted.assign(starts, reached)
        for batch in self.uncommitted.batches():
            aborted = _aborted(batch, seen)
            self._files.add(batch, aborted, self.uncommitted.positions)
            self.progress.records += batch.num_rows
            self.progress.aborted += len(aborted)
            self._lag(ends if target is None else target)
            self._show(self.progress)
            if self._is_stopped():
                break
        return sum(reached[id] - start for id, start in starts.items())

    def _read_committed(self, starts: Mapping[int, int], ends: Mapping[int, int]) -> dict[int, np.ndarray]:
        """Return the offsets that a read_committed reader gets, by partition."""
        self.committed.assign(starts, ends)
        seen: dict[int, list[np.ndarray]] = {}
        count = 0
        for batch in self.committed.batches():
            for id, chosen in _by_partition(batch):
                seen.setdefault(id, []).append(chosen)
            count += batch.num_rows
            if count >= ROUND_RECORDS or self._is_stopped():
                break
        return {id: np.concatenate(parts) for id, parts in seen.items()}

    def _snapshot(self, *, is_last: bool = False) -> None:
        """Write the topics, if they changed or the run begins or ends, and the end offsets."""
        rows = topic_rows(self._settings, self._admin, _milliseconds())
        is_changed = self._topics is None or not rows.drop_columns("t").equals(self._topics.drop_columns("t"))
        if is_last or is_changed:
            self._files.write_topics(rows)
        self._topics = rows
        places = list(zip(rows["topic"].to_pylist(), rows["partition"].to_pylist(), strict=True))
        ends, unanswered = end_offsets(self._settings, self._admin, places, _milliseconds())
        self._files.write_end_offsets(ends)
        self.progress.gap = no_end_offsets(unanswered) if unanswered else ""
        if unanswered:
            self._admin = self._settings.admin()  # the old client can wait for a former leader for minutes


def _aborted(batch: pa.RecordBatch, committed: Mapping[int, np.ndarray]) -> list[tuple[int, int]]:
    """Return partition and offset of each record that a read_committed reader does not get."""
    none = np.empty(0, np.int64)
    return [
        (id, int(offset))
        for id, chosen in _by_partition(batch)
        for offset in chosen[~np.isin(chosen, committed.get(id, none))]
    ]


def _by_partition(batch: pa.RecordBatch) -> list[tuple[int, np.ndarray]]:
    """Return the offsets of each partition in a batch."""
    ids, places = batch["partition"].to_numpy(), batch["offset"].to_numpy()
    return [(int(id), places[ids == id]) for id in np.unique(ids)]


def _milliseconds() -> int:
    return time.time_ns() // 1_000_000
