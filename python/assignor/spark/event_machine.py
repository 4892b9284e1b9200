"""Incremental replay of the groups of one partition of `__consumer_offsets`, from Arrow batches to Arrow batches."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assignor.cluster.timestamps import latest
from assignor.dependencies import dependency
from assignor.spark.slices import record_slices

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assignor import _core
    from assignor.cluster.metadata import TopicsByCluster
    from assignor.columns import ArrowRecordBatch

_CLOCK = struct.Struct(">q")
_NO_TIME = -(2**63)


@dataclass(frozen=True)
class MachineSettings:
    """Settings with which a worker creates machines.

    Attributes:
        new_replay: Function that returns a replay without groups for a cluster.
        delay_ms: How far the timestamps of a partition can go back, in milliseconds. With None, the deadlines of a
            group fire only by its own records and by `until`.
        until: Time up to which deadlines fire at the end of a batch, or None.
        finish: True to return, at the end of a batch, the events that wait for later records.
        read_topics: Function that returns the topic metadata of now, or None if that of the replay stays.
    """

    new_replay: Callable[[str | None], _core.Replay]
    delay_ms: int | None = 10_000
    until: int | None = None
    finish: bool = True
    read_topics: Callable[[], TopicsByCluster] | None = None


@dataclass
class EventMachine:
    """Replay of the groups of one partition of the log, and the clock of that partition.

    All groups of the machine are in one partition of the log, and their records arrive in its order. So the deadlines
    of a group without new records fire by the timestamps of the other groups' records. They fire with a delay, because
    timestamps can go back.
    """

    settings: MachineSettings
    cluster: str | None
    replay: _core.Replay = field(init=False)
    clock: int = field(default=_NO_TIME, init=False)
    _topics: pa.RecordBatch | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.replay = self.settings.new_replay(self.cluster)

    def observe_topics(self, topics: TopicsByCluster) -> Iterator[ArrowRecordBatch]:
        """Replace the topic metadata, if it has changed, and yield the events that waited for it."""
        found = topics.of(self.cluster or "")
        if self._topics is None or not found.equals(self._topics):
            self._topics = found
            yield from self.replay.observe_topics(found)

    def push(self, records: pa.RecordBatch) -> Iterator[ArrowRecordBatch]:
        """Apply records of the partition in the order of their offsets, and yield the events."""
        for part in record_slices(records):
            found = latest(part["timestamp"])
            self.clock = self.clock if found is None else max(self.clock, found)
            yield from self.replay.push(part)

    def catch_up(self) -> Iterator[ArrowRecordBatch]:
        """Yield the events of deadlines that are due by the clock of the partition."""
        if self.settings.delay_ms is not None and self.clock != _NO_TIME:
            yield from self.replay.advance(self.clock - self.settings.delay_ms)

    def end(self) -> Iterator[ArrowRecordBatch]:
        """Yield the events at the end of a batch."""
        yield from self.catch_up()
        if self.settings.until is not None:
            yield from self.replay.advance(self.settings.until)
        if self.settings.finish:
            yield from self.replay.finish()

    def snapshot(self) -> bytes:
        """Return the state."""
        return _CLOCK.pack(self.clock) + self.replay.snapshot()

    def restore(self, data: bytes) -> None:
        """Replace the state with that of a snapshot."""
        (self.clock,) = _CLOCK.unpack_from(data)
        self.replay.restore(bytes(data[_CLOCK.size :]))
