"""Targets of the benchmarks: how fast each implementation should be, beside which peer and on which workload."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from benches.workloads import AssignorName, Racks, Shape, Workload


@dataclass(frozen=True, slots=True)
class Target:
    """Speed on one group as a multiple of a peer's.

    Attributes:
        ours: The implementation that is to be fast.
        peer: The implementation it is compared with.
        workload: The group.
        at_least: How many times as long the peer should take.
        shape: How Python holds the subscriptions.
    """

    ours: str
    peer: str
    workload: Workload
    at_least: float
    shape: Shape = "lists"


@dataclass(frozen=True, slots=True)
class JavaTarget:
    """Speed as a multiple of that of Java's RangeAssignor.

    Attributes:
        ours: The implementation that is to be fast.
        racks: Which points it is about: those without racks, or those where rack logic is on.
        each: How many times as long Java should take at every point.
        mean: And in the geometric mean over all points.
    """

    ours: str
    racks: Racks
    each: float | None = None
    mean: float | None = None


@dataclass(frozen=True, slots=True)
class AssignorTarget:
    """Speed of an assignor as a multiple of that of Java's class.

    Attributes:
        assignors: The assignors.
        ours: The implementation that the target is for.
        each: The smallest ratio of Java's time to ours at every point.
        mean: The smallest geometric mean of the ratios over all points.
        slow: The smallest ratio at every point at which Java takes longer than `JAVA_SLOW`.
    """

    assignors: tuple[AssignorName, ...]
    ours: str
    each: float
    mean: float | None = None
    slow: float | None = None


@dataclass(frozen=True, slots=True)
class TargetResult:
    """A target and what was measured.

    Attributes:
        what: What was measured, where.
        measured: What it came to.
        wanted: What it should come to.
        unit: `x` (times) or `%`.
        sense: `>=` or `<=`.
    """

    what: str
    measured: float
    wanted: float
    unit: Literal["x", "%"] = "x"
    sense: Literal[">=", "<="] = ">="

    @property
    def met(self) -> bool:
        """Whether the target is met."""
        return self.measured >= self.wanted if self.sense == ">=" else self.measured <= self.wanted


TINY = Workload(3, 1, 6)
SMALL = Workload(50, 20, 100)
SQUARE = Workload(1000, 100, 100)
WIDE = Workload(1000, 1000, 50)
TALL = Workload(10000, 100, 500)
FLAT = Workload(100, 1, 1_000_000)
LARGE = (SQUARE, WIDE, TALL)


def heterogeneous(workload: Workload) -> Workload:
    return replace(workload, subscription="HETEROGENEOUS")


OVER_PEERS = [
    Target("assign", "simple Python", TINY, 2),
    Target("assign", "kafka-python", TINY, 5),
    Target("assign", "kafka-python", SMALL, 8),
    Target("assign", "kafka-python", heterogeneous(SMALL), 4),
    Target("assign", "kafka-python", SQUARE, 150),
    Target("assign", "kafka-python", SQUARE, 100, "objects"),
    Target("assign", "kafka-python", heterogeneous(SQUARE), 20),
    Target("assign", "kafka-python", WIDE, 300),
    Target("assign", "kafka-python", WIDE, 80, "fresh"),
    Target("assign", "kafka-python", WIDE, 200, "sets"),
    Target("assign", "kafka-python", TALL, 300),
    Target("assign", "kafka-python", heterogeneous(TALL), 75),
    Target("assign", "kafka-python", FLAT, 1),
    Target("assign, Topics", "kafka-python", FLAT, 6),
    Target("plan", "kafka-python", TINY, 6),
    Target("plan", "kafka-python", SMALL, 60),
    Target("plan", "kafka-python", heterogeneous(SMALL), 30),
    *(Target("plan", "kafka-python", workload, 800) for workload in LARGE),
    *(Target("plan", "kafka-python", heterogeneous(workload), 150) for workload in LARGE),
    *(Target("plan", "kafka-python", workload, 90, "fresh") for workload in LARGE),
    *(Target("plan", "kafka-python", workload, 400, "sets") for workload in LARGE),
    *(Target("plan", "kafka-python", workload, 500, "objects") for workload in LARGE),
    Target("plan", "kafka-python", FLAT, 400),
    Target("plan", "kafka-python", Workload(10000, 1000, 100, "DISTINCT"), 50),
    Target("Group.plan", "kafka-python", TALL, 30_000),
]

OVER_JAVA = [
    JavaTarget("assign", racks="none", each=1, mean=6),
    JavaTarget("assign, Topics", racks="none", mean=12),
    JavaTarget("plan", racks="none", each=5, mean=30),
    JavaTarget("plan", racks="two", each=10),
    JavaTarget("plan, columns", racks="two", each=50),
]

LEADER: tuple[AssignorName, ...] = ("roundrobin", "sticky", "cooperative-sticky")
BROKER: tuple[AssignorName, ...] = ("uniform", "server-range")

OVER_JAVA_ASSIGNORS = [
    AssignorTarget(LEADER, "plan", each=3, mean=15, slow=200),
    AssignorTarget(BROKER, "plan", each=1),
    AssignorTarget(BROKER, "Group.plan", each=3),
]

JAVA_SLOW = 1.0
"""If Java takes more seconds than this, its cost is super-linear."""

OVER_STICKY_PEERS = 500
"""The smallest ratio of the time of Python peers' sticky assignors to the time of `plan`."""

STICKY_PEERS = dict.fromkeys(
    ("kafka-python", "aiokafka"),
    (
        Workload(1000, 100, 10, assignor="sticky"),
        Workload(1000, 100, 10, assignor="sticky", event="join"),
        Workload(4000, 100, 40, assignor="sticky"),
    ),
)
"""By peer, the groups on which its sticky assignor is timed; the last is the largest that it finishes within a minute
on a quiet machine, where members and partitions double together."""

ENCODE = 80
"""How many times as long kafka-python should take to encode a whole group."""

DOUBLING = 2.2
"""How many times as long it may take when members, topics or partitions double."""

BEYOND = 20
"""How many per cent of the result's memory may be in use beyond it while it is made."""

COLLECT = 0.3
"""How many times as long `gc.collect()` may take after `assign` as after the reference."""


ALL_AT_ONCE = {"re": 10, "google-re2": 10, "google-re2 Set": 4}
"""How many times as long a peer should take to compile and match all patterns."""

NEW_PATTERN = 20
"""How many times as long Python's re should take for a pattern that is new."""

GROWN = 3
"""How many times as long a request to the coordinator may take in a group of 10,000 as in one of 100, or among 100,000
groups as among 100."""
