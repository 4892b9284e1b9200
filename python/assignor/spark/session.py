"""Gives a local Spark session that says nothing, listens to this machine only and leaves nothing behind.

Spark, its launcher and the JVM all write to standard error, each in its own way and some before any setting
can reach them. So the JVM is born with its standard output and error in a file; what matters of that file is
told when Spark does not start.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from assignor.errors import MissingDependencyError, SparkStartError
from assignor.spark.java import bundled_java, cache_folder, find_java

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

    from pyspark.sql import SparkSession

__all__ = ["session"]

_LOG4J2 = """\
status = error
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex
"""

_TAIL_LINES = 20
_STOP_SECONDS = 20


@contextlib.contextmanager
def session(
    *,
    app: str = "assignor",
    cores: int | None = None,
    log: str | os.PathLike[str] | None = None,
    memory: str = "2g",
) -> Iterator[SparkSession]:
    """Give a Spark session: the one there is, else a quiet local one that ends with the `with` block.

    A session that is active already (a notebook's, Databricks', one from an outer `session()`), or that the
    environment asks for by SPARK_REMOTE, is given as it is and not stopped: no argument has an effect on it.

    Args:
        app: The application's name.
        cores: How many threads work; by default one for each core of the machine.
        log: A file for what Spark and the JVM say, overwritten; by default that is thrown away at the end.
        memory: The JVM's heap, as Java writes it.

    Yields:
        The session.

    Raises:
        MissingDependencyError: PySpark or Java is missing; the message says what to install.
        SparkStartError: Spark did not start; the message ends with the last lines of its log.
    """
    for name in ("pyspark", "pandas", "pyarrow"):
        if not _installed(name):
            raise MissingDependencyError(f"{name} is not installed: pip install 'assignor[spark]'")
    if (active := _active()) is not None:
        yield active
        return
    with contextlib.ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="assignor-spark-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(temporary))
        captured = stack.enter_context(Path(log if log is not None else folder / "spark.log").open("w+b"))
        stack.enter_context(_as_it_was(folder))
        settings = _settings(app, cores or os.cpu_count() or 1, memory, folder)
        with _environment(_variables(folder)):
            spark = _start(settings, captured, stack)
        try:
            yield spark
        except Exception as error:
            if _interrupted(error):
                raise KeyboardInterrupt from error
            _outlive(error, captured)
            raise


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # It is in sys.modules as something that was not imported, such as None.
        return False


def _active() -> SparkSession | None:
    """Give the session that is somebody else's, if there is one."""
    from pyspark.sql import SparkSession, is_remote

    if is_remote() or os.environ.get("SPARK_REMOTE"):
        return SparkSession.builder.getOrCreate()
    from pyspark import SparkContext

    # A context without a session is somebody's too.
    return SparkSession.builder.getOrCreate() if SparkContext._active_spark_context else None


def _settings(app: str, cores: int, memory: str, folder: Path) -> dict[str, str]:
    """Say all that Spark is told at its start."""
    (folder / "tmp").mkdir()
    (folder / "log4j2.properties").write_text(_LOG4J2)
    java_options = [
        "-XX:TieredStopAtLevel=1",  # jobs of seconds end before the second compiler pays
        "-XX:+UseSerialGC",
        # Spark's local folders are made in here too, so that one removal removes all.
        f'"-Djava.io.tmpdir={folder / "tmp"}"',
        f"-Dlog4j2.configurationFile={(folder / 'log4j2.properties').as_uri()}",
    ]
    return {
        "spark.app.name": app,
        "spark.master": f"local[{cores}]",
        "spark.submit.deployMode": "client",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": memory,
        "spark.driver.extraJavaOptions": " ".join(java_options),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(2 * cores),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
    }


