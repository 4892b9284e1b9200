"""Incremental replay of the groups of one partition of `__consumer_offsets`, from Arrow batches to Arrow batches."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema

from assignor.errors import IllegalArgumentError
from assignor.spark.events_schema import EVENTS
from assignor.spark.slices import record_slices

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_CLOCK = struct.Struct(">q")
_NO_TIME = -(2**63)
_PAIRS = ("moved", "unowned", "topic_partitions")
_EVENTS_PER_BATCH = 1_000


class EventReplay(Protocol):
    """Replay of many groups. `push` reads the columns cluster, offset, timestamp, key and value."""

    def push(self, records: pa.RecordBatch) -> Iterable[pa.RecordBatch]:
        """Apply records, and return the events that they cause."""

    def advance(self, now: int) -> Iterable[pa.RecordBatch]:
        """Return the events of all deadlines up to a time."""

    def finish(self) -> Iterable[pa.RecordBatch]:
        """Return the events that wait for later records."""

    def next_deadline(self) -> int | None:
        """Return the earliest deadline."""

    def snapshot(self) -> bytes:
        """Return the state."""

    def restore(self, data: bytes) -> None:
        """Replace the state."""


@dataclass(frozen=True)
class MachineSettings:
    """Settings with which a worker creates machines.

    Attributes:
        new_replay: Function that returns a replay without groups.
        delay_ms: How far the timestamps of a partition can go back, in milliseconds. With None, the deadlines of a
            group fire only by its own records and by `until`.
        until: Time up to which deadlines fire at the end of a batch, or None.
        finish: True to return, at the end of a batch, the events that wait for later records.
    """

    new_replay: Callable[[], EventReplay]
    delay_ms: int | None = 10_000
    until: int | None = None
    finish: bool = True


@dataclass
class EventMachine:
    """Replay of the groups of one partition of the log, and the clock of that partition.

    All groups of the machine are in one partition of the log, and their records arrive in its order. So the deadlines
    of a group without new records fire by the timestamps of the other groups' records. They fire with a delay, because
    timestamps can go back.
    """

    settings: MachineSettings
    replay: EventReplay = field(init=False)
    clock: int = field(default=_NO_TIME, init=False)

    def __post_init__(self) -> None:
        self.replay = self.settings.new_replay()

    def push(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Apply records of the partition in the order of their offsets, and yield the events."""
        for part in record_slices(records):
            latest = pc.max(part["timestamp"]).as_py()
            self.clock = self.clock if latest is None else max(self.clock, latest)
            yield from self.replay.push(part)

    def catch_up(self) -> Iterator[pa.RecordBatch]:
        """Yield the events of deadlines that are due by the clock of the partition."""
        if self.settings.delay_ms is not None and self.clock != _NO_TIME:
            yield from self.replay.advance(self.clock - self.settings.delay_ms)

    def end(self) -> Iterator[pa.RecordBatch]:
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


def event_batch(events: Any) -> pa.RecordBatch:
    """Return events as a batch with the columns of `EVENTS`; missing columns are null."""
    batch = pa.record_batch(events)
    schema = to_arrow_schema(EVENTS)
    arrays = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@dataclass
class PlainReplay:
    """Replay through `assignor.replay.Replay`, which reads one record at a time and returns events as dictionaries."""

    replay: Any

    def push(self, records: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Apply records, and return the events that they cause."""
        found: list[Mapping[str, Any]] = []
        columns = (records[name].to_pylist() for name in ("cluster", "offset", "timestamp", "key", "value"))
        for cluster, *record in zip(*columns, strict=True):
            found += self.replay.push(tuple(record), cluster)
            if len(found) >= _EVENTS_PER_BATCH:
                yield rows(found)
                found = []
        yield from self._batches(found)

    def advance(self, now: int) -> Iterator[pa.RecordBatch]:
        """Return the events of all deadlines up to a time."""
        return self._batches(self.replay.advance(now))

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Return the events that wait for later records."""
        return self._batches(self.replay.finish())

    def next_deadline(self) -> int | None:
        """Return the earliest deadline."""
        found: int | None = self.replay.next_deadline()
        return found

    def snapshot(self) -> bytes:
        """Return the state."""
        found: bytes = self.replay.snapshot()
        return found

    def restore(self, data: bytes) -> None:
        """Replace the state."""
        self.replay.restore(data)

    def _batches(self, found: list[Mapping[str, Any]]) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(found), _EVENTS_PER_BATCH):
            yield rows(found[start : start + _EVENTS_PER_BATCH])


def rows(events: Iterable[Mapping[str, Any]]) -> pa.RecordBatch:
    """Return a batch with the columns of `EVENTS`; in `events` a partition is a pair of topic and id."""
    found = []
    for event in events:
        unknown = event.keys() - set(EVENTS.fieldNames())
        if unknown:
            raise IllegalArgumentError(f"the schema of events has no column {min(unknown)}")
        pairs = {
            name: [{"topic": topic, "partition": id} for topic, id in event[name]]
            for name in _PAIRS
            if event.get(name) is not None
        }
        found.append({**event, **pairs})
    return pa.RecordBatch.from_pylist(found, schema=to_arrow_schema(EVENTS))
