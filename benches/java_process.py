"""Kafka's assignors and pattern engines in Java, each in a process that is called through pipes.

Maven builds the programs. A process makes its calls in the same rounds as our implementations. Its input objects exist
and its code is compiled before the first round.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import numpy as np

from assignor import Plan
from benches.line_process import LineProcess
from benches.rebalances import RESTARTS
from benches.timing import Sampler
from benches.workloads import Workload

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "target" / "range-timer"
OPTIONS = ("-Xms4g", "-Xmx4g", "-XX:+UseParallelGC")


class JavaMissingError(Exception):
    """Error for Java programs that cannot be timed; the message has the reason."""


class JavaProcess(LineProcess):
    """Process that runs a program of benches/java.

    Args:
        program: Class with the `main` method.

    Attributes:
        version: Version and options of Java.

    Raises:
        JavaMissingError: Java or Maven is missing, or the build failed.
    """

    def __init__(self, program: str) -> None:
        java = shutil.which("java")
        if java is None:
            raise JavaMissingError("java was not found")
        _build()
        release = subprocess.run([java, "-version"], stderr=subprocess.PIPE, text=True, check=True).stderr.split('"')[1]
        self.version = f"Java {release}, {' '.join(OPTIONS)}"
        path = os.pathsep.join([str(BUILT / "classes"), str(BUILT / "jars" / "*")])
        super().__init__([java, *OPTIONS, "-cp", path, program])


class JavaRangeAssignor(JavaProcess):
    """Process with Kafka's RangeAssignor, for one group at a time.

    Args:
        warm: Milliseconds of calls that warm Java up for each group.

    Attributes:
        version: Versions of Java and kafka-clients.
    """

    def __init__(self, warm: int) -> None:
        super().__init__("RangeTimer")
        self._warm = warm
        self.version = f"{_jar('kafka-clients')}, {self.version}"

    def prepare(self, workload: Workload) -> tuple[int, int]:
        """Prepare a group, and return the number of assigned partitions and the checksum of their owners."""
        replicas = {"none": 0, "two": 2, "three": 3}[workload.racks]
        sizes = ",".join(map(str, workload.partition_counts()))
        buckets = ",".join(
            f"{members.start}-{members.stop}:{topics.start}-{topics.stop}" for members, topics in workload.buckets()
        )
        partitions, checksum = self.ask(f"group {replicas} {sizes} {buckets}").split()
        self.ask(f"warm {self._warm}")
        return int(partitions), int(checksum, 16)

    def sampler(self) -> Sampler:
        """Return a sampler of calls for the group that was prepared last."""

        def sample(calls: int) -> float:
            return int(self.ask(f"time {calls}")) / calls / 1e9

        return sample


class JavaAssignors(JavaProcess):
    """Process with Kafka's other assignors, for one event of one group at a time.

    Args:
        warm: Milliseconds of calls that warm Java up for each event.

    Attributes:
        version: Versions of Java and kafka-clients.
        seconds: Seconds of one call at the end of `prepare`.
    """

    def __init__(self, warm: int) -> None:
        super().__init__("AssignorTimer")
        self._warm = warm
        self.seconds = 0.0
        self.version = f"{_jar('kafka-clients')}, {self.version}"

    def prepare(self, workload: Workload) -> list[tuple[int, int]]:
        """Prepare an event; return the number of assigned partitions and the checksum of owners of each rebalance."""
        shape = (workload.subscription, workload.racks, workload.members, workload.topics, workload.partitions)
        words = self.ask(" ".join(map(str, ("group", workload.assignor, *shape, workload.event, RESTARTS)))).split()
        self.seconds = int(self.ask(f"warm {self._warm}")) / 1e9
        return [
            (int(partitions), int(checksum, 16)) for partitions, checksum in zip(words[::2], words[1::2], strict=True)
        ]

    def sampler(self) -> Sampler:
        """Return a sampler of calls for the event that was prepared last; all its rebalances are one call."""

        def sample(calls: int) -> float:
            return int(self.ask(f"time {calls}")) / calls / 1e9

        return sample


class JavaPatterns(JavaProcess):
    """Process with java.util.regex and RE2/J, for one set of patterns and topics at a time.

    Attributes:
        version: Versions of Java and RE2/J.
        engines: Names of the engines in the program, by their names in tables.
    """

    engines: ClassVar = {"java.util.regex": "java", "RE2/J": "re2j"}

    def __init__(self) -> None:
        super().__init__("PatternTimer")
        self.version = f"{_jar('re2j')}, {self.version}"

    def prepare(self, engine: str, patterns: Iterable[str], topics: Iterable[str]) -> int:
        """Prepare patterns and topics, and return the number of matches."""
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
            file.write("\n".join([*patterns, "", *topics]))
            file.flush()
            return int(self.ask(f"read {self.engines[engine]} {file.name}"))

    def sampler(self, engine: str) -> Sampler:
        """Return a sampler of calls of an engine for the input that was prepared last."""

        def sample(calls: int) -> float:
            return int(self.ask(f"time {self.engines[engine]} {calls}")) / calls / 1e9

        return sample


def _jar(name: str) -> str:
    return next((BUILT / "jars").glob(f"{name}-*.jar")).stem


def checksum(plan: Plan) -> tuple[int, int]:
    """Return the number of assigned partitions, and RangeTimer's checksum of their owners, which ignores the order."""
    spans = plan.spans()
    with np.errstate(over="ignore"):
        member = _crcs(plan.members)[spans.member] * np.uint64(0x9E3779B97F4A7C15)
        first = member + _crcs(plan.topics)[spans.topic] * np.uint64(0xC2B2AE3D27D4EB4F)
        ids = np.arange(spans.count.sum()) - np.repeat(np.cumsum(spans.count) - spans.count, spans.count)
        value = np.repeat(first, spans.count) + (np.repeat(spans.start, spans.count) + ids).astype(np.uint64)
        value = (value ^ value >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        value = (value ^ value >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        value ^= value >> np.uint64(31)
        return len(value), int(value.sum(dtype=np.uint64))


def _crcs(names: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array([zlib.crc32(name.encode()) for name in names], dtype=np.uint64)


def _build() -> None:
    """Fetch the jars and compile the programs with Maven, unless they are newer than the sources."""
    sources = [HERE / "java" / "pom.xml", *(HERE / "java" / "src").rglob("*.java")]
    made = BUILT / "classes" / "PatternTimer.class"
    if made.exists() and made.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return
    maven = shutil.which("mvn")
    if maven is None:
        raise JavaMissingError("mvn was not found")
    done = subprocess.run(
        [maven, "-q", "-B", "-f", str(sources[0]), "clean", "compile"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise JavaMissingError(f"mvn could not build benches/java: {done.stdout.strip().splitlines()[-1:]}")
