"""What is timed and what it should come to: the goals as data, and the selections that one can ask to run."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from benches.timing import Pace
from benches.workloads import PAIRS, TOPICS, Axis, Racks, Shape, Sizes, Workload, grid, jmh


@dataclass(frozen=True, slots=True)
class Goal:
    """So many times as fast as a peer on one group.

    Attributes:
        ours: The side that is to be fast.
        peer: The side it is compared with.
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
class JavaGoal:
    """So many times as fast as Java's RangeAssignor.

    Attributes:
        ours: The side that is to be fast.
        racks: Which points it is about: those without racks, or those where rack logic is on.
        each: How many times as long Java should take at every point.
        mean: And in the geometric mean over all points.
    """

    ours: str
    racks: Racks
    each: float | None = None
    mean: float | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """A goal and what was measured.

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
        """Whether the goal is met."""
        return self.measured >= self.wanted if self.sense == ">=" else self.measured <= self.wanted


TINY = Workload(3, 1, 6)
SMALL = Workload(50, 20, 100)
SQUARE = Workload(1000, 100, 100)
WIDE = Workload(1000, 1000, 50)
TALL = Workload(10000, 100, 500)
FLAT = Workload(100, 1, 1_000_000)
LARGE = (SQUARE, WIDE, TALL)


def _heterogeneous(workload: Workload) -> Workload:
    return replace(workload, subscription="HETEROGENEOUS")


OVER_PEERS = [
    Goal("assign", "simple Python", TINY, 2),
    Goal("assign", "kafka-python", TINY, 5),
    Goal("assign", "kafka-python", SMALL, 8),
    Goal("assign", "kafka-python", _heterogeneous(SMALL), 4),
    Goal("assign", "kafka-python", SQUARE, 150),
    Goal("assign", "kafka-python", SQUARE, 100, "objects"),
    Goal("assign", "kafka-python", _heterogeneous(SQUARE), 20),
    Goal("assign", "kafka-python", WIDE, 300),
    Goal("assign", "kafka-python", WIDE, 80, "fresh"),
    Goal("assign", "kafka-python", WIDE, 200, "sets"),
    Goal("assign", "kafka-python", TALL, 300),
    Goal("assign", "kafka-python", _heterogeneous(TALL), 75),
    Goal("assign", "kafka-python", FLAT, 1),
    Goal("assign, Topics", "kafka-python", FLAT, 6),
    Goal("plan", "kafka-python", TINY, 6),
    Goal("plan", "kafka-python", SMALL, 60),
    Goal("plan", "kafka-python", _heterogeneous(SMALL), 30),
    *(Goal("plan", "kafka-python", workload, 800) for workload in LARGE),
    *(Goal("plan", "kafka-python", _heterogeneous(workload), 150) for workload in LARGE),
    *(Goal("plan", "kafka-python", workload, 90, "fresh") for workload in LARGE),
    *(Goal("plan", "kafka-python", workload, 400, "sets") for workload in LARGE),
    *(Goal("plan", "kafka-python", workload, 500, "objects") for workload in LARGE),
    Goal("plan", "kafka-python", FLAT, 400),
    Goal("plan", "kafka-python", Workload(10000, 1000, 100, "DISTINCT"), 50),
    Goal("Group.plan", "kafka-python", TALL, 30_000),
]

OVER_JAVA = [
    JavaGoal("assign", racks="none", each=1, mean=6),
    JavaGoal("assign, Topics", racks="none", mean=12),
    JavaGoal("plan", racks="none", each=5, mean=30),
    JavaGoal("plan", racks="two", each=10),
    JavaGoal("plan, columns", racks="two", each=50),
]

ENCODE = 80
"""How many times as long kafka-python should take to encode a whole group."""

DOUBLING = 2.2
"""How many times as long it may take when members, topics or partitions double."""

CHECKING = 10
"""How many per cent of a call may go into checking its input."""

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


def java_grid(members: Sequence[int], racks: Racks = "none", sizes: Sizes = "equal") -> list[Workload]:
    """JMH's points of ratio 10, but for the largest, which take Java minutes."""
    return [
        point
        for subscription in ("HOMOGENEOUS", "HETEROGENEOUS")
        for count, topics in itertools.product(members, TOPICS)
        if (point := jmh(count, topics, 10, subscription, racks, sizes)).members * topics <= PAIRS
    ]


