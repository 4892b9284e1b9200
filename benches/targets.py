"""Targets of the benchmarks: required ratios, by implementation, peer and workload."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from benches.workloads import AssignorName, Racks, Shape, Workload


@dataclass(frozen=True, slots=True)
class Target:
    """Required ratio of a peer's time to our time on one group.

    Attributes:
        ours: Our implementation.
        peer: The implementation that it is compared with.
        workload: The group.
        at_least: Smallest ratio of the peer's time to ours.
        shape: Shape of the subscriptions.
    """

    ours: str
    peer: str
    workload: Workload
    at_least: float
    shape: Shape = "lists"


@dataclass(frozen=True, slots=True)
class JavaTarget:
    """Required ratio of the time of Java's RangeAssignor to our time.

    Attributes:
        ours: Our implementation.
        racks: Kind of racks of the groups to which the target applies.
        each: Smallest ratio for each group.
        mean: Smallest geometric mean of the ratios.
    """

    ours: str
    racks: Racks
    each: float | None = None
    mean: float | None = None


@dataclass(frozen=True, slots=True)
class AssignorTarget:
    """Required ratio of the time of Java's class of an assignor to our time.

    Attributes:
        assignors: The assignors.
        ours: Our implementation.
        each: Smallest ratio for each group.
        mean: Smallest geometric mean of the ratios.
        slow: Smallest ratio for each group for which Java takes longer than `JAVA_SLOW`.
    """

    assignors: tuple[AssignorName, ...]
    ours: str
    each: float
    mean: float | None = None
    slow: float | None = None


@dataclass(frozen=True, slots=True)
class TargetResult:
    """Target with its measured value.

    Attributes:
        what: Name of the measured value.
        measured: Measured value.
        wanted: Limit of the value.
        unit: Unit of both: `x` (times), `%` or ` bytes`.
        sense: `>=` if the limit is a minimum, `<=` if it is a maximum.
    """

    what: str
    measured: float
    wanted: float
    unit: Literal["x", "%", " bytes"] = "x"
    sense: Literal[">=", "<="] = ">="

    @property
    def met(self) -> bool:
        """True if the target is met."""
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
    Target("assign", "kafka-python", TINY, 8),
    Target("assign", "kafka-python", SMALL, 15),
    Target("assign", "kafka-python", heterogeneous(SMALL), 6),
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
"""The groups on which the sticky assignor of each peer is timed. The last group results from the first by doubling
members and partitions per topic together; it is the largest that the peer finishes within a minute on an idle
machine."""

OVER_CLIENTS = {
    **dict.fromkeys(((workload, "kafka-python") for workload in (WIDE, TALL)), 60.0),
    **dict.fromkeys(((workload, "aiokafka") for workload in (WIDE, TALL)), 80.0),
    **{(Workload(1000, 100, 10, assignor="sticky"), client): 500.0 for client in ("kafka-python", "aiokafka")},
}
"""The smallest ratios of the time of a client's own assignor and encoder to ours, by group and client."""

ENCODE = 80
"""Smallest ratio of the time of kafka-python to ours, to encode all assignments of a group."""

DOUBLING = 2.2
"""Largest ratio of times when members, topics or partitions double."""

BEYOND = 20
"""Largest memory in use beyond the result while it is built, in percent of the result."""

COLLECT = 0.3
"""Largest ratio of the time of `gc.collect()` with the answer of `assign` to its time with that of the reference."""


ALL_AT_ONCE = {"re": 10, "google-re2": 10, "google-re2 Set": 4}
"""Smallest ratio of the time of each peer to ours, to compile and match all patterns."""

NEW_PATTERN = 20
"""Smallest ratio of the time of Python's re to ours, for one more pattern."""

GROWN = 3
"""Largest ratio of the time of a coordinator request with 10,000 members, or 100,000 groups, to its time with 100."""

MEMBER_BYTES = 1_200
"""Largest resident memory of the coordinator per member."""

COLLECTED = 60_000
"""Number of members of a group set for which the share of the garbage collector has a target."""

COLLECTOR_SHARE = 10
"""Largest percentage of a server's processor time that Python's garbage collector takes."""
