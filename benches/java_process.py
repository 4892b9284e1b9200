"""Kafka's assignors and coordinator and the pattern engines in Java, each in a process that is called through pipes.

A process makes its calls in the same rounds as our implementations. Its input objects exist
and its code is compiled before the first round.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np

from assignor import Plan, StickyAssignor, Subscription
from benches.rebalances import GENERATION, Rebalance, rebalances
from benches.timing import Sampler
from benches.workloads import SERVER, Workload
from tests.support import maven_jars
from tests.support.assignor_oracle import JARS

ROOT = Path(__file__).resolve().parents[1]
SOURCES = [*(ROOT / "benches/java").glob("*.java"), *(ROOT / "tests/java/src/main/java/assignors").glob("*.java")]
BUILT = ROOT / "target" / "java-timers"
OPTIONS = ("-Xms4g", "-Xmx4g", "-XX:+UseParallelGC")


class JavaMissingError(Exception):
    """Error for Java programs that cannot be timed; the message has the reason."""


class JavaProcess:
    """Process that runs a program of benches/java and answers each line with a line; use it as a context manager.

    Args:
        program: Class with the `main` method.
        jar: Name of the jar with the timed classes, without its version.
        arguments: Arguments of the program.
        options: Options of Java.

    Attributes:
        version: Versions of the jar and of Java, and the options.

    Raises:
        JavaMissingError: Java or Maven is missing, or the build failed.
    """

    def __init__(self, program: str, jar: str, *arguments: str, options: Iterable[str] = OPTIONS) -> None:
        java = shutil.which("java")
        if java is None:
            raise JavaMissingError("java was not found")
        _compile()
        release = subprocess.run([java, "-version"], stderr=subprocess.PIPE, text=True, check=True).stderr.split('"')[1]
        name = next(JARS.glob(f"{jar}-[0-9]*.jar")).stem
        self.version = f"{name}, Java {release}, {' '.join(options)}"
        path = os.pathsep.join([str(BUILT), str(JARS / "*")])
        self._process = subprocess.Popen(
            [java, *options, "-cp", path, program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        if error:
            self._process.kill()  # it may never answer
        self._process.communicate()

    def ask(self, line: str) -> str:
        """Send a line and return the answer.

        Raises:
            RuntimeError: The process ended; the message is its standard error.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(self._process.communicate()[1].strip())
        return answer.strip()

    def sampler(self) -> Sampler:
        """Return a sampler of calls for the input that was prepared last."""

        def sample(calls: int) -> float:
            return int(self.ask(f"time {calls}")) / calls / 1e9

        return sample


class JavaAssignors(JavaProcess):
    """Process with Kafka's assignors, for one event of one group at a time; all rebalances of the event are one call.

    Args:
        warm: Milliseconds of calls that warm Java up for each event.

    Attributes:
        seconds: Seconds of one call at the end of `prepare`.
    """

    def __init__(self, warm: int) -> None:
        super().__init__("assignors.Timer", "kafka-clients")
        self._warm = warm
        self.seconds = 0.0

    def prepare(self, workload: Workload) -> list[tuple[int, int]]:
        """Prepare an event; return the number of assigned partitions and the checksum of owners of each rebalance."""
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
            file.writelines(
                f"{json.dumps(_question(workload, rebalance))}\n" for rebalance in rebalances(workload, "objects")
            )
            file.flush()
            words = self.ask(f"group {file.name}").split()
        self.seconds = int(self.ask(f"warm {self._warm}")) / 1e9
        return [
            (int(partitions), int(checksum, 16)) for partitions, checksum in zip(words[::2], words[1::2], strict=True)
        ]


class JavaPatterns(JavaProcess):
    """Process with a pattern engine of Java, for one set of patterns and topics at a time.

    Args:
        engine: `java` (java.util.regex) or `re2j` (RE2/J).
    """

    def __init__(self, engine: str) -> None:
        super().__init__("assignors.Timer", "re2j", options=("-Xms1g", "-Xmx1g", "-XX:+UseParallelGC"))
        self._engine = engine

    def prepare(self, patterns: Iterable[str], topics: Iterable[str]) -> int:
        """Prepare patterns and topics, warm Java up for two seconds, and return the number of matches."""
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
            file.write("\n".join([*patterns, "", *topics]))
            file.flush()
            matches = int(self.ask(f"{self._engine} {file.name}"))
        self.ask("warm 2000")
        return matches


def _question(workload: Workload, rebalance: Rebalance) -> dict[str, Any]:
    """Return the input of a rebalance as Kafka's assignors in tests/java read it."""
    counts = {topic: n if isinstance(n, int) else len(n) for topic, n in rebalance.topics.items()}
    racks = {topic: [info.racks for info in n] for topic, n in rebalance.topics.items() if not isinstance(n, int)}
    members = []
    for id, subscription in rebalance.subscriptions.items():
        member = {"member_id": id, "topics": subscription.topics, "rack": subscription.rack}
        if subscription.generation is not None:
            member["generation"] = subscription.generation
        if workload.assignor == "sticky" and subscription.generation is not None:
            member["user_data"] = _user_data(subscription)
        elif workload.assignor != "sticky":
            member["owned"] = subscription.owned_partitions
        members.append(member)
    if workload.assignor not in SERVER:
        kind = workload.assignor.replace("-", "_")
        return {"assignor": kind, "topics": counts, "replica_racks": racks, "members": members}
    for member in members:
        member["assigned"] = member.pop("owned")
    ids = workload.topic_ids()
    topics = [{"name": topic, "id": str(ids[topic]), "partitions": count} for topic, count in counts.items()]
    group_protocol, assignor = SERVER[workload.assignor]
    kind = f"{'share' if group_protocol == 'share' else 'server'}_{assignor}"
    return {"assignor": kind, "topics": topics, "members": members}


def _user_data(subscription: Subscription) -> str:
    own = StickyAssignor()
    own.on_assignment(subscription.owned_partitions, GENERATION)
    data = own.subscription_user_data(subscription.topics)
    assert data is not None
    return data.hex()


def checksum(plan: Plan) -> tuple[int, int]:
    """Return the number of assigned partitions, and Java's checksum of their owners, which ignores the order."""
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


def _compile() -> None:
    """Fetch the jars with Maven, and compile the programs, unless they are newer than the sources."""
    try:
        maven_jars.install(ROOT / "tests/java/pom.xml", JARS)
    except maven_jars.JarsMissingError as why:
        raise JavaMissingError(str(why)) from None
    made = BUILT / "assignors" / "Timer.class"
    if made.exists() and made.stat().st_mtime > max(source.stat().st_mtime for source in SOURCES):
        return
    javac = shutil.which("javac")
    if javac is None:
        raise JavaMissingError("javac was not found")
    command = [javac, "-d", str(BUILT), "-cp", str(JARS / "*"), *map(str, SOURCES)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise JavaMissingError(f"javac could not compile benches/java: {done.stdout.strip().splitlines()[-1:]}")