@dataclass(frozen=True, slots=True)
class Selection:
    """What one can ask to run.

    Attributes:
        pace: Rounds of a comparison with Python peers.
        peers: The groups on which Python peers are timed, and the shapes of their subscriptions.
        own_pace: Rounds of all others, where no side is as slow as those.
        java_warm: How many milliseconds Java is warmed up for at each point.
        java: The groups on which Java is timed.
        encoded: The groups that are encoded.
        growing: By the size that doubles, the first group of the series.
        matched: How many topics and how many patterns; the last are the most.
        partitions: Of the groups whose memory is measured.
        checked: The groups, and their shapes, on which the checks of input are timed.
        crowds: Of the coordinator: how many groups, and how many members each has.
        crowd_rounds: How often each of them rebalances.
        group_sizes: Members of the groups in which the cost of one request is compared.
        group_counts: Numbers of groups, for the same.
        served: Members of the group that is given to a real broker; with none there is no broker.
    """

    pace: Pace
    peers: list[tuple[Workload, Shape]]
    own_pace: Pace
    java_warm: int
    java: list[Workload]
    encoded: list[Workload]
    growing: dict[Axis, Workload]
    matched: Sequence[tuple[int, int]]
    partitions: int = 1_000_000
    checked: Sequence[tuple[Workload, Shape]] = ()
    crowds: Sequence[tuple[int, int]] = ((1, 10_000), (100_000, 3))
    crowd_rounds: int = 5
    group_sizes: Sequence[int] = (10, 100, 1_000, 10_000)
    group_counts: Sequence[int] = (100, 1_000, 10_000, 100_000)
    served: int = 10_000


_WORKLOADS = list(dict.fromkeys(goal.workload for goal in OVER_PEERS))
_CASES: list[tuple[Workload, Shape]] = sorted(
    dict.fromkeys((goal.workload, goal.shape) for goal in OVER_PEERS), key=lambda case: _WORKLOADS.index(case[0])
)
_DEFAULT = Selection(
    pace=Pace(seconds=3, fewest=3, most=30),
    peers=_CASES,
    own_pace=Pace(seconds=1.5, fewest=7, most=30),
    java_warm=2000,
    java=[
        *java_grid((100, 1000, 10000)),
        *java_grid((1000, 10000), "two"),
        *java_grid((1000, 10000), "two", "differ"),
    ],
    encoded=[SQUARE, WIDE],
    growing={
        "members": Workload(1250, 100, 500),
        "topics": Workload(1000, 125, 50),
        "partitions": Workload(1000, 10, 6250),
    },
    matched=[(10_000, 1), (10_000, 10), (10_000, 200), (10_000, 2000)],
    checked=[
        (TINY, "lists"),
        (SMALL, "lists"),
        *((SQUARE, shape) for shape in get_args(Shape)),
        (WIDE, "fresh"),
        (replace(SQUARE, racks="two"), "objects"),
    ],
)

SELECTIONS = {
    "quick": Selection(
        pace=Pace(seconds=0.05, fewest=3, most=30),
        peers=[(workload, shape) for workload, shape in _CASES if workload in (TINY, SMALL, _heterogeneous(SMALL))],
        own_pace=Pace(seconds=0.05, fewest=3, most=30),
        java_warm=50,
        java=[jmh(100, 10, 10), jmh(100, 10, 10, racks="two"), jmh(100, 10, 10, "HETEROGENEOUS", "two", "differ")],
        encoded=[jmh(100, 10, 10)],
        growing=dict.fromkeys(get_args(Axis), Workload(50, 10, 20)),
        matched=[(200, 1), (200, 20)],
        partitions=100_000,
        crowds=((1, 100), (100, 3)),
        crowd_rounds=2,
        group_sizes=(10, 100, 200),
        group_counts=(100, 200),
        served=100,
    ),
    "default": _DEFAULT,
    "all": replace(
        _DEFAULT,
        peers=[*_CASES, *((point, "lists") for point in grid() if (point, "lists") not in _CASES)],
        java=[point for point in grid() if point.members * point.topics <= PAIRS],
    ),
}
"""By name: a smoke test whose figures mean nothing, what the goals are about, and all of JMH's grid besides."""
