"""Memory of a call, measured in a new process: `python -m benches.memory IMPLEMENTATION MEMBERS TOPICS PARTITIONS`.

The process prints, as JSON, the resident bytes before the call, with the result alive, and at the peak of the call, and
the seconds of `gc.collect()` with the result alive. The bytes are null on systems other than Linux.
"""

from __future__ import annotations

import ctypes
import functools
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assignor import Spans, assign, plan
from benches.workloads import Workload

ROOT = Path(__file__).resolve().parents[1]
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
COLLECTIONS = 5


class Use(NamedTuple):
    """Memory of a call in bytes, and seconds of `gc.collect()`."""

    before: int | None
    alive: int | None
    peak: int | None
    collect: list[float]

    @property
    def beyond(self) -> float | None:
        """Memory in use beyond the result at the peak, as a share of the result."""
        if self.before is None or self.alive is None or self.peak is None:
            return None
        return (self.peak - self.alive) / (self.alive - self.before)


def _spans(partitions_per_topic: Any, subscriptions: Any) -> Spans:
    return plan(partitions_per_topic, subscriptions).spans()


IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {
    "assign": assign,
    "plan.spans": _spans,
    "reference": functools.partial(assign, engine="reference"),
}


def measure(implementation: str, workload: Workload) -> Use:
    """Make the call in a new process and return its memory."""
    sizes = map(str, (workload.members, workload.topics, workload.partitions))
    done = subprocess.run(
        [sys.executable, "-m", "benches.memory", implementation, *sizes],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return Use(**json.loads(done.stdout))


def main(arguments: Sequence[str]) -> None:
    """Make the call in this process and print its memory."""
    call = IMPLEMENTATIONS[arguments[0]]
    members, topics, partitions = map(int, arguments[1:])
    workload = Workload(members, topics, partitions)
    call({"t": 2}, {"a": ["t"], "b": ["t"]})  # exclude what only the first call allocates
    given = workload.partitions_per_topic(), workload.subscriptions()
    gc.collect()
    give_back()
    before = _reset_peak()
    result = call(*given)
    peak = resident("VmHWM")
    give_back()
    alive = resident("VmRSS")
    del given  # the collector should traverse the result, not the input
    collect = []
    for _ in range(COLLECTIONS):
        start = time.perf_counter()
        gc.collect()
        collect.append(time.perf_counter() - start)
    del result
    sys.stdout.write(json.dumps(Use(before, alive, peak, collect)._asdict()))


def _reset_peak() -> int | None:
    """Reset the peak to the present memory, and return it."""
    if RESET.exists():
        RESET.write_text("5", encoding="ascii")
    return resident("VmRSS")


def give_back() -> None:
    """Let the allocator return free memory, which would otherwise count as part of the result."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def resident(field: str) -> int | None:
    if not STATUS.exists():
        return None
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    main(sys.argv[1:])
