"""Events of a stream of records: one state per bucket of a log partition, in Spark's `transformWithState`.

Records and events pass through the stateful operator as Arrow IPC bytes, many in one row, because Spark passes rows to
it one by one.
"""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from assignor.dependencies import dependency
from assignor.spark.event_machine import EventMachine
from assignor.spark.executors import on_executors, sent
from assignor.spark.live_machines import LIVE
from assignor.spark.packing import collect, differs, starts_of
from assignor.spark.schemas import CLUSTER_RECORDS, ENGINE_EVENTS
from assignor.spark.slices import record_slices

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    from pyspark.sql import Row
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.streaming.stateful_processor import StatefulProcessor
    from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from assignor.cluster.metadata import TopicsByCluster
    from assignor.spark.event_machine import MachineSettings

KEY = ("cluster", "partition", "bucket")
"""Columns that identify a machine: the log's partition, and the bucket of the group in it."""

KEYED_RECORDS = StructType([*CLUSTER_RECORDS.fields, StructField("bucket", IntegerType())])
RECORD_COLUMNS = ("cluster", "partition", "offset", "timestamp", "key", "value")

_PACKED = StructType([*(KEYED_RECORDS[name] for name in KEY), StructField("packed", BinaryType())])
_STATE = StructType([StructField("machine", BinaryType())])
_VERSION = StructType([StructField("version", BinaryType())])
_EVENTS_OUT = StructType([StructField("packed", BinaryType())])

_TABLE_BYTES = 8 << 20
"""Lowest size in bytes of a table of records that is sorted and packed. Smaller tables would give packed rows with few
records, whose overhead exceeds the cost of the records."""

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")
"""Options that compress packed rows, because Spark copies them several times."""

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"


def stream_events(records: DataFrame, settings: MachineSettings, idle_ms: int | None) -> DataFrame:
    """Return the events of a streaming DataFrame with the columns of `KEYED_RECORDS`, as the engine returns them."""
    spark = records.sparkSession
    if (spark.conf.get(PROVIDER, "") or "").rpartition(".")[2] != ROCKSDB.rpartition(".")[2]:
        spark.conf.set(PROVIDER, ROCKSDB)
    if spark.conf.get(CHANGELOG, None) is None:
        spark.conf.set(CHANGELOG, "true")  # shortens the commit of a micro-batch
    packed = records.mapInArrow(on_executors(records.sparkSession, pack), _PACKED)
    mode = "None"
    if idle_ms is not None:
        # With processing-time timers, a query with the trigger availableNow would run forever. The time at which a
        # micro-batch is read is never late, so the watermark drops no rows.
        packed = packed.withColumn("read_at", F.current_timestamp()).withWatermark("read_at", f"{idle_ms} milliseconds")
        mode = "EventTime"
    found = packed.groupBy(*KEY).transformWithState(EventProcessor(settings, idle_ms), _EVENTS_OUT, "Append", mode)
    return found.mapInArrow(on_executors(found.sparkSession, unpack), ENGINE_EVENTS)


def runs(batch: pa.RecordBatch) -> Iterator[tuple[tuple[Any, ...], pa.RecordBatch]]:
    """Yield the key and the records of each run of rows with equal keys."""
    if not batch.num_rows:
        return
    # The replay reads names with 32-bit offsets only; Spark's setting useLargeVarTypes gives all columns larger ones.
    place = batch.schema.get_field_index("cluster")
    batch = batch.set_column(place, "cluster", batch["cluster"].cast(pa.string()))
    starts = starts_of(np.logical_or.reduce([differs(batch[name]) for name in KEY])).tolist()
    for start, end in zip(starts, [*starts[1:], batch.num_rows], strict=True):
        key = tuple(batch[name][start].as_py() for name in KEY)
        yield key, batch.slice(start, end - start).select(RECORD_COLUMNS)


