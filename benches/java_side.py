"""Java's own side: Kafka's RangeAssignor in a Java process that is built by Maven and called through a pipe.

The process is there while ours is timed and makes its calls when its turn comes, in the same rounds. Its input is built
and its code compiled before the first of them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import numpy as np

from assignor import Plan
from timing import Sampler
from workloads import Workload

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "target" / "range-timer"
OPTIONS = ("-Xms4g", "-Xmx4g", "-XX:+UseParallelGC")


class JavaMissingError(Exception):
    """Java cannot be timed here, and why."""


class JavaSide:
    """The Java process, with one group at a time.

    Args:
        warm: How many milliseconds each group is assigned for before it is timed.

    Attributes:
        version: Of Java and of kafka-clients.

    Raises:
        JavaMissingError: There is no Java or no Maven, or building failed.
    """

    def __init__(self, warm: int) -> None:
        self._warm = warm
        java = shutil.which("java")
        if java is None:
            raise JavaMissingError("java was not found")
        _build()
        clients = next((BUILT / "jars").glob("kafka-clients-*.jar"))
        release = subprocess.run([java, "-version"], stderr=subprocess.PIPE, text=True, check=True).stderr.split('"')[1]
        self.version = f"{clients.stem}, Java {release}, {' '.join(OPTIONS)}"
        path = os.pathsep.join([str(BUILT / "classes"), str(BUILT / "jars" / "*")])
        self._process = subprocess.Popen(
            [java, *OPTIONS, "-cp", path, "RangeTimer"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> JavaSide:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate()

    def prepare(self, workload: Workload) -> tuple[int, int]:
        """Takes a group, and answers how many partitions Java assigns and the checksum of who has which."""
        replicas = {"none": 0, "two": 2, "three": 3}[workload.racks]
        sizes = ",".join(map(str, workload.partition_counts()))
        buckets = ",".join(
            f"{members.start}-{members.stop}:{topics.start}-{topics.stop}" for members, topics in workload.buckets()
        )
        partitions, checksum = self._ask(f"group {replicas} {sizes} {buckets}").split()
        self._ask(f"warm {self._warm}")
        return int(partitions), int(checksum, 16)

    def sampler(self) -> Sampler:
        """Samples calls on the group that was prepared last."""

        def sample(calls: int) -> float:
            return int(self._ask(f"time {calls}")) / calls / 1e9

        return sample

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the Java side ended at {line[:60]!r}: {self._process.communicate()[1]}")
        return answer.strip()


def checksum(plan: Plan) -> tuple[int, int]:
    """How many partitions a plan assigns and RangeTimer's checksum of who has which: the same whatever the order."""
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
    """Has Maven fetch the jars and compile the timer, unless that was done since the sources changed."""
    sources = [HERE / "java" / "pom.xml", *(HERE / "java" / "src").rglob("*.java")]
    made = BUILT / "classes" / "RangeTimer.class"
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
