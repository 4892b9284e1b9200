"""Kafka's own group coordinator without a broker, in a process that runs a round when asked.

javac compiles `GroupTimer` against the jars of the broker that the tests start. Maven fetches the jars once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from benches.coordinator_workloads import RUN, GroupSet, Phases
from benches.java_process import JavaMissingError
from benches.line_process import LineProcess

HERE = Path(__file__).resolve().parent
ROOT, JARS, BUILT = HERE.parent, HERE.parent / "target" / "kafka", HERE.parent / "target" / "group-timer"
SOURCE = HERE / "java/src/coordinator/java/org/apache/kafka/coordinator/group/GroupTimer.java"
PROGRAM = "org.apache.kafka.coordinator.group.GroupTimer"
OPTIONS = ("-Dlog4j2.level=WARN", "-Xms1g", "-Xmx1g")

REHEARSALS = 15
"""Rounds that warm Java up."""


class JavaCoordinator(LineProcess):
    """Process with one group in Kafka's class; use it as a context manager.

    Args:
        group_set: The group.

    Raises:
        JavaMissingError: There is no Java, no compiler or no Maven, or building failed.
    """

    def __init__(self, group_set: GroupSet) -> None:
        java = shutil.which("java")
        if java is None:
            raise JavaMissingError("java was not found")
        _build()
        sizes = map(str, (group_set.members, group_set.topics, group_set.partitions, RUN))
        path = os.pathsep.join([str(BUILT), str(JARS / "*")])
        super().__init__([java, *OPTIONS, "-cp", path, PROGRAM, *sizes])
        self.read()
        for _ in range(REHEARSALS):
            self.round()

    def round(self) -> Phases:
        """Run a full rebalance and a heartbeat of each member."""
        seconds = (int(each) / 1e9 for each in self.ask("round").split())
        return dict(zip(("joins", "syncs", "heartbeats"), seconds, strict=True))


def _build() -> None:
    """Fetch the jars with Maven unless they exist; compile the timer unless its class file is newer than the source."""
    fetch = "from tests.broker import cluster; cluster.install_jars()"
    done = subprocess.run([sys.executable, "-c", fetch], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise JavaMissingError(done.stderr.strip().splitlines()[-1])
    made = BUILT / f"{PROGRAM.replace('.', '/')}.class"
    if made.exists() and made.stat().st_mtime > SOURCE.stat().st_mtime:
        return
    javac = shutil.which("javac")
    if javac is None:
        raise JavaMissingError("javac was not found")
    BUILT.mkdir(parents=True, exist_ok=True)
    command = [javac, "-d", str(BUILT), "-cp", str(JARS / "*"), str(SOURCE)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise JavaMissingError(f"javac could not compile GroupTimer: {done.stdout.strip().splitlines()[-1:]}")
