"""Servers of one large group: a real broker, and a `Coordinator` behind loopback sockets.

The program `python -m benches.coordinator_servers SERVER MEMBERS` starts one of them with one group, and answers each
line of its input with the figures of a round, as JSON. Each server has its own process, because it opens a file per
member. A server that waits for its turn uses no processor time.
"""

from __future__ import annotations

import contextlib
import functools
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benches.coordinator_sockets import Members, Spent
from benches.coordinator_workloads import GroupSet, subscriptions_of
from benches.line_process import LineProcess, ProcessEndedError

ROOT = Path(__file__).resolve().parents[1]

SPARE = 1_000
"""Number of files that a broker needs in addition to its connections."""

SETTINGS = {
    "group.initial.rebalance.delay.ms": "3000",
    "message.max.bytes": "104857600",
    "num.network.threads": "3",
    "num.io.threads": "8",
}
"""Kafka's defaults for options that the tests' broker changes, and a limit of the message size that allows a group
record with all members."""

JVM = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
"""Options that Kafka's own start script passes to Java."""

Phases = dict[str, Spent]
"""Time of each phase."""


class ServerMissingError(Exception):
    """Error for a server that cannot be timed; the message has the reason."""


class ServedGroup(LineProcess):
    """Process with a group of many members on a server; use it as a context manager.

    Args:
        implementation: "broker" or "ours".
        members: Wanted number of members.

    Attributes:
        members: Number of members; smaller than wanted if the limit of open files is too low.
        beginning: Time of the first joins, which ask for member ids.

    Raises:
        ServerMissingError: Java, Maven or Linux is missing.
    """

    def __init__(self, implementation: str, members: int) -> None:
        command = [sys.executable, "-m", "benches.coordinator_servers", implementation, str(members)]
        super().__init__(command, ROOT)
        self.members, beginning = self._answer(self.read)
        self.beginning = Spent(*beginning)

    def round(self) -> Phases:
        """Run a full rebalance and a heartbeat of each member."""
        answer = self._answer(functools.partial(self.ask, "round"))
        return {phase: Spent(*spent) for phase, spent in answer.items()}

    def _answer(self, read: Callable[[], str]) -> Any:
        try:
            return json.loads(read())
        except ProcessEndedError as error:
            lines = str(error).splitlines()
            raise ServerMissingError(lines[-1] if lines else "the server ended without an error message") from None


def main(arguments: Sequence[str]) -> None:
    """Start a server with a group, and run a round for each line of input."""
    implementation, wanted = arguments[0], int(arguments[1])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    group_set = GroupSet(1, min(wanted, most - SPARE))
    with {"broker": _broker, "ours": _ours}[implementation]() as (port, process):
        group = Members(port, process, subscriptions_of(group_set), group_set.partitions_per_topic())
        with contextlib.closing(group):
            _write((group_set.members, group.form()))
            for _ in sys.stdin:
                _write({"join": group.rejoin(), "sync": group.sync(), "heartbeat": group.heartbeat_all()})


def _write(figures: object) -> None:
    sys.stdout.write(f"{json.dumps(figures)}\n")
    sys.stdout.flush()


@contextlib.contextmanager
def _broker() -> Iterator[tuple[int, int]]:
    """Start a real broker, and yield its port and process id."""
    from tests.broker.cluster import Cluster

    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder), SETTINGS, JVM) as cluster:
        assert cluster.pid is not None
        yield cluster.port, cluster.pid


@contextlib.contextmanager
def _ours() -> Iterator[tuple[int, int]]:
    """Start our coordinator in a new process, and yield its port and process id."""
    command = [sys.executable, "-m", "benches.coordinator_loopback"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process.pid
        finally:
            process.kill()


if __name__ == "__main__":
    main(sys.argv[1:])
