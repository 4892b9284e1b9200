"""Program for executors without this package: it sees the errors, sends the package, and writes what it sees as JSON.

python cluster_program.py MASTER ARCHIVE FOLDER ANSWERS: MASTER is one of a classic session, or `connect`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from assignor.spark import check_executors, events
from tests.spark.connect_program import in_order, small
from tests.spark.event_runs import checksum, replayed, stream
from tests.spark.java_options import archive_options
from tests.spark.killed_program import log_of

if TYPE_CHECKING:
    from collections.abc import Callable

LOCAL_CLUSTER = "local-cluster[2,1,1024]"
"""Master of a cluster that the driver starts, with two workers."""

ONE_WORKER = "local-cluster[1,2,1024]"

GROUPS = [("c", group, member, ["t"]) for group in ("g", "h") for member in ("a", "b")]
"""Rows of members."""

_SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": " ".join([*archive_options(), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]),
    "spark.executorEnv.PYTHONPATH": "",  # else executors that the driver starts have the path of the driver
    "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def start(builder: SparkSession.Builder, **settings: str) -> SparkSession:
    """Start a session."""
    for name, value in {**_SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def error_of(function: Callable[[], object]) -> list[str]:
    """Return the name of the class and the lines of the message of an error."""
    try:
        function()
    except Exception as error:
        return [type(error).__name__, *str(error).splitlines()]
    return []


def assign(spark: SparkSession) -> list[dict[str, Any]]:
    """Return the assignments of a small fleet."""
    return in_order(small(spark, GROUPS).assign().toArrow().to_pylist())


def classic(master: str, archive: str) -> dict[str, Any]:
    """Use a classic session: its executors get the archive while it runs, or at the start of the next one."""
    spark = start(SparkSession.builder.master(master))
    found = {
        "query": error_of(lambda: small(spark, GROUPS).assign()),
        "check": error_of(lambda: check_executors(spark)),
    }
    if master == LOCAL_CLUSTER:
        spark.sparkContext.addArchive(archive)
    else:
        spark.stop()
        spark = start(SparkSession.builder.master(master), **{"spark.archives": archive})
    check_executors(spark)
    answers = {**found, "assign": assign(spark)}
    spark.stop()
    return answers


def connect(archive: str, folder: Path) -> dict[str, Any]:
    """Use a Connect session: streams get the archive of the server, and batches the one that the client adds."""
    spark = start(SparkSession.builder.remote(ONE_WORKER), **{"spark.archives": archive})
    log = log_of(5, 20)
    streamed = checksum(stream(spark, folder / "stream", [log], [1], idle_ms=None)[0])
    found = {"query": error_of(lambda: assign(spark)), "check": error_of(lambda: check_executors(spark))}
    spark.addArtifacts(archive, archive=True)
    check_executors(spark)
    batch = checksum(events(spark.createDataFrame(log)))
    answers = {
        **found,
        "assign": assign(spark),
        "events": {"batch": [replayed(log, finish=True), batch], "stream": [replayed(log, finish=False), streamed]},
    }
    spark.stop()
    return answers


def main(master: str, archive: str, folder: str, answers: str) -> None:
    """Write the answers."""
    placed = f"{archive}#assignor"
    found = connect(placed, Path(folder)) if master == "connect" else classic(master, placed)
    Path(answers).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
