"""Local Spark session that prints nothing, accepts local connections only and removes its temporary files.

Spark, its launcher and the JVM write to standard error, some of them before any setting takes effect. So the JVM starts
with its standard output and error in a log file. If Spark does not start, the error has the last lines of that file.
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
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from assignor.dependencies import dependency, require
from assignor.errors import IllegalArgumentError, SparkStartError
from assignor.spark.java import bundled_java, cache_folder, find_java
from assignor.validation import check_name, check_path, read_int, shown

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
    """Yield the active Spark session, or start a local one that stops at the end of the `with` block.

    An active session (of a notebook, of Databricks, of an outer `session()`), or the Connect session that SPARK_REMOTE
    names, is yielded unchanged and not stopped; the arguments have no effect on it.

    Args:
        app: Name of the application.
        cores: Number of worker threads; by default the number of cores of the machine.
        log: File for the output of Spark and the JVM, overwritten; by default a temporary file.
        memory: Heap size of the JVM in Java's notation.

    Yields:
        The session.

    Raises:
        MissingDependencyError: PySpark or Java is missing; the message says what to install.
        WrongTypeError, IllegalArgumentError: An argument has another type, or is not positive.
        SparkStartError: Spark did not start; the message ends with the last lines of its log.
    """
    check_name(app, "app")
    check_name(memory, "memory")
    if log is not None:
        check_path(log, "log", is_of_pyarrow=False)
    if cores is not None and read_int(cores, "cores", bits=32) < 1:
        raise IllegalArgumentError(f"cores must be positive, not {shown(cores)}")
    require("pyspark", "pandas", "pyarrow")
    if (active := _active()) is not None:
        yield active
        return
    with contextlib.ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="assignor-spark-", ignore_cleanup_errors=True)
        folder = Path(stack.enter_context(temporary))
        captured = stack.enter_context(Path(log if log is not None else folder / "spark.log").open("w+b"))
        stack.enter_context(_restored_process(folder))
        settings = _settings(app, cores or os.cpu_count() or 1, memory, folder)
        with _environment(_variables(folder)):
            spark = _start(settings, captured, stack)
        try:
            yield spark
        except Exception as error:
            if _interrupted(error):
                raise KeyboardInterrupt from error
            _keep_messages(error, captured)
            raise


def _active() -> SparkSession | None:
    """Return the session that the caller's program has started, or None."""
    with dependency("pyspark"):
        from pyspark.sql import SparkSession, is_remote

    if is_remote() or os.environ.get("SPARK_REMOTE"):
        return SparkSession.builder.getOrCreate()
    with dependency("pyspark"):
        from pyspark import SparkContext

    # A context without a session counts as well.
    return SparkSession.builder.getOrCreate() if SparkContext._active_spark_context else None


def _settings(app: str, cores: int, memory: str, folder: Path) -> dict[str, str]:
    """Return the Spark settings of a local session."""
    (folder / "tmp").mkdir()
    (folder / "log4j2.properties").write_text(_LOG4J2)
    java_options = [
        "-XX:TieredStopAtLevel=1",  # short jobs end before the C2 compiler pays off
        "-XX:+UseSerialGC",
        # Spark creates its local folders here too, so that removing one folder removes everything.
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
    """Return the environment variables for the start of Spark; None means unset."""
    home = find_java(
        os.environ,
        which=shutil.which,
        bundled=bundled_java,
        caches=[cache_folder(os.environ), folder],
    )
    return {
        "JAVA_HOME": str(home) if home else None,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def _start(settings: Mapping[str, str], captured: IO[bytes], stack: contextlib.ExitStack) -> SparkSession:
    """Start a JVM and a session in it, and push callbacks onto the stack that stop them."""
    with dependency("pyspark"):
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
            else:  # Reuse the JVM of an earlier, stopped session: PySpark allows one per process.
                gateway = SparkContext._gateway
        with _uninterrupted():
            spark = SparkSession(SparkContext(conf=conf, gateway=gateway))
            stack.callback(_stop_session, spark)
    except (PySparkException, Py4JError, OSError) as error:
        raise SparkStartError(f"Spark did not start: {_reason(error)}\n{_tail(captured)}".rstrip()) from error
    return spark


def _reason(error: Exception) -> str:
    """Return the first line of an error's message."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _tail(captured: IO[bytes]) -> str:
    """Return the last lines of the log."""
    captured.seek(0)
    lines = captured.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-_TAIL_LINES:])


def _interrupted(error: BaseException | None) -> bool:
    """Return True if the error was raised during the cleanup after Ctrl-C."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__context__
    return False


def _keep_messages(error: BaseException | None, captured: IO[bytes]) -> None:
    """Fetch the messages of an error and its causes from the JVM before the JVM stops."""
    with dependency("pyspark"):
        from py4j.protocol import Py4JError, Py4JJavaError
        from pyspark import SparkContext
        from pyspark.errors.exceptions.captured import CapturedException

    process: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    if isinstance(error, Py4JError) and process is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(1)
            error.add_note(f"The JVM ended during the job. The last lines of its log:\n{_tail(captured)}")
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, (CapturedException, Py4JJavaError)):
            with contextlib.suppress(Exception):
                _keep_message(error, str(error))
        error = error.__cause__ or error.__context__


def _keep_message(error: BaseException, message: str) -> None:
    """Change the class of an error to a subclass that has the message, so that `str` does not ask the JVM."""
    base = type(error)
    body = {"__str__": lambda _: message, "__module__": base.__module__, "__qualname__": base.__qualname__}
    error.__class__ = type(base.__name__, (base,), body)


def _stop_session(spark: SparkSession) -> None:
    # If the JVM has ended already (out of memory, killed), stopping fails; ignore that.
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore", RuntimeWarning)
        spark.stop()


def _stop_jvm(gateway: Any) -> None:
    """Stop the JVM and remove it from PySpark, so that the next session starts a new one."""
    with dependency("pyspark"):
        from pyspark import SparkContext

    SparkContext._gateway = None
    SparkContext._jvm = None
    with contextlib.suppress(Exception):
        gateway.shutdown()
    process: subprocess.Popen[bytes] | None = gateway.proc
    if process is None:
        return
    if process.stdin:
        # The JVM ends when this pipe closes.
        with contextlib.suppress(OSError):
            process.stdin.close()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
    finally:
        if process.poll() is None:  # It did not end in time, or this wait was interrupted.
            process.kill()
            process.wait()


@contextlib.contextmanager
def _environment(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set environment variables (None: unset) while the block runs."""
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
def _restored_process(folder: Path) -> Iterator[None]:
    """Undo the changes of a SparkContext to this process at the end of the block."""
    before = {name: os.environ.get(name) for name in ("SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE")}
    # py4j logs a failed call to its own logger and to the root logger. The exception has the same text.
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
    """Return False for records that py4j logs."""
    return Path(record.pathname).parent.name != "py4j"


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the block has ended; a second Ctrl-C interrupts immediately.

    An interrupt while PySpark starts its JVM would leave that JVM running without a handle to stop it. At the end, the
    previous signal handler is restored, because SparkContext's own handler calls the JVM even during another call.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    if not callable(before):  # ignored, as in a background job of a shell
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        return
    waiting: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        if waiting:
            before(number, frame)
        waiting.append(number)

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if waiting:
        before(waiting[0], None)
