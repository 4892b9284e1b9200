"""Programs in `tests/java` that run Kafka's own classes in a process that answers lines of JSON.

javac compiles them against jars of Kafka, which Maven downloads.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.broker.cluster import JARS, BrokerMissingError, archive_options, install_jars

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests/java/src/main/java"
LIMIT = 300
"""Time limit of an answer in seconds, far more than any answer should take."""

OPTIONS = ("-Dlog4j2.level=OFF", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m")


class OracleMissingError(Exception):
    """Error for Kafka's classes that cannot run here; the message has the reason."""


class KafkaProgram:
    """A running program; a context manager that ends it.

    Args:
        name: Name of the class, which is compiled with all other classes of its package.
        install: Function that copies the needed jars to a folder, unless they exist, and returns the folder.

    Raises:
        OracleMissingError: Java, its compiler or Kafka's jars are missing.
    """

    def __init__(self, name: str, install: Callable[[], Path] | None = None) -> None:
        java = shutil.which("java")
        if java is None:
            raise OracleMissingError("java was not found")
        jars = (install or _install_broker)()
        built = _compile(name, jars)
        path = os.pathsep.join([str(jars / "*"), str(built)])
        self._command = [java, *OPTIONS, *archive_options(jars), "-cp", path, name]
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._process.communicate(timeout=60)  # the program ends with its input
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()

    def restart(self) -> None:
        """Kill the process and start a new one."""
        self.kill()
        self._start()

    def kill(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.communicate()

    def ask(self, question: object) -> Any:
        """Send a line of JSON; return the answer.

        Raises:
            TimeoutError: The program did not answer; it is killed.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        if not select.select([self._process.stdout], [], [], LIMIT)[0]:
            self._process.kill()
            raise TimeoutError(f"no answer within {LIMIT} s to {question}")
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the program exited with {self._process.wait(LIMIT)} at {question}")
        return json.loads(answer)


def _install_broker() -> Path:
    try:
        install_jars()
    except BrokerMissingError as error:
        raise OracleMissingError(str(error)) from None
    return JARS


def _compile(name: str, jars: Path) -> Path:
    """Compile the classes if a source is newer; return their folder. Only one process at a time compiles a program."""
    built = ROOT / "target" / "java" / name.rpartition(".")[2]
    built.mkdir(parents=True, exist_ok=True)
    with (built / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return _compile_to(built, name, jars)


def _compile_to(built: Path, name: str, jars: Path) -> Path:
    package, _, _ = name.rpartition(".")
    made = built / f"{name.replace('.', '/')}.class"
    folder = SOURCES / package.replace(".", "/")
    sources = sorted(folder.glob("*.java"))
    if made.exists() and made.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return built
    javac = shutil.which("javac")
    if javac is None:
        raise OracleMissingError("javac was not found")
    done = subprocess.run(
        [javac, "-d", str(built), "-cp", str(jars / "*"), *map(str, sources)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"javac could not compile {folder}: {done.stdout.strip()}")
    return built
