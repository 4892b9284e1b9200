"""Program that kills workers of a standalone cluster of Spark, and compares the results with those of this process.

python killed_program.py FOLDER FLEET_GROUPS LOG_GROUPS LOG_STEPS: print the comparisons as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assignor.spark import events, synthetic_fleet
from assignor.spark import session as session_module
from tests.spark import fleet_rows
from tests.spark.event_runs import checksum, replayed, stream
from tests.spark.java_options import archive_options
from tests.support.synthetic_log import SyntheticLog

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession

_BATCH_SIZE = "spark.sql.execution.arrow.maxRecordsPerBatch"


def cluster_settings(folder: Path) -> dict[str, str]:
    """Return the settings of two workers of a standalone cluster, each with an executor of one core."""
    java = [*archive_options(), f"-Djava.io.tmpdir={folder}", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    return {
        "spark.master": "local-cluster[2,1,600]",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": " ".join(java),
        "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
        "spark.task.maxFailures": "8",
        "spark.sql.shuffle.partitions": "2",
        "spark.worker.cleanup.enabled": "true",
    }


def children() -> dict[int, list[tuple[int, str]]]:
    """Return the id and the name of the children of each process."""
    tree: dict[int, list[tuple[int, str]]] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = status.read_text().partition(" (")
        except OSError:
            continue
        name, _, fields = rest.rpartition(") ")
        tree.setdefault(int(fields.split()[1]), []).append((int(pid), name))
    return tree


def python_workers(jvm: int) -> Iterator[tuple[int, int]]:
    """Yield the executor and the id of each Python worker."""
    tree = children()
    for executor, name in tree.get(jvm, []):
        if name == "java":
            for daemon, _ in tree.get(executor, []):
                for worker, _ in tree.get(daemon, []):
                    yield executor, worker


def kill(jvm: int, over: threading.Event, seen: list[int], *, is_executor_killed: bool) -> None:
    """Kill the first Python worker, and then the second one or its executor."""
    while not over.is_set() and len(seen) < 2:
        for executor, worker in python_workers(jvm):
            if worker not in seen and len(seen) < 2:
                seen.append(worker)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(executor if is_executor_killed and len(seen) == 2 else worker, signal.SIGKILL)
        time.sleep(0.05)


def under_fire(spark: SparkSession, run: Callable[[], Any], *, is_executor_killed: bool) -> tuple[int, Any]:
    """Return the number of kills while `run` ran, and its result."""
    over, seen = threading.Event(), list[int]()
    jvm = spark.sparkContext._gateway.proc.pid  # type: ignore[union-attr]  # a session of this process has a gateway
    options = {"is_executor_killed": is_executor_killed}
    thread = threading.Thread(target=kill, args=(jvm, over, seen), kwargs=options, daemon=True)
    thread.start()
    found = run()
    over.set()
    thread.join()
    return len(seen), found


def fleet_answer(spark: SparkSession, groups: int) -> dict[str, Any]:
    """Compare the assignment of a synthetic fleet whose Python workers are killed."""
    topics, members, _ = (frame.toArrow().to_pylist() for frame in synthetic_fleet(spark, groups, racks=3, seed=10))
    spark.conf.set(_BATCH_SIZE, "20")
    given = fleet_rows.fleet(spark, topics, members)
    killed, spans = under_fire(spark, lambda: fleet_rows.rows(given.assign()), is_executor_killed=False)
    spark.conf.unset(_BATCH_SIZE)
    found = fleet_rows.owned(spans)
    return {"killed": killed, "groups": len(found), "equal": found == fleet_rows.assigned(topics, members)}


def log_of(groups: int, steps: int) -> pa.Table:
    """Return a synthetic log of one cluster."""
    log = SyntheticLog(groups, steps).records()
    return log.add_column(0, "cluster", pa.array(["c"] * log.num_rows))


def events_answer(spark: SparkSession, log: pa.Table, run: Callable[[], DataFrame], *, finish: bool) -> dict[str, Any]:
    """Compare the events of a run during which a Python worker and an executor are killed."""
    killed, found = under_fire(spark, lambda: checksum(run()), is_executor_killed=True)
    return {"killed": killed, "events": sum(found[0].values()), "equal": found == replayed(log, finish=finish)}


def main(folder: Path, fleet_groups: int, groups: int, steps: int) -> None:
    """Print the comparisons."""
    settings = session_module._settings
    session_module._settings = lambda *given: {**settings(*given), **cluster_settings(folder)}
    log = log_of(groups, steps)
    parts = [log.slice(0, log.num_rows // 2), log.slice(log.num_rows // 2)]
    with session_module.session(cores=2, memory="1g") as spark:
        frame = spark.createDataFrame(log)
        answers = {
            "records": log.num_rows,
            "fleet": fleet_answer(spark, fleet_groups),
            "batch": events_answer(spark, log, lambda: events(frame), finish=True),
            "stream": events_answer(
                spark, log, lambda: stream(spark, folder / "stream", parts, [2], idle_ms=None)[0], finish=False
            ),
        }
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
