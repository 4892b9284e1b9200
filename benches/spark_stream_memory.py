"""Program that follows many groups in a stream, to measure the memory of Spark over time.

`python -m benches.spark_stream_memory GROUPS SECONDS` adds a file of records, in which each group commits an offset, to
a folder every ten seconds, and follows the folder with `assignor.spark.events`. It prints a JSON object every ten
seconds: the seconds since the start, the records that have been read, and the memory in MB.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from assignor.spark import events
from assignor.spark.schemas import RECORDS
from benches.spark_replay import LOG_PARTITIONS
from benches.spark_session import CORES, resident, session

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

PAUSE = 10
"""Seconds between two files, and between two measurements."""


def main(arguments: Sequence[str]) -> None:
    """Follow the groups and print the measurements."""
    groups, seconds = map(int, arguments)
    with tempfile.TemporaryDirectory(prefix="stream-memory-") as name, session("2g") as spark:
        folder = Path(name)
        waiting = write_files(folder, groups, seconds // PAUSE)
        spark.conf.set("spark.sql.shuffle.partitions", str(2 * CORES))
        (folder / "in").mkdir()
        records = spark.readStream.schema(RECORDS).parquet(str(folder / "in"))
        writer = events(records).writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
        query = writer.start(str(folder / "out"))
        for line in follow(query, waiting, folder / "in"):
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()
        query.stop()


def write_files(folder: Path, groups: int, count: int) -> list[Path]:
    """Write the records of each interval of a log to a file, and return the files."""
    from tests.support.synthetic_log import SyntheticLog

    log = SyntheticLog(groups, count, partitions=1, log_partitions=LOG_PARTITIONS).records()
    size = -(-log.num_rows // count)
    paths = [folder / f"{number:04}.parquet" for number in range(count)]
    for number, path in enumerate(paths):
        pq.write_table(log.slice(number * size, size), path)
    return paths


def follow(query: StreamingQuery, waiting: Sequence[Path], source: Path) -> Iterator[dict[str, float]]:
    """Give the query one file after the other, and yield the measurements.

    Raises:
        RuntimeError: The query failed.
    """
    start, read, last = time.monotonic(), 0, -1
    for path in waiting:
        path.rename(source / path.name)
        time.sleep(PAUSE)
        if (error := query.exception()) is not None:
            raise RuntimeError(f"the stream failed: {error}")  # the error itself has no text after Java has ended
        for progress in query.recentProgress:
            if progress.batchId > last:
                read, last = read + progress.numInputRows, progress.batchId
        memory = {f"{name}_mb": round(bytes_ / 1e6) for name, bytes_ in resident()._asdict().items()}
        yield {"seconds": round(time.monotonic() - start), "records": read, **memory}


if __name__ == "__main__":
    main(sys.argv[1:])
