"""Section of `make bench-spark` about events on Spark: records per second of a batch and of a stream."""

from __future__ import annotations

import os
import statistics
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from assignor import _core
from assignor.cluster.metadata import topics_table
from assignor.spark import events
from assignor.spark.event_machine import MachineSettings
from assignor.spark.event_stream import KEY
from assignor.spark.events_schema import EVENTS
from assignor.spark.replay_events import batch_events
from assignor.spark.schemas import RECORDS
from benches.implementations import WrongAnswerError
from benches.spark_session import CORES, peak
from benches.tables import Raw, Report, ReportSection, Table
from benches.targets import TargetResult

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

BATCH, STREAM = 300_000, 90_000
"""Targets: the smallest allowed numbers of records per second on two cores."""

LOG_PARTITIONS = 50
"""Kafka's default number of partitions of `__consumer_offsets`."""

MICRO_BATCHES = 12
"""Micro-batches of the stream. The first half is not timed: it starts the workers, and Java compiles its code."""

_SHUFFLE = "spark.sql.shuffle.partitions"

Answer = dict[tuple[Any, ...], int]


def replay_section(
    spark: SparkSession, folder: Path, groups: int, steps: int, rounds: int, report: Report, raw: Raw
) -> ReportSection:
    """Return the section about events of a synthetic log, in a batch and as a stream."""
    from tests.support.synthetic_log import SyntheticLog

    report(f"writing the log of {groups:,} groups")
    log = SyntheticLog(groups, steps, log_partitions=LOG_PARTITIONS).records()
    source = folder / f"log-{groups}-{steps}"
    write_files(log, source)
    expected = right_answer(spark, log)

    report("replaying in a batch")
    records = spark.read.schema(RECORDS).parquet(str(source))
    found = events(records, finish=False)
    check("a batch", answer(found), expected)
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        found.write.format("noop").mode("overwrite").save()
        seconds.append(time.perf_counter() - start)
    batch = [log.num_rows / each for each in seconds]

    report("replaying as a stream")
    progress = run_stream(spark, source)
    check("a stream", answer(spark.read.parquet(f"{source}-events")), expected)
    steady = [each for each in progress if each[0]][MICRO_BATCHES // 2 :]
    stream = [count / duration * 1_000 for count, duration in steady]

    memory = peak()
    name = f"{groups:,} groups, {log.num_rows:,} records"
    raw[name] = {"batch": batch, "stream": stream, "memory": memory._asdict()}
    rows = [
        [what, f"{statistics.median(rates):,.0f}", f"{min(rates):,.0f}"]
        for what, rates in (("batch", batch), ("stream, second half of its micro-batches", stream))
    ]
    target_results = [
        TargetResult(f"a {what}, compared with {goal:,} records per second", statistics.median(rates) / goal, 1)
        for what, rates, goal in (("batch", batch, BATCH), ("stream", stream, STREAM))
    ]
    note = (
        f"`events` over {name}, from Parquet files, without the start of the workers. A micro-batch of the stream has "
        f"{log.num_rows // MICRO_BATCHES:,} records. The largest Python worker had {memory.worker / 1e6:,.0f} MB."
    )
    head = ["", "records per second, median", "lowest"]
    return ReportSection("Events", note, Table(head, rows), target_results)


def write_files(log: pa.Table, source: Path) -> None:
    """Write a log as files. Each micro-batch reads one file for each core, in the order of the log."""
    source.mkdir()
    count = MICRO_BATCHES * CORES
    size = -(-log.num_rows // count)
    for number in range(count):
        path = source / f"{number:03}.parquet"
        pq.write_table(log.slice(number * size, size), path)
        os.utime(path, (1_000 + number, 1_000 + number))  # the file source reads the oldest file first


def run_stream(spark: SparkSession, source: Path) -> list[tuple[int, int]]:
    """Write the events of a stream that reads the files; return records and milliseconds of each micro-batch."""
    before = spark.conf.get(_SHUFFLE)
    spark.conf.set(_SHUFFLE, str(CORES))  # each partition of the state has a fixed cost in each micro-batch
    try:
        records = spark.readStream.schema(RECORDS).option("maxFilesPerTrigger", CORES).parquet(str(source))
        writer = events(records).writeStream.format("parquet").option("checkpointLocation", f"{source}-checkpoint")
        query = writer.trigger(availableNow=True).start(f"{source}-events")
        query.awaitTermination()
    finally:
        spark.conf.set(_SHUFFLE, before or "")
    return [(each.numInputRows, each.batchDuration) for each in query.recentProgress]


def right_answer(spark: SparkSession, log: pa.Table) -> Answer:
    """Return the counts and hash of the events that the replay finds in this process, without Spark's workers."""
    keyed = log.add_column(0, "cluster", pa.array([""] * log.num_rows))
    keyed = keyed.append_column("bucket", pa.array([0] * log.num_rows, pa.int32()))
    keyed = keyed.sort_by([(name, "ascending") for name in (*KEY, "offset")])
    settings = MachineSettings(lambda: _core.Replay(topics_table(None)), finish=False)
    found = pa.Table.from_batches(batch_events(keyed.to_batches(), settings))
    return answer(spark.createDataFrame(found.combine_chunks()))  # Spark stops reading at a batch without rows


def answer(found: DataFrame) -> Answer:
    """Return the number of events of each kind, and a hash of all their columns."""
    hashed = F.sum(F.xxhash64(*EVENTS.fieldNames()) % 1_000_003)
    table: pa.Table = found.groupBy("event").agg(F.count("*"), hashed).toArrow()
    return {tuple(row.values()): 1 for row in table.to_pylist()}


def check(what: str, found: Answer, expected: Answer) -> None:
    """Raise an error if the events of a job differ from those that the replay finds in this process."""
    if found != expected:
        raise WrongAnswerError(f"{what} on Spark has other events than a replay without Spark: {found} and {expected}")
