"""Selections of workloads: a smoke test, the workloads of the targets, and JMH's whole grid."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from benches.targets import (
    BROKER,
    LEADER,
    OVER_CLIENTS,
    OVER_PEERS,
    SMALL,
    SQUARE,
    STICKY_PEERS,
    TINY,
    WIDE,
    heterogeneous,
)
from benches.timing import Pace
from benches.workloads import (
    PAIRS,
    TOPICS,
    AssignorName,
    Axis,
    Event,
    Racks,
    Shape,
    Sizes,
    SubscriptionType,
    Workload,
    grid,
    jmh,
)

SLOW_IN_JAVA = 1000
"""Rolling restarts are timed only below this number of topics, because Java may need seconds for each rebalance."""


def assignor_points(assignor: AssignorName) -> list[Workload]:
    """Return the groups and events on which an assignor and Java's class are timed."""
    points: list[tuple[SubscriptionType, Racks, tuple[int, int, int]]] = [
        (subscription, "none", sizes)
        for subscription in ("HOMOGENEOUS", "FIFTHS", "HALF")
        for sizes in ((100, 100, 10), (1000, 100, 10), (1000, 1000, 10), (10000, 100, 10))
    ]
    points.append(("HOMOGENEOUS", "none", (10000, 100, 100)))
    if assignor in ("sticky", "cooperative-sticky"):  # the others do not read racks
        points += [
            ("HOMOGENEOUS", racks, sizes) for racks in ("two", "far") for sizes in ((1000, 100, 10), (1000, 1000, 10))
        ]
    return [
        Workload(*sizes, subscription, racks, assignor=assignor, event=event)
        for subscription, racks, sizes in points
        for event in get_args(Event)
        if event != "rolling" or sizes[1] < SLOW_IN_JAVA
    ]


def growing_assignors(start: Workload) -> list[tuple[Workload, Axis]]:
    """Return the first groups of series in which one size doubles, for each assignor."""
    series: list[tuple[Workload, Axis]] = []
    for assignor in (*LEADER, *BROKER):
        shapes: list[tuple[SubscriptionType, Racks]] = [("HOMOGENEOUS", "none"), ("FIFTHS", "none"), ("HALF", "none")]
        if assignor in ("sticky", "cooperative-sticky"):
            shapes.append(("HOMOGENEOUS", "far"))
        for subscription, racks in shapes:
            first = replace(start, subscription=subscription, racks=racks, assignor=assignor, event="join")
            series += [(first, axis) for axis in get_args(Axis)]
    return series


def java_grid(members: Sequence[int], racks: Racks = "none", sizes: Sizes = "equal") -> list[Workload]:
    """Return the points of JMH's grid whose partitions in total are ten times the members (`ratio` of `jmh`).

    The largest points, for which Java needs minutes, are left out.
    """
    return [
        point
        for subscription in ("HOMOGENEOUS", "HETEROGENEOUS")
        for count, topics in itertools.product(members, TOPICS)
        if (point := jmh(count, topics, 10, subscription, racks, sizes)).members * topics <= PAIRS
    ]


