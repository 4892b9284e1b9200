"""Memory of a coordinator with its groups, and the work of Python's garbage collector, measured in a new process.

`python -m benches.coordinator_memory GROUPS MEMBERS TOPICS PARTITIONS` is that process, the server. The clients are in
the calling process. The server reads their calls from its standard input as pickles, so each request has objects of its
own, and the server drops it once it is answered. At the end the server prints its `Footprint` as JSON.
"""

from __future__ import annotations

import contextlib
import enum
import gc
import json
import pickle
import random
import subprocess
import sys
import time
import types
import uuid
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

from assignor.coordinator import Coordinator, CoordinatorConfig
from benches.coordinator_workloads import DELAY_MS, CoordinatedGroups, GroupSet
from benches.memory import give_back, resident

ROOT = Path(__file__).resolve().parents[1]

TOGETHER = 5_000
"""Number of groups that form at the same time. Later groups reuse the memory of earlier waiting requests."""

CALLS = ("join_group", "sync_group", "heartbeat", "expire")
"""Calls of the clients that change a coordinator."""

ALIGNMENT = 16
"""Python's allocator rounds sizes up to a multiple of this number of bytes."""

_NOT_COUNTED = (type, types.ModuleType, types.FunctionType, types.MethodType, types.CodeType, enum.Enum)
"""Types of objects that exist without groups; `live_bytes` leaves such objects out."""


class Footprint(NamedTuple):
    """Memory of a server per member, and the collector's share of the server's time.

    Attributes:
        resident: Growth of the resident memory of the process, in bytes; None on systems other than Linux.
        live: Bytes of all objects that the coordinator refers to.
        collector: Percentage of the server's processor time that Python's garbage collector takes. The time starts with
            the first request, and includes reading the requests.
    """

    resident: float | None
    live: float
    collector: float


class CollectorTime:
    """Processor time that Python's garbage collector has taken since this object was created.

    Attributes:
        seconds: Time so far.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._start = 0.0
        gc.callbacks.append(self._on_event)

    def stop(self) -> None:
        """Stop counting."""
        gc.callbacks.remove(self._on_event)

    def _on_event(self, phase: str, _details: object) -> None:
        now = time.process_time()
        if phase == "stop":
            self.seconds += now - self._start
        self._start = now


class ForwardingCoordinator:
    """Coordinator of the clients, which also passes those of their calls that are in `CALLS` to the server.

    Args:
        coordinator: The coordinator whose answers the clients get.
        server: Standard input of the server.
    """

    def __init__(self, coordinator: Coordinator, server: IO[bytes]) -> None:
        self._coordinator = coordinator
        self._server = server

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._coordinator, name)

        def forward(*arguments: Any) -> Any:
            if name in CALLS:
                pickle.dump((name, *arguments[:2]), self._server, pickle.HIGHEST_PROTOCOL)
            return call(*arguments)

        return forward


def footprint(group_set: GroupSet) -> Footprint:
    """Return the footprint of groups that have formed, rebalanced once more, and sent heartbeats."""
    command = [sys.executable, "-m", "benches.coordinator_memory", *map(str, astuple(group_set))]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        _run_clients(group_set, ForwardingCoordinator(_coordinator(group_set), server.stdin))
        server.stdin.close()
        return Footprint(*json.loads(server.stdout.read()))


def _run_clients(group_set: GroupSet, coordinator: Any) -> None:
    now, parts = 0, []
    for first in range(0, group_set.groups, TOGETHER):
        groups = min(TOGETHER, group_set.groups - first)
        part = CoordinatedGroups(replace(group_set, groups=groups), now=now, prefix=f"group-{first}")
        part.coordinator = coordinator
        part.form()
        part.rebalance()
        parts.append(part)
        now = part.now
    for part in parts:
        part.now = now
        part.heartbeat_all()
        now = part.now


def _coordinator(group_set: GroupSet) -> Coordinator:
    """Return a coordinator that issues the same member ids in each process."""
    draw = random.Random(group_set.size)
    return Coordinator(
        CoordinatorConfig(initial_rebalance_delay_ms=DELAY_MS),
        partitions_per_topic=group_set.partitions_per_topic(),
        member_ids=lambda prefix: f"{prefix}-{uuid.UUID(int=draw.getrandbits(128), version=4)}",
    )


def main(arguments: Sequence[str]) -> None:
    """Serve the clients in this process, and print the footprint."""
    group_set = GroupSet(*map(int, arguments))
    rehearsal = CoordinatedGroups(GroupSet(1, 3))  # exclude what only the first calls allocate
    rehearsal.form()
    rehearsal.heartbeat_all()
    del rehearsal
    coordinator = _coordinator(group_set)
    before = _in_use()
    collector, start = CollectorTime(), time.process_time()
    with contextlib.suppress(EOFError):
        while True:
            name, *arguments = pickle.load(sys.stdin.buffer)
            getattr(coordinator, name)(*arguments)
            del arguments
    share = 100 * collector.seconds / (time.process_time() - start)
    collector.stop()
    after = _in_use()
    assert len(coordinator.groups()) == group_set.groups
    resident_bytes = None if before is None or after is None else (after - before) / group_set.size
    sys.stdout.write(json.dumps(Footprint(resident_bytes, live_bytes(coordinator) / group_set.size, share)))


def live_bytes(root: object) -> int:
    """Return the size of all objects that an object refers to, as Python's allocator rounds it."""
    seen, rest, total = set(), [root], 0
    while rest:
        each = rest.pop()
        if id(each) not in seen and not isinstance(each, _NOT_COUNTED):
            seen.add(id(each))
            total += -(-sys.getsizeof(each) // ALIGNMENT) * ALIGNMENT
            rest += gc.get_referents(each)
    return total


def _in_use() -> int | None:
    gc.collect()
    give_back()
    return resident("VmRSS")


if __name__ == "__main__":
    main(sys.argv[1:])
