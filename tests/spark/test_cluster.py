"""Executors whose Python lacks this package: the error is one line, and an archive brings the package to them."""

from __future__ import annotations

import ast
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import cloudpickle

from assignor._core import Replay
from assignor.cli import _message
from assignor.cluster.metadata import topics_table
from assignor.spark import schemas
from assignor.spark.event_machine import MachineSettings
from assignor.spark.event_stream import EventProcessor, unpack
from assignor.spark.executors import _functions, _has_own_python, on_executors
from assignor.spark.kafka_offsets import KafkaOffsets, source_for
from assignor.spark.sql import AssignTable, table_for
from tests.spark import cluster_program, executors, programs
from tests.spark.cluster_program import LOCAL_CLUSTER
from tests.spark.java_options import java_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SENDING = {"arrow_udf", "mapInArrow", "pandas_udf", "udf", "mapInPandas", "applyInArrow", "applyInPandas", "udtf"}
"""Functions of Spark that send their first argument to executors."""

ALONE = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
"""Environment in which no folder brings the package."""

LOADER = """
import pickle, sys
for name, pickled in pickle.load(sys.stdin.buffer).items():
    try:
        pickle.loads(pickled)
    except Exception as error:
        print(name, type(error).__name__, error)
"""
"""Program that loads what Spark sends, and prints the errors."""

