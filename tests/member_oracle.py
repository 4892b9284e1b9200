"""Kafka's own member, in a process that answers each program of events with what followed from each event.

`tests/java` has the program; javac compiles it against the jars of a Kafka broker, which Maven fetches.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Self

from broker.cluster import JARS, BrokerMissingError, install_jars
from member_life import Json

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "target" / "member-oracle"
SOURCES = HERE / "java/src/main/java/org/apache/kafka/clients/consumer/internals"
PROGRAM = "org.apache.kafka.clients.consumer.internals.MemberOracle"
OPTIONS = ("-Dlog4j2.level=OFF", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256m")


class OracleMissingError(Exception):
    """Kafka's member cannot be run here, and why."""


class MemberOracle:
    """Kafka's own member.

    Raises:
        OracleMissingError: There is no Java, no compiler or no jars of Kafka.
    """

    def __init__(self) -> None:
        java = shutil.which("java")
        if java is None:
            raise OracleMissingError("java was not found")
        try:
            install_jars()
        except BrokerMissingError as error:
            raise OracleMissingError(str(error)) from None
        _compile()
        self._process = subprocess.Popen(
            [java, *OPTIONS, "-cp", os.pathsep.join([str(BUILT), str(JARS / "*")]), PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def live(self, program: Json) -> list[Json]:
        """Lives a program, and says what followed from each event."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(program) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"Kafka's side ended with {self._process.wait()} at {program}")
        steps: list[Json] = json.loads(answer)
        return steps


def version() -> str:
    """The release of kafka-clients that the oracle runs, as its jar says."""
    return next(JARS.glob("kafka-clients-[0-9]*[0-9].jar")).stem.removeprefix("kafka-clients-")


def _compile() -> None:
    made = BUILT / f"{PROGRAM.replace('.', '/')}.class"
    sources = sorted(SOURCES.glob("*.java"))
    if made.exists() and made.stat().st_mtime > max(source.stat().st_mtime for source in sources):
        return
    javac = shutil.which("javac")
    if javac is None:
        raise OracleMissingError("javac was not found")
    BUILT.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [javac, "-d", str(BUILT), "-cp", str(JARS / "*"), *map(str, sources)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"javac could not compile {SOURCES}: {done.stdout.strip()}")
