"""Runs of `assignor.spark.events` in batches and as streams, and the checksum of their events."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assignor import _core
from assignor.cluster.metadata import topics_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from assignor.replay.silences import Silence

DELAY = 10_000
"""How far timestamps in a partition of the log can go back by default, in milliseconds."""


def checksum(events: DataFrame | pa.Table) -> tuple[dict[str, int], str]:
    """Return the number of events of each kind, and a hash of all their columns that does not depend on their order.

    Tables of the replay and of Spark have the same hash if the events are equal.
    """
    rows = as_engine(events if isinstance(events, pa.Table) else events.toArrow()).to_pylist()
    texts = sorted(json.dumps(row, sort_keys=True) for row in rows)
    return dict(Counter(row["event"] for row in rows)), hashlib.sha256("\n".join(texts).encode()).hexdigest()


def as_engine(events: pa.Table) -> pa.Table:
    """Return events of Spark with the columns of the replay, after a check of their timestamps."""
    from assignor.spark.schemas import EVENT_NAMES, EVENT_TIMES

    for name in EVENT_TIMES:
        if f"{name}_time" in events.column_names:
            in_ms = events[f"{name}_time"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64())
            assert in_ms.equals(events[name]), name
            events = events.drop_columns([f"{name}_time"])
    names = {found: name for name, found in EVENT_NAMES.items()}
    return events.rename_columns([names.get(name, name) for name in events.column_names])


def replayed(
    records: pa.Table, topics: pa.Table | None = None, *, finish: bool, silences: Sequence[Silence] = ()
) -> tuple[dict[str, int], str]:
    """Return the checksum of the events that the replay itself finds, one partition of the log after the other."""
    found: list[Any] = []
    for log in logs(records):
        replay = _core.Replay(topics_table(topics))
        replay.observe_silences(silences)
        for batch in log.drop_columns(["partition"]).combine_chunks().to_batches():
            found += replay.push(batch)
        found += replay.advance(pc.max(log["timestamp"]).as_py() - DELAY)
        if finish:
            found += replay.finish()
    return checksum(pa.Table.from_batches(map(pa.record_batch, found)))


def uneven_parts(records: pa.Table) -> list[pa.Table]:
    """Split records into three parts. Each part has another share of each partition of the log, in the log's order."""
    parts: list[list[pa.Table]] = [[], [], []]
    for place, rows in enumerate(logs(records)):
        first, second = sorted((rows.num_rows * (3 * place % 7) // 7, rows.num_rows * (5 * place % 7) // 7))
        for part, (start, end) in zip(parts, [(0, first), (first, second), (second, rows.num_rows)], strict=True):
            part.append(rows.slice(start, end - start))
    return [pa.concat_tables(part) for part in parts]


def logs(records: pa.Table) -> Iterator[pa.Table]:
    """Yield the records of each partition of each cluster's log, in their order."""
    clusters, partitions = (records[name].to_pylist() for name in ("cluster", "partition"))
    for cluster, partition in sorted(set(zip(clusters, partitions, strict=True))):
        is_of_log = pc.and_(pc.equal(records["cluster"], cluster), pc.equal(records["partition"], partition))
        yield records.filter(is_of_log).sort_by("offset")


def stream(
    spark: SparkSession, folder: Path, parts: Sequence[pa.Table], stops: Sequence[int], **options: Any
) -> tuple[DataFrame, list[int]]:
    """Run a stream over parts, a micro-batch for each, and restart it from its checkpoint after some of them.

    Args:
        spark: The session.
        folder: New folder for the input, the checkpoint and the output.
        parts: Records of each micro-batch.
        stops: Numbers of parts after which the query ends; the last one is the number of all parts.
        **options: Arguments of `events`.

    Returns:
        The events, and the number of records of each micro-batch.
    """
    from assignor.spark import events
    from assignor.spark.schemas import CLUSTER_RECORDS

    source = folder / "in"
    source.mkdir(parents=True)
    counts, done = [], 0
    for stop in stops:
        for number in range(done, stop):
            path = source / f"{number:03}.parquet"
            pq.write_table(parts[number], path)
            os.utime(path, (1_000 + number, 1_000 + number))  # the file source reads the oldest file first
        done = stop
        records = spark.readStream.schema(CLUSTER_RECORDS).option("maxFilesPerTrigger", 1).parquet(str(source))
        writer = events(records, **options).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
        query = writer.start(str(folder / "out"))
        query.awaitTermination()
        counts += [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]
    return spark.read.parquet(str(folder / "out")), counts
