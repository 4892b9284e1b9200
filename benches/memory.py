"""Memory of a call, measured in a new process: `python -m benches.memory IMPLEMENTATION MEMBERS TOPICS PARTITIONS`.

The process prints, as JSON, the resident bytes before the call, with the result alive, and at the peak of the call, and
the seconds of `gc.collect()` with the result alive. The bytes are null on systems other than Linux.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import gc
import json
import subprocess
import sys
import time
import types
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assignor import assign, plan
from benches.report import Part, Row, Run, Target, section
from benches.timing import Times
from benches.workloads import Workload

ROOT = Path(__file__).resolve().parents[1]
STATUS, RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")
COLLECTIONS = 5

ALIGNMENT = 16
"""Python's allocator rounds sizes up to a multiple of this number of bytes."""

_NOT_COUNTED = (type, types.ModuleType, types.FunctionType, types.MethodType, types.CodeType, enum.Enum)
"""Types of objects that exist without the measured one; `live_bytes` leaves such objects out."""

BEYOND = 20
"""Largest memory in use beyond the result while it is built, in percent of the result."""

COLLECT = 0.3
"""Largest ratio of the time of `gc.collect()` with the answer of `assign` to its time with that of the reference."""


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


CALLS: dict[str, Callable[..., Any]] = {
    "assign": assign,
    "plan.spans": lambda topics, members: plan(topics, members).spans(),
    "reference": functools.partial(assign, engine="reference"),
}


@section(
    "memory",
    "Memory",
    "Each call runs in a new process. The columns are the milliseconds of gc.collect() while the result is alive, "
    "min / median, the growth of resident memory while the result is alive, and the additional memory at the peak of "
    "the call.",
)
def memory(run: Run) -> Iterator[Part]:
    partitions = run.of(1_000_000, 100_000)
    flat, wide = Workload(100, 1, partitions), Workload(1000, 1000, partitions // 1000)
    collected: dict[tuple[str, Workload], Times] = {}
    targets = []
    for name, workload in (
        *(("assign", flat), ("assign", wide), ("plan.spans", wide)),
        *(("reference", flat), ("reference", wide)),
    ):
        what = f"{name}, {workload.name}"
        run.report(f"memory of {what}")
        sizes = map(str, (workload.members, workload.topics, workload.partitions))
        command = [sys.executable, "-m", "benches.memory", name, *sizes]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        use = Use(**json.loads(done.stdout))
        times = collected[name, workload] = {"gc.collect(), ms": use.collect}
        spans = {"result, MB": (use.before, use.alive), "beyond the result, MB": (use.alive, use.peak)}
        yield Row(
            what,
            times,
            {column: f"{(end - start) / 1e6:.1f}" for column, (start, end) in spans.items() if start and end},
        )
        if name != "reference" and use.beyond is not None:
            targets.append(Target(f"peak beyond the result, {what}", use.beyond * 100, BEYOND, "%", "<="))
    yield from targets
    for workload in (flat, wide):
        ours, theirs = (sorted(*collected[name, workload].values()) for name in ("assign", "reference"))
        what = f"gc.collect() with the answer of assign / with that of the reference, {workload.name}"
        yield Target(what, ours[COLLECTIONS // 2] / theirs[COLLECTIONS // 2], COLLECT, sense="<=")


def main(arguments: Sequence[str]) -> None:
    """Make the call in this process and print its memory."""
    call = CALLS[arguments[0]]
    members, topics, partitions = map(int, arguments[1:])
    workload = Workload(members, topics, partitions)
    call({"t": 2}, {"a": ["t"], "b": ["t"]})  # exclude what only the first call allocates
    given = workload.partitions_per_topic(), workload.subscriptions()
    gc.collect()
    give_back()
    if RESET.exists():
        RESET.write_text("5", encoding="ascii")  # the peak becomes the present memory
    before = resident("VmRSS")
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


def give_back() -> None:
    """Let the allocator return free memory, which would otherwise count as part of the result."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def resident(field: str) -> int | None:
    """Return the bytes in a field of this process's status; None on systems other than Linux."""
    if not STATUS.exists():
        return None
    lines = STATUS.read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


if __name__ == "__main__":
    main(sys.argv[1:])
