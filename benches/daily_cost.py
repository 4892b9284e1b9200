"""Cost of the daily job: seconds for each million records, and for each 10,000 groups.

Run `python -m benches.daily_cost` on a machine that does nothing else. The job runs on three synthetic logs: a
first one, one with twice the records, and one with the same number of records of more groups, in turn. The differences
are the costs; they do not contain the start of Spark. The table `changes` has no rows, because a log has one day.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

from assignor.cluster import Recording
from benches.spark_events import LOG_PARTITIONS
from benches.spark_session import CORES, session
from tests.spark.daily_program import load_job
from tests.support.synthetic_log import START, SyntheticLog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

DAY = datetime.datetime.fromtimestamp(START / 1_000, datetime.UTC).date()
FILES = 4 * CORES


class Log(NamedTuple):
    """Recording of a synthetic log."""

    folder: Path
    groups: int
    records: int


@contextlib.contextmanager
def logs(groups: int, steps: int) -> Iterator[list[Log]]:
    """Yield three logs: one with these groups, one with twice the steps, and one with eleven times the groups."""
    with tempfile.TemporaryDirectory(prefix="bench-daily-") as folder:
        found = []
        for number, (count, length) in enumerate(((groups, steps), (groups, 2 * steps), (11 * groups, steps // 11))):
            records = SyntheticLog(count, length, log_partitions=LOG_PARTITIONS).records()
            place = Path(folder, str(number), "records.parquet")
            place.mkdir(parents=True)
            size = -(-records.num_rows // FILES)
            for part in range(FILES):
                pq.write_table(records.slice(part * size, size), place / f"{part}.parquet")
            found.append(Log(place.parent, count, records.num_rows))
        yield found


def seconds(spark: SparkSession, log: Log) -> float:
    """Return the seconds of the job on a log, whose answer is checked."""
    job = load_job()
    day = job.Day(DAY, "bench")
    with tempfile.TemporaryDirectory(prefix="bench-daily-") as tables:
        start = time.perf_counter()
        records = job.sources.recording_records(spark, log.folder, cluster=day.cluster)
        job.run(records, Recording.open(log.folder).topics(), day, job.Tables(tables), {})
        took = time.perf_counter() - start
        groups = spark.read.parquet(f"{tables}/groups").count()
        if groups < log.groups - 1:  # one is deleted
            raise SystemExit(f"the table groups has {groups} rows, and the log {log.groups} groups")
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the daily job.")
    parser.add_argument("--groups", type=int, default=1_000, help="groups of the first log")
    parser.add_argument("--steps", type=int, default=242, help="commits of each group and partition, a multiple of 11")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with logs(options.groups, options.steps) as (first, longer, wider), session() as spark:
        rounds = [{log: seconds(spark, log) for log in (first, longer, wider)} for _ in range(options.rounds + 1)]
    took = {log: [times[log] for times in rounds[1:]] for log in (first, longer, wider)}  # the first starts the workers
    for log, times in took.items():
        low, half = min(times), statistics.median(times)
        sys.stdout.write(f"{log.groups:,} groups, {log.records:,} records: min {low:.1f} s, median {half:.1f} s\n")
    middle = {log: statistics.median(times) for log, times in took.items()}
    of_records = (middle[longer] - middle[first]) / (longer.records - first.records) * 1_000_000
    of_groups = (middle[wider] - middle[first]) / (wider.groups - first.groups) * 10_000
    sys.stdout.write(f"{of_records:.1f} s for each million records, {of_groups:.1f} s for each 10,000 groups\n")


if __name__ == "__main__":
    main()
