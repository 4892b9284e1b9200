"""Spark session of the benchmarks, and the processor time and memory of its processes."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assignor.spark import session as quiet

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORES = 2
HEAP = "3g"

_SHORT = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""Java options that make short programs faster and long programs slower."""

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Spent(NamedTuple):
    """Processor seconds of Java and of the Python workers; 0 without /proc."""

    java: float
    workers: float

    def since(self, before: Spent) -> Spent:
        """Return the difference to an earlier measurement."""
        return Spent(self.java - before.java, self.workers - before.workers)


class Peak(NamedTuple):
    """Peak memory of Java and of the largest Python worker, in bytes."""

    java: int
    worker: int


@contextlib.contextmanager
def session() -> Iterator[SparkSession]:
    """Start a session like that of `assignor.spark.session`, with Java's default compilers and collector."""
    with contextlib.ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-spark-", ignore_cleanup_errors=True))
        )
        captured = stack.enter_context((folder / "spark.log").open("w+b"))
        settings = quiet._settings("assignor bench", CORES, HEAP, folder)
        short = settings["spark.driver.extraJavaOptions"].split(" ")
        settings["spark.driver.extraJavaOptions"] = " ".join(each for each in short if each not in _SHORT)
        settings["spark.sql.shuffle.partitions"] = str(4 * CORES)
        with quiet._environment(quiet._variables(folder)):
            spark = quiet._start(settings, captured, stack)
        yield spark


def spent() -> Spent:
    """Return the processor seconds of the session's processes so far, including workers that have ended."""
    java = workers = 0.0
    for name, fields, _ in _descendants():
        own, ended = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
        if name == "java":
            java += own / _TICKS
        else:
            workers += (own + ended) / _TICKS
    return Spent(java, workers)


def peak() -> Peak:
    """Return the peak memory of the session's processes so far."""
    java = worker = 0
    for name, _, folder in _descendants():
        with contextlib.suppress(OSError, StopIteration):
            lines = (folder / "status").read_text(encoding="ascii", errors="replace").splitlines()
            size = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
            java, worker = (max(java, size), worker) if name == "java" else (java, max(worker, size))
    return Peak(java, worker)


def _descendants() -> Iterator[tuple[str, list[str], Path]]:
    """Yield the name, the fields after it in `stat`, and the folder of each descendant of this process."""
    children: dict[int, list[tuple[int, str, list[str], Path]]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            text = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            name, fields = text[text.index("(") + 1 : text.rindex(")")], text[text.rindex(")") + 2 :].split()
            children.setdefault(int(fields[1]), []).append((int(folder.name), name, fields, folder))
    waiting = [os.getpid()]
    while waiting:
        for number, name, fields, folder in children.get(waiting.pop(), []):
            yield name, fields, folder
            waiting.append(number)
