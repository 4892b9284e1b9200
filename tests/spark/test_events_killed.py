"""A killed Python worker and a killed executor of a standalone cluster: the events of batches and streams are the same.

Set ASSIGNOR_PROFILE=long for a log of a million records.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.java_options import java_options

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]

PROGRAM = """
import json, os, signal, sys, threading, time
from pathlib import Path

import pyarrow as pa

from assignor.spark import events
from assignor.spark import session as session_module
from assignor.spark.event_machine import MachineSettings
from assignor.spark.event_stream import KEY
from assignor.spark.replay_events import batch_events, new_engine_replay
from assignor.recording.metadata import topics_table
from tests.spark.event_runs import ENGINE, checksum, stream
from tests.spark.java_options import archive_options
from tests.support.synthetic_log import SyntheticLog

folder, groups, steps = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

# Two workers of a standalone cluster, each with an executor of one core.
settings = session_module._settings
session_module._settings = lambda *given: {
    **settings(*given),
    "spark.master": "local-cluster[2,1,600]",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": " ".join(
        [*archive_options(), f"-Djava.io.tmpdir={folder} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"]
    ),
    "spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"],
    "spark.task.maxFailures": "8",
    "spark.sql.shuffle.partitions": "2",
    "spark.worker.cleanup.enabled": "true",
}


def children():
    tree = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = status.read_text().partition(" (")
        except OSError:
            continue
        name, _, fields = rest.rpartition(") ")
        tree.setdefault(int(fields.split()[1]), []).append((int(pid), name))
    return tree


def kill(jvm, over, killed):
    # The first Python worker, and then the executor of the second.
    while not over.is_set() and len(killed) < 2:
        tree = children()
        for executor, name in tree.get(jvm, []):
            for daemon, _ in tree.get(executor, []):
                for worker, _ in tree.get(daemon, []):
                    if name == "java" and worker not in killed and len(killed) < 2:
                        killed.append(worker)
                        victim = executor if len(killed) == 2 else worker
                        try:
                            os.kill(victim, signal.SIGKILL)
                        except ProcessLookupError:
                            pass
        time.sleep(0.05)


def under_fire(spark, run):
    over, killed = threading.Event(), []
    jvm = spark.sparkContext._gateway.proc.pid
    thread = threading.Thread(target=kill, args=(jvm, over, killed), daemon=True)
    thread.start()
    found = checksum(run())
    over.set()
    thread.join()
    return len(killed), found


log = SyntheticLog(groups, steps).records()
log = log.add_column(0, "cluster", pa.array(["c"] * log.num_rows))


def alone(finish):
    keyed = log.append_column("bucket", pa.array([0] * log.num_rows, pa.int32()))
    keyed = keyed.sort_by([(name, "ascending") for name in (*KEY, "offset")])
    settings = MachineSettings(lambda: new_engine_replay(topics_table(None), ENGINE, {}), finish=finish)
    return checksum(pa.Table.from_batches(batch_events(keyed.to_batches(), settings)))


with session_module.session(cores=2, memory="1g") as spark:
    frame = spark.createDataFrame(log)
    answers = {"records": log.num_rows}
    killed, found = under_fire(spark, lambda: events(frame, engine=ENGINE))
    answers["batch"] = {"killed": killed, "events": sum(found[0].values()), "equal": found == alone(True)}
    parts = [log.slice(0, log.num_rows // 2), log.slice(log.num_rows // 2)]
    killed, found = under_fire(spark, lambda: stream(spark, folder / "stream", parts, [2], idle_ms=None)[0])
    answers["stream"] = {"killed": killed, "events": sum(found[0].values()), "equal": found == alone(False)}
print(json.dumps(answers))
"""


def events_of_killed(folder: Path, groups: int, steps: int, seconds: int) -> dict[str, dict[str, int | bool]]:
    """Run the program with a log of a size for at most some seconds, and return its answers."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), str(groups), str(steps)],
        cwd=ROOT,
        env={**os.environ, **java_options(), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    answers: dict[str, dict[str, int | bool]] = json.loads(done.stdout)
    return answers


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux: finds processes in /proc")
def test_a_killed_worker_and_a_killed_executor_change_no_event(tmp_path: Path) -> None:
    is_long = os.environ.get("ASSIGNOR_PROFILE") == "long"

    answers = events_of_killed(tmp_path, *((2_500, 100, 3_000) if is_long else (20, 40, 550)))

    records = answers.pop("records")
    assert isinstance(records, int)
    assert records > (1_000_000 if is_long else 3_000)
    assert {"batch", "stream"} == answers.keys()
    for found in answers.values():
        assert (2, True) == (found["killed"], found["equal"])
        assert found["events"] > 100
