"""Killed Python workers: Spark repeats their tasks, and the assignment is the same."""

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

from tests.spark import fleet_rows
from tests.spark import test_fleet
from assignor.spark import session as session_module

# By default local Spark does not repeat failed tasks.
settings = session_module._settings
session_module._settings = lambda *given: {**settings(*given), "spark.master": "local[2,8]"}


def workers(jvm):
    tree = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = status.read_text().partition(" (")
        except OSError:
            continue
        tree.setdefault(int(rest.rpartition(")")[2].split()[1]), []).append(int(pid))
    return [worker for daemon in tree.get(jvm, []) for worker in tree.get(daemon, [])]


def kill(jvm, over, killed):
    while not over.is_set() and len(killed) < 2:
        for worker in workers(jvm):
            if worker not in killed and len(killed) < 2:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)
        time.sleep(0.02)


topics, members = fleet_rows.draw(2000, seed=10)
with session_module.session(cores=2, memory="1g") as spark:
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "20")
    over, killed = threading.Event(), []
    jvm = spark.sparkContext._gateway.proc.pid
    thread = threading.Thread(target=kill, args=(jvm, over, killed), daemon=True)
    thread.start()
    spans = test_fleet.rows(test_fleet.fleet(spark, topics, members).assign())
    over.set()
    thread.join()
found, expected = fleet_rows.owned(spans), fleet_rows.assigned(topics, members)
print(json.dumps({"killed": len(killed), "groups": len(found), "equal": found == expected}))
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux: finds workers in /proc")
def test_a_killed_worker_does_not_change_the_result() -> None:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        env={**os.environ, **java_options(), "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )

    assert 0 == done.returncode, done.stderr
    found = json.loads(done.stdout)
    assert (2, True) == (found["killed"], found["equal"])
    assert found["groups"] > 1000
