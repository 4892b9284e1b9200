"""Tests of the scheduling of tests on several workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

ENDING = """
import os

def test_before(): pass
def test_that_ends_its_process(): os._exit(1)
def test_after(): pass
"""


def test_a_test_that_ends_its_process_is_not_repeated_and_the_remaining_tests_run(tmp_path: Path) -> None:
    (tmp_path / "test_0.py").write_text(ENDING)
    for number in range(1, 4):
        (tmp_path / f"test_{number}.py").write_text("def test_alone(): pass")
    options = ["-p", "conftest", "-p", "no:cacheprovider", "-o", "timeout=60", "-rA", "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--numprocesses", "2", "--no-loadscope-reorder", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )

    results = [line.split(" - ")[0] for line in done.stdout.splitlines() if line.startswith(("PASSED", "FAILED"))]
    passed = ["0.py::test_before", "0.py::test_after", *(f"{number}.py::test_alone" for number in range(1, 4))]
    expected = ["FAILED test_0.py::test_that_ends_its_process", *(f"PASSED test_{name}" for name in passed)]
    assert sorted(expected) == sorted(results), done.stdout
