"""Killed Python workers and executors of a standalone cluster: assignments and events are the same.

Set ASSIGNOR_PROFILE=long for a log of a million records.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.spark.java_options import worker_options

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux: finds processes in /proc"),
]

ROOT = Path(__file__).parents[2]
IS_LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
FLEET_GROUPS = 2_000 if IS_LONG else 600


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what the program prints."""
    log, seconds = ((2_500, 100), 3_000) if IS_LONG else ((20, 40), 550)
    options = worker_options()
    options["PYTHONPATH"] += os.pathsep + str(ROOT)
    program = Path(__file__).with_name("killed_program.py")
    done = subprocess.run(
        [sys.executable, program, tmp_path_factory.mktemp("killed"), *map(str, (FLEET_GROUPS, *log))],
        cwd=ROOT,
        env={**os.environ, **options},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_killed_workers_do_not_change_the_assignment(answers: dict[str, Any]) -> None:
    found = answers["fleet"]

    assert (2, True) == (found["killed"], found["equal"])
    assert found["groups"] > FLEET_GROUPS // 2


@pytest.mark.parametrize("kind", ["batch", "stream"])
def test_a_killed_worker_and_a_killed_executor_change_no_event(answers: dict[str, Any], kind: str) -> None:
    found = answers[kind]

    assert answers["records"] > (1_000_000 if IS_LONG else 3_000)
    assert (2, True) == (found["killed"], found["equal"])
    assert found["events"] > 100
