"""Rates of events on Spark, in a batch and as a stream of files, after the events are checked."""

from __future__ import annotations

import os
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
from assignor.spark.events_schema import EVENTS, with_times
from assignor.spark.replay_events import batch_events
from assignor.spark.schemas import RECORDS
from benches.checks import require
from benches.spark_session import CORES

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

LOG_PARTITIONS = 50
"""Kafka's default number of partitions of `__consumer_offsets`."""

MICRO_BATCHES = 12
"""Micro-batches of the stream. The first half is not timed: it starts the workers, and Java compiles its code."""

_SHUFFLE = "spark.sql.shuffle.partitions"

Answer = dict[tuple[Any, ...], int]


def log_in(folder: Path, groups: int, steps: int) -> tuple[pa.Table, Path]:
    """Write a synthetic log, with offset commits of each group in each step; return it with the folder of its files."""
    from tests.support.synthetic_log import SyntheticLog

    log = SyntheticLog(groups, steps, log_partitions=LOG_PARTITIONS).records()
    source = folder / f"log-{groups}-{steps}"
    source.mkdir()
    write_parts(log, source, MICRO_BATCHES * CORES)  # each micro-batch reads one file for each core
    return log, source


def batch_rates(spark: SparkSession, log: pa.Table, source: Path, rounds: int) -> list[float]:
    """Return the records per second of each round of a batch, after its events are checked."""
    found = events(spark.read.schema(RECORDS).parquet(str(source)), finish=False)
    check("a batch", answer(found), right_answer(spark, log))
    rates = []
    for _ in range(rounds):
        start = time.perf_counter()
        found.write.format("noop").mode("overwrite").save()
        rates.append(log.num_rows / (time.perf_counter() - start))
    return rates


def stream_rates(spark: SparkSession, log: pa.Table, source: Path) -> list[float]:
    """Return the records per second of the second half of the micro-batches of a stream; its events are checked."""
    progress = run_stream(spark, source)
    check("a stream", answer(spark.read.parquet(f"{source}-events")), right_answer(spark, log))
    steady = [each for each in progress if each[0]][MICRO_BATCHES // 2 :]
    return [count / duration * 1_000 for count, duration in steady]


def write_parts(log: pa.Table, folder: Path, count: int) -> list[Path]:
    """Write a log as a number of files, in the order of the log, and return the files."""
    size = -(-log.num_rows // count)
    paths = [folder / f"{number:04}.parquet" for number in range(count)]
    for number, path in enumerate(paths):
        pq.write_table(log.slice(number * size, size), path)
        os.utime(path, (1_000 + number, 1_000 + number))  # the file source reads the oldest file first
    return paths


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
    settings = MachineSettings(lambda _: _core.Replay(topics_table(None)), finish=False)
    found = pa.Table.from_batches(batch_events(keyed.to_batches(), settings))
    return answer(
        with_times(spark.createDataFrame(found.combine_chunks()))
    )  # Spark stops reading at a batch without rows


def answer(found: DataFrame) -> Answer:
    """Return the number of events of each kind, and a hash of all their columns."""
    hashed = F.sum(F.xxhash64(*EVENTS.fieldNames()) % 1_000_003)
    table: pa.Table = found.groupBy("event").agg(F.count("*"), hashed).toArrow()
    return {tuple(row.values()): 1 for row in table.to_pylist()}


def check(what: str, found: Answer, expected: Answer) -> None:
    """Raise an error if the events of a job differ from those that the replay finds in this process."""
    is_equal = found == expected
    require(is_equal, f"{what} on Spark has other events than a replay without Spark: {found} and {expected}")