@dataclass(frozen=True, slots=True)
class Selection:
    """Workloads and rounds of a run.

    Attributes:
        pace: Rounds of a comparison with Python peers.
        peers: Groups on which Python peers are timed, with the shape of their subscriptions.
        own_pace: Rounds of comparisons without Python peers.
        java_warm: Milliseconds of calls that warm Java up for each group.
        java: Groups on which Java's RangeAssignor is timed.
        assignors: Groups and events on which Java's other assignors are timed.
        sticky_peers: Groups on which the sticky assignor of each Python peer is timed.
        growing_assignors: First groups of the series in which a size doubles, for assignors other than range.
        assignor_pace: Rounds of comparisons of assignors other than range.
        encoded: Groups whose assignments are encoded.
        clients: Groups that are led inside Python clients.
        growing: First group of each series, by the size that doubles.
        growing_from: First size of the other series; a series with the divisor 10 in `growth.OTHERS` starts with a
            tenth of it.
        matched: Numbers of topics and patterns; the last are the largest.
        partitions: Partitions of the groups whose memory is measured.
        group_sets: Numbers of groups of the coordinator, with the members of each group.
        memory_sets: Numbers of groups whose memory is measured, with the members of each group.
        coordinator_rounds: Number of rebalances of each group set.
        group_sizes: Members of the groups in which the cost of one request is compared.
        group_counts: Numbers of groups with which the cost of one request is compared.
        served: Members of the group on a real broker and in Kafka's class.
    """

    pace: Pace
    peers: list[tuple[Workload, Shape]]
    own_pace: Pace
    java_warm: int
    java: list[Workload]
    assignors: list[Workload]
    sticky_peers: Mapping[str, tuple[Workload, ...]]
    growing_assignors: list[tuple[Workload, Axis]]
    assignor_pace: Pace
    encoded: list[Workload]
    clients: list[Workload]
    growing: dict[Axis, Workload]
    growing_from: int
    matched: Sequence[tuple[int, int]]
    partitions: int = 1_000_000
    group_sets: Sequence[tuple[int, int]] = ((1, 10_000), (100_000, 3))
    memory_sets: Sequence[tuple[int, int]] = ((1, 10_000), (1, 60_000), (20_000, 3), (100_000, 3))
    coordinator_rounds: int = 5
    group_sizes: Sequence[int] = (10, 100, 1_000, 10_000)
    group_counts: Sequence[int] = (100, 1_000, 10_000, 100_000)
    served: int = 10_000


_WORKLOADS = list(dict.fromkeys(target.workload for target in OVER_PEERS))
_CASES: list[tuple[Workload, Shape]] = sorted(
    dict.fromkeys((target.workload, target.shape) for target in OVER_PEERS), key=lambda case: _WORKLOADS.index(case[0])
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
    assignors=[point for assignor in (*LEADER, *BROKER) for point in assignor_points(assignor)],
    sticky_peers=STICKY_PEERS,
    growing_assignors=growing_assignors(Workload(1000, 100, 10)),
    assignor_pace=Pace(seconds=0.7, fewest=3, most=30),
    encoded=[SQUARE, WIDE],
    clients=list(dict.fromkeys(workload for workload, _ in OVER_CLIENTS)),
    growing={
        "members": Workload(1250, 100, 500),
        "topics": Workload(1000, 125, 50),
        "partitions": Workload(1000, 10, 6250),
    },
    growing_from=1_000,
    matched=[(10_000, 1), (10_000, 10), (10_000, 200), (10_000, 2000)],
)

SELECTIONS = {
    "quick": Selection(
        pace=Pace(seconds=0.05, fewest=3, most=30),
        peers=[(workload, shape) for workload, shape in _CASES if workload in (TINY, SMALL, heterogeneous(SMALL))],
        own_pace=Pace(seconds=0.05, fewest=3, most=30),
        java_warm=50,
        java=[jmh(100, 10, 10), jmh(100, 10, 10, racks="two"), jmh(100, 10, 10, "HETEROGENEOUS", "two", "differ")],
        assignors=[
            replace(shape, assignor=assignor, event=event)
            for assignor in (*LEADER, *BROKER)
            for shape in (
                Workload(20, 10, 4, racks="two"),
                Workload(20, 10, 4, "FIFTHS"),
                Workload(20, 10, 4, "HALF", "far"),
            )
            for event in get_args(Event)
        ],
        sticky_peers={peer: (Workload(20, 10, 4, assignor="sticky"),) for peer in STICKY_PEERS},
        growing_assignors=growing_assignors(Workload(20, 10, 4))[::4],
        assignor_pace=Pace(seconds=0.05, fewest=3, most=30),
        encoded=[jmh(100, 10, 10)],
        clients=[Workload(20, 10, 4), Workload(20, 10, 4, assignor="sticky")],
        growing=dict.fromkeys(get_args(Axis), Workload(50, 10, 20)),
        growing_from=100,
        matched=[(200, 1), (200, 20)],
        partitions=100_000,
        group_sets=((1, 100), (100, 3)),
        memory_sets=((1, 100), (100, 3)),
        coordinator_rounds=2,
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
"""The selections by name: a smoke test, the workloads of the targets, and these with JMH's whole grid."""