def _variables(folder: Path) -> dict[str, str | None]:
    """Say which environment variables Spark must start with; None stands for unset."""
    java = find_java(
        os.environ,
        which=shutil.which,
        bundled=bundled_java,
        caches=[cache_folder(os.environ), folder],
    )
    return {
        "JAVA_HOME": str(java.home) if java.home else None,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def _start(settings: Mapping[str, str], captured: IO[bytes], stack: contextlib.ExitStack) -> SparkSession:
    """Start a JVM and a session in it, and leave on the stack what ends them."""
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    try:
        with _uninterrupted():
            if SparkContext._gateway is None:
                streams = {"stdout": captured, "stderr": subprocess.STDOUT}
                gateway = launch_gateway(conf, streams)  # type: ignore[no-untyped-call]  # PySpark's gateway has no types
                stack.callback(_stop_jvm, gateway)
            else:  # A JVM that an earlier, stopped session left: a process has room for one only.
                gateway = SparkContext._gateway
        with _uninterrupted():
            spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
            stack.callback(_stop_session, spark)
    except (PySparkException, Py4JError, OSError) as error:
        raise SparkStartError(f"Spark did not start: {_reason(error)}\n{_tail(captured)}".rstrip()) from error
    return spark


def _reason(error: Exception) -> str:
    """Give the first line of what went wrong."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _tail(captured: IO[bytes]) -> str:
    """Give the last lines of the log."""
    captured.seek(0)
    lines = captured.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-_TAIL_LINES:])


def _interrupted(error: BaseException | None) -> bool:
    """Whether it is what came of putting something away after Ctrl-C, which cut a call of the JVM short."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


def _outlive(error: BaseException | None, captured: IO[bytes]) -> None:
    """Fetch the texts of an error, and of those behind it, from the JVM while it lives."""
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark import SparkContext
    from pyspark.errors.exceptions.captured import CapturedException

    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    if isinstance(error, Py4JError) and process is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
            error.add_note(f"The JVM ended before its work was done. The last it said:\n{_tail(captured)}")
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, (CapturedException, Py4JJavaError)):
            with contextlib.suppress(Exception):
                _keep_text(error, str(error))
        error = error.__cause__ or error.__context__


def _keep_text(error: BaseException, text: str) -> None:
    """Give an error a class that is its own but for having its text at hand."""
    own = type(error)
    body = {"__str__": lambda _: text, "__module__": own.__module__, "__qualname__": own.__qualname__}
    error.__class__ = type(own.__name__, (own,), body)


def _stop_session(spark: SparkSession) -> None:
    # The JVM may be gone already (out of memory, killed): then there is nothing to stop, and nothing to say.
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore", RuntimeWarning)
        spark.stop()


def _stop_jvm(gateway: Any) -> None:
    """End the JVM and make PySpark forget it, so that the next session starts one of its own."""
    from pyspark import SparkContext

    SparkContext._gateway = None
    SparkContext._jvm = None
    with contextlib.suppress(Exception):
        gateway.shutdown()
    process: subprocess.Popen[bytes] | None = gateway.proc
    if process is None:
        return
    if process.stdin:
        # The JVM reads this pipe and ends when it closes.
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
    finally:
        if process.poll() is None:  # Not in time, or we are interrupted: either way it must not outlive us.
            process.kill()
            process.wait()


@contextlib.contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables (None: unset) for the length of the block."""
    before = {name: os.environ.get(name) for name in variables}
    try:
        _set(variables)
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@contextlib.contextmanager
def _as_it_was(folder: Path) -> Iterator[None]:
    """Undo at the end what a SparkContext does to this process."""
    before = {name: os.environ.get(name) for name in ("SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE")}
    # Of a call that broke py4j tells both its own loggers and the root; the exception it raises says the same.
    root, py4j = logging.getLogger(), logging.getLogger("py4j")
    propagate, py4j.propagate = py4j.propagate, False
    root.addFilter(_not_py4j)
    try:
        yield
    finally:
        root.removeFilter(_not_py4j)
        py4j.propagate = propagate
        _set(before)
        sys.path[:] = [entry for entry in sys.path if not entry.startswith(str(folder))]


def _not_py4j(record: logging.LogRecord) -> bool:
    """Drop what py4j tells the root logger."""
    return Path(record.pathname).parent.name != "py4j"


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Put Ctrl-C off until the block has ended; the second one strikes at once.

    An interrupt while PySpark waits for its JVM would leave that JVM running with nobody who knows it. This
    also puts back the handler that was there: SparkContext's own calls the JVM in the midst of another call.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    waiting: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if waiting:
            before(number, frame)
        waiting.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting:
        before(waiting[0], None)