def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pack the records of a key into rows of at most about 1 MiB, before compression."""
    order = [(name, "ascending") for name in (*KEY, "offset")]
    for collected in collect(batches, _TABLE_BYTES):
        ordered = pa.Table.from_batches(collected).sort_by(order).combine_chunks().to_batches()
        for key, records in (run for part in ordered for run in runs(part)):
            for part in record_slices(records):
                row = dict(zip(KEY, key, strict=True)) | {"packed": _write(part)}
                yield pa.RecordBatch.from_pylist([row], schema=to_arrow_schema(_PACKED))


def unpack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return packed events as rows."""
    for batch in batches:
        for packed in batch["packed"]:
            yield from _read(packed.as_py())


def _write(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_COMPRESSED) as writer:
        writer.write_batch(batch)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _read(data: bytes) -> list[pa.RecordBatch]:
    with pa.ipc.open_stream(data) as reader:
        return list(reader)


class EventProcessor(StatefulProcessor):
    """Machine of one key, saved after each micro-batch, and restored before the next unless the worker kept it.

    The clock of a partition of the log stops while it gets no records. A timer, which is set for the earliest deadline,
    then fires the deadlines up to the watermark. The watermark is the time at which the last micro-batch was read,
    minus `idle_ms`.
    """

    def __init__(self, settings: MachineSettings, idle_ms: int | None, query: bytes | None = None) -> None:
        self._settings = settings
        self._idle_ms = idle_ms
        # A query with other topic metadata must not use the machines of this one.
        self._query = query or os.urandom(16)

    def __reduce__(self) -> tuple[Any, ...]:
        return sent(functools.partial(EventProcessor, self._settings, self._idle_ms, self._query))

    def init(self, handle: Any) -> None:
        """Get the state."""
        self._handle = handle
        self._state = handle.getValueState("machine", _STATE)
        self._version = handle.getValueState("version", _VERSION)
        self._topics: TopicsByCluster | None = None

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        """Apply the records of a micro-batch, sorted by offset because rows arrive in any order."""
        machine = self._machine(key)
        parts, read_at = [], 0
        for row in rows:
            parts += _read(bytes(row["packed"]))
            if self._idle_ms is not None:
                read_at = max(read_at, int(row["read_at"].timestamp() * 1000))
        table = pa.Table.from_batches(parts).sort_by([("offset", "ascending")])
        yield from self._rows(self._observed(machine))
        for batch in table.to_batches():
            yield from self._rows(machine.push(batch))
        yield from self._rows(machine.catch_up())
        self._save(key, machine, read_at)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        """Fire the deadlines of a partition that gets no records."""
        machine = self._machine(key)
        watermark = timerValues.getCurrentWatermarkInMs()
        yield from self._rows(self._observed(machine))
        yield from self._rows(machine.replay.advance(watermark))
        self._save(key, machine, watermark + 1)

    def close(self) -> None:
        """Do nothing: there are no resources."""

    def _machine(self, key: Any) -> EventMachine:
        """Return the machine with the state of a key: a kept one if possible."""
        version = self._version.get()
        if version is not None and (kept := LIVE.take((self._query, key), bytes(version[0]))) is not None:
            return kept
        machine = EventMachine(self._settings, key[KEY.index("cluster")])
        if (saved := self._state.get()) is not None:
            machine.restore(saved[0])
        return machine

    def _observed(self, machine: EventMachine) -> Iterator[Any]:
        """Yield the events that waited for topic metadata, which a task reads once if it can change."""
        if self._settings.read_topics is not None:
            self._topics = self._topics or self._settings.read_topics()
            yield from machine.observe_topics(self._topics)

    def _save(self, key: Any, machine: EventMachine, earliest: int) -> None:
        """Save the state, and set the timer for the earliest deadline, but not before `earliest`."""
        snapshot, version = machine.snapshot(), os.urandom(16)
        self._state.update((snapshot,))
        self._version.update((version,))
        LIVE.keep((self._query, key), version, machine, len(snapshot))
        if self._idle_ms is None:
            return
        for timer in list(self._handle.listTimers()):
            self._handle.deleteTimer(timer)
        if (deadline := machine.replay.next_deadline()) is not None:
            self._handle.registerTimer(max(deadline, earliest))

    def _rows(self, batches: Iterable[Any]) -> Iterator[Row]:
        for events in batches:
            batch = pa.record_batch(events)
            if batch.num_rows:
                yield Row(packed=_write(batch))
