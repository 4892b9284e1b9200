"""A real broker's coordinator under a group of many members: `coordinator_servers.py MEMBERS ROUNDS`.

What is printed, as JSON, are the members that there could be, and by phase what each round took. It runs in a process
of its own, which opens a file for every member, and so does the broker's.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from coordinator_sockets import Members, Spent
from coordinator_workloads import Crowd, subscriptions_of

TESTS = Path(__file__).resolve().parents[1] / "tests"

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


class ServerMissingError(Exception):
    """No server can be started here, and why."""


class Served(NamedTuple):
    """What a server took.

    Attributes:
        members: How many there could be.
        phases: By phase, what each round took.
    """

    members: int
    phases: dict[str, list[Spent]]


def serve(members: int, rounds: int) -> Served:
    """Starts a broker with that many members in a process of its own.

    Raises:
        ServerMissingError: There is no Java, no Maven, or no Linux here.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, __file__, str(members), str(rounds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise ServerMissingError(said[-1] if said else "no word why")
    told = json.loads(done.stdout)
    return Served(told["members"], {phase: [Spent(*spent) for spent in each] for phase, each in told["phases"].items()})


def main(arguments: Sequence[str]) -> None:
    """Starts a broker and drives a group in it."""
    from broker.cluster import Cluster

    wanted, rounds = map(int, arguments)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    crowd = Crowd(1, min(wanted, most - SPARE))
    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder), SETTINGS, JVM) as cluster:
        assert cluster.pid is not None
        sys.stdout.write(json.dumps(drive(cluster.port, cluster.pid, crowd, rounds)._asdict()))


def drive(port: int, server: int, crowd: Crowd, rounds: int) -> Served:
    """A group from its founding to so many rebalances with heartbeats after each; a first round is a rehearsal."""
    group = Members(port, server, subscriptions_of(crowd), crowd.partitions_per_topic())
    with contextlib.closing(group):
        phases: dict[str, list[Spent]] = {"ask for ids": [group.found()], "join": [], "sync": [], "heartbeat": []}
        for _ in range(rounds + 1):
            for phase, call in (("join", group.rejoin), ("sync", group.sync), ("heartbeat", group.beat)):
                phases[phase].append(call())
    for phase in ("join", "sync", "heartbeat"):
        del phases[phase][0]
    return Served(crowd.members, phases)


if __name__ == "__main__":
    main(sys.argv[1:])
