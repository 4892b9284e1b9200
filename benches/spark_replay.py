"""Section of `make bench-spark` about events on Spark: records per second of a batch and of a stream."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from assignor.spark import events
from assignor.spark.schemas import RECORDS
from benches.implementations import WrongAnswerError
from benches.spark_session import peak
from benches.tables import Raw, Report, ReportSection, Table
from benches.targets import TargetResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

BATCH, STREAM = 300_000, 90_000
"""Smallest numbers of records per second on two cores."""

ENGINE: Any = "rust"


def replay_section(
    spark: SparkSession, folder: Path, groups: int, steps: int, rounds: int, report: Report, raw: Raw
) -> ReportSection:
    """Return the section about events of a synthetic log, in a batch and as a stream."""
    from tests.support.synthetic_log import SyntheticLog

    report(f"writing the log of {groups:,} groups")
    log = SyntheticLog(groups, steps, log_partitions=8).records()
    source = folder / f"log-{groups}-{steps}"
    source.mkdir()
    size = -(-log.num_rows // 8)
    for number in range(8):
        path = source / f"{number}.parquet"
        pq.write_table(log.slice(number * size, size), path)
        os.utime(path, (1_000 + number, 1_000 + number))

    report("replaying in a batch")
    records = spark.read.schema(RECORDS).parquet(str(source))
    seconds, counts = [], {}
    for _ in range(rounds + 1):  # the first round starts the workers
        start = time.perf_counter()
        counts = _counts(events(records, engine=ENGINE, finish=False))
        seconds.append(time.perf_counter() - start)
    batch = log.num_rows / statistics.median(seconds[1:])

    report("replaying as a stream")
    streaming = spark.readStream.schema(RECORDS).option("maxFilesPerTrigger", 1).parquet(str(source))
    writer = events(streaming, engine=ENGINE).writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(source) + "-checkpoint").trigger(availableNow=True)
    query = writer.start(str(source) + "-events")
    query.awaitTermination()
    if _counts(spark.read.parquet(str(source) + "-events")) != counts:
        raise WrongAnswerError("a batch and a stream have different events")
    # The first micro-batch starts the workers and the state store.
    steady = [found for found in query.recentProgress if found.numInputRows][1:]
    stream = sum(found.numInputRows for found in steady) / sum(found.batchDuration for found in steady) * 1_000

    memory = peak()
    name = f"{groups:,} groups, {log.num_rows:,} records"
    raw[name] = {"batch": batch, "stream": stream, "seconds": seconds, "memory": memory._asdict()}
    rows = [["batch", f"{batch:,.0f}"], ["stream, without its first micro-batch", f"{stream:,.0f}"]]
    target_results = [
        TargetResult(f"a batch, compared with {BATCH:,} records per second", batch / BATCH, 1),
        TargetResult(f"a stream, compared with {STREAM:,} records per second", stream / STREAM, 1),
    ]
    note = (
        f"`events` over {name}, without the start of the workers, from Parquet files. The largest Python worker "
        f"had {memory.worker / 1e6:,.0f} MB."
    )
    return ReportSection("Events", note, Table(["", "records per second"], rows), target_results)


def _counts(found: DataFrame) -> dict[tuple[Any, ...], int]:
    """Return the number of events by kind and a hash of the columns that identify them."""
    rows = found.groupBy("event").agg(F.count("*"), F.sum(F.xxhash64("group", "at", "offset", "evidence") % 1_000_003))
    table: pa.Table = rows.toArrow()
    return {tuple(row.values()): 1 for row in table.to_pylist()}
