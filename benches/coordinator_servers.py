"""Servers of one large group, each in turn: a real broker, and a `Coordinator` behind loopback sockets.

As a program, `python -m benches.coordinator_servers SERVER MEMBERS`, it starts one of them with one group, and
answers each line of its input with the figures of a round, as JSON. Each server has a process of its own, since each
opens a file for every member; the one that waits for its turn costs nothing.
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
from benches.coordinator_workloads import Crowd, subscriptions_of
from benches.line_process import LineProcess, ProcessEndedError

ROOT = Path(__file__).resolve().parents[1]

SPARE = 1_000
"""Files that a broker needs beside its connections."""

SETTINGS = {
    "group.initial.rebalance.delay.ms": "3000",
    "message.max.bytes": "104857600",
    "num.network.threads": "3",
    "num.io.threads": "8",
}
"""Kafka's defaults where the broker of the tests has others, and room for a record of all members."""

JVM = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35")
"""As Kafka's own script starts a broker."""

Phases = dict[str, Spent]
"""By what everybody asked for, what it took."""


class ServerMissingError(Exception):
    """No server can be timed here, and why."""


class ServedGroup(LineProcess):
    """A group of many members in a server, in a process of its own; `with` ends it.

    Args:
        implementation: "broker" or "ours".
        members: How many there are to be.

    Attributes:
        members: How many there are: fewer, where so many files cannot be opened.
        beginning: What asking for member ids took.

    Raises:
        ServerMissingError: There is no Java, no Maven or no Linux here.
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
    """Starts a server and drives a group in it, a round for each line."""
    implementation, wanted = arguments[0], int(arguments[1])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    crowd = Crowd(1, min(wanted, most - SPARE))
    with {"broker": _broker, "ours": _ours}[implementation]() as (port, process):
        group = Members(port, process, subscriptions_of(crowd), crowd.partitions_per_topic())
        with contextlib.closing(group):
            _write((crowd.members, group.found()))
            for _ in sys.stdin:
                _write({"join": group.rejoin(), "sync": group.sync(), "heartbeat": group.beat()})


def _write(figures: object) -> None:
    sys.stdout.write(f"{json.dumps(figures)}\n")
    sys.stdout.flush()


@contextlib.contextmanager
def _broker() -> Iterator[tuple[int, int]]:
    """A real broker: its port and the number of its process."""
    from tests.broker.cluster import Cluster

    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder), SETTINGS, JVM) as cluster:
        assert cluster.pid is not None
        yield cluster.port, cluster.pid


@contextlib.contextmanager
def _ours() -> Iterator[tuple[int, int]]:
    """Our coordinator in a process of its own."""
    command = [sys.executable, "-m", "benches.coordinator_loopback"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline()), process.pid
        finally:
            process.communicate()


if __name__ == "__main__":
    main(sys.argv[1:])