CALLER = """
import pickle, sys
function, argument = pickle.load(sys.stdin.buffer)
try:
    print(function(argument))
except RuntimeError as error:
    print(error)
"""
"""Program that calls a function with an argument, and prints the result or the error."""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of the executors."""
    return executors.make_python(tmp_path_factory.mktemp("environment"))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the archive with the package."""
    return executors.make_archive(tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def assigned(spark: SparkSession) -> list[dict[str, Any]]:
    """Return the assignments that a local session computes."""
    return cluster_program.assign(spark)


def answers_of(master: str, archive: Path, python: Path, folder: Path) -> dict[str, Any]:
    """Run the program, and return what it writes and what it prints."""
    answers = folder / "answers.json"
    command: list[str | Path] = [sys.executable, cluster_program.__file__, master, archive, folder, answers]
    path = os.pathsep.join([str(executors.PACKAGE.parent), str(programs.ROOT)])
    # Workers of other programs import the package before they start.
    options = {name: f"{value} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC" for name, value in java_options().items()}
    done = programs.run(command, folder, PYTHONPATH=path, PYSPARK_PYTHON=str(python), **options)
    assert 0 == done.returncode, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(answers.read_text(encoding="utf-8"))
    return {**found, "printed": done.stderr}  # a log of Spark with the trace of each failed task


def message(python: Path) -> str:
    """Return the pattern of the message."""
    return (
        rf"assignor is not installed for the Python of the Spark executors \({python} on host \S+\): "
        r'see "Run on a cluster" in the documentation of assignor$'
    )


def check_classic(found: dict[str, Any], python: Path, assigned: list[dict[str, Any]]) -> None:
    """Check that errors have one line, that no task failed, and that the answer is that of a local session."""
    for name in ("query", "check"):
        kind, line = found[name]
        assert "MissingDependencyError" == kind
        assert re.search("^" + message(python), line), line
    assert "PythonException" not in found["printed"]
    assert assigned == found["assign"]


def test_each_function_is_sent_with_the_check() -> None:
    sending = [
        (file.stem, ast.unparse(node.args[0]))
        for file in (executors.PACKAGE / "spark").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in SENDING
    ]

    # The check itself needs nothing of the package. `table_for` returns a class that calls what `on_executors` returns.
    others = [file for file, argument in sending if not argument.startswith(("on_executors(", "table_for("))]
    assert ["executors"] == others
    assert len(sending) > 10


def test_whatever_spark_sends_says_what_is_missing(spark: SparkSession, python: Path) -> None:
    options = {"kafka.bootstrap.servers": "127.0.0.1:1"}
    source = KafkaOffsets(options)
    sent = {
        "function": on_executors(spark, unpack),
        "processor": EventProcessor(MachineSettings(lambda _: Replay(topics_table(None))), None),
        "source": source_for(spark),
        "table": table_for(spark),
        "reader": source.reader(schemas.CLUSTER_RECORDS),
        "stream": source.streamReader(schemas.CLUSTER_RECORDS),
    }
    pickled = {name: cloudpickle.dumps(value) for name, value in sent.items()}  # type: ignore[no-untyped-call]  # PySpark's pickler has no types

    loaded = {name: pickle.loads(value) for name, value in pickled.items()}
    assert unpack is loaded.pop("function")
    assert isinstance(loaded.pop("source")(options), KafkaOffsets)
    assert isinstance(loaded.pop("table")()._table, AssignTable)
    assert {name: type(sent[name]) for name in loaded} == {name: type(value) for name, value in loaded.items()}
    done = subprocess.run([python, "-c", LOADER], input=pickle.dumps(pickled), env=ALONE, capture_output=True)
    lines = done.stdout.decode().splitlines()
    assert list(sent) == [line.partition(" ")[0] for line in lines], done.stderr.decode()
    for line in lines:
        assert re.search("^[a-z]+ RuntimeError " + message(python), line), line


def test_workers_with_the_python_of_the_program_are_not_checked(
    spark: SparkSession, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = spark.sparkContext
    assert _has_own_python(spark, context)
    for name, value in (("pythonExec", "no-such-python"), ("pythonExec", str(python)), ("master", LOCAL_CLUSTER)):
        with monkeypatch.context() as patch:
            patch.setattr(context, name, value)
            assert not _has_own_python(spark, context)


def printed_with(version: str, python: Path, folder: Path, function: Callable[..., Any], argument: object) -> str:
    """Return what a Python with some version of the package prints for the result or the error of a function."""
    (folder / "assignor").mkdir()
    (folder / "assignor" / "__init__.py").touch()
    (folder / "assignor" / "_core.py").write_text(f"__version__ = {version!r}")
    done = subprocess.run(
        [python, "-c", CALLER],
        input=cloudpickle.dumps((function, argument)),  # type: ignore[no-untyped-call]  # as above
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode()


def test_another_version_is_refused(python: Path, tmp_path: Path) -> None:
    printed = printed_with("0.0.1", python, tmp_path, _functions("7.7.7").find_problem, None)

    start = f"assignor 0.0.1 is installed for the Python of the Spark executors ({python} on host "
    assert printed.startswith(start)
    assert ", but the driver has 7.7.7: see " in printed


def test_a_function_of_a_module_that_is_missing_names_the_module(python: Path, tmp_path: Path) -> None:
    pickled = b"cmy_module\nread_topics\n."

    printed = printed_with("7.7.7", python, tmp_path, _functions("7.7.7").load, pickled)

    start = f"a function cannot be loaded by the Python of the Spark executors ({python} on host "
    assert printed.startswith(start)
    assert "): No module named 'my_module'; see " in printed


def test_executors_of_the_driver_get_the_package_while_they_run(
    python: Path, archive: Path, assigned: list[dict[str, Any]], tmp_path: Path
) -> None:
    check_classic(answers_of(LOCAL_CLUSTER, archive, python, tmp_path), python, assigned)


def test_executors_of_a_standalone_cluster_start_with_the_package(
    python: Path, archive: Path, assigned: list[dict[str, Any]], tmp_path: Path
) -> None:
    with executors.standalone_cluster(tmp_path / "cluster") as master:
        found = answers_of(master, archive, python, tmp_path)

    check_classic(found, python, assigned)


def test_over_connect_a_stream_gets_the_archive_of_the_server_and_a_batch_that_of_the_client(
    python: Path, archive: Path, assigned: list[dict[str, Any]], tmp_path: Path
) -> None:
    found = answers_of("connect", archive, python, tmp_path)

    kind, *lines = found["query"]
    (line,) = (line for line in lines if "RuntimeError" in line)
    assert "PythonException" == kind
    assert re.search("(^|: )RuntimeError: " + message(python), line), line
    assert "Traceback" not in "".join(lines)
    assert re.search(message(python), _message(RuntimeError("\n".join(lines))))  # in a command
    kind, line = found["check"]
    assert "MissingDependencyError" == kind
    assert re.search("^" + message(python), line), line
    assert assigned == found["assign"]
    for expected, events in found["events"].values():
        assert expected == events
        assert sum(expected[0].values()) > 30
