"""Benchmarks of assignment: compared with Python peers and with Kafka's classes, and as one size doubles.

pytest-benchmark times one call of this package at a time, to compare two versions of the package. The sections of the
report call this package and others in turn, for ratios.
"""

from __future__ import annotations

import functools
import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

from assignor import plan
from benches.checks import require
from benches.implementations import IMPLEMENTATIONS, forget_answers, prepared, right_answers, series, timed
from benches.java_process import JavaAssignors, JavaMissingError, checksum
from benches.rebalances import RESTARTS
from benches.report import Part, Row, Run, Target, faster, missing, section
from benches.timing import Case, Times, interleave, ratio, sampler
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
    doubling,
    grid,
    jmh,
)

TINY = Workload(3, 1, 6)
SMALL = Workload(50, 20, 100)
SQUARE = Workload(1000, 100, 100)
WIDE = Workload(1000, 1000, 50)
TALL = Workload(10000, 100, 500)
FLAT = Workload(100, 1, 1_000_000)


def heterogeneous(workload: Workload) -> Workload:
    return replace(workload, subscription="HETEROGENEOUS")


SHAPES: dict[Shape, float] = {"lists": 800, "fresh": 90, "sets": 400, "objects": 500}
"""Smallest ratio of the time of kafka-python to that of `plan` on large groups, by shape of the subscriptions."""

OVER_KAFKA_PYTHON: dict[tuple[str, Workload, Shape], float] = {
    ("assign", TINY, "lists"): 8,
    ("assign", SMALL, "lists"): 15,
    ("assign", heterogeneous(SMALL), "lists"): 6,
    ("assign", SQUARE, "lists"): 150,
    ("assign", SQUARE, "objects"): 100,
    ("assign", heterogeneous(SQUARE), "lists"): 20,
    ("assign", WIDE, "lists"): 300,
    ("assign", WIDE, "fresh"): 80,
    ("assign", WIDE, "sets"): 200,
    ("assign", TALL, "lists"): 300,
    ("assign", heterogeneous(TALL), "lists"): 75,
    ("assign", FLAT, "lists"): 1,
    ("assign, Topics", FLAT, "lists"): 6,
    ("plan", TINY, "lists"): 6,
    ("plan", SMALL, "lists"): 60,
    ("plan", heterogeneous(SMALL), "lists"): 30,
    **{("plan", workload, shape): wanted for workload in (SQUARE, WIDE, TALL) for shape, wanted in SHAPES.items()},
    **{("plan", heterogeneous(workload), "lists"): 150 for workload in (SQUARE, WIDE, TALL)},
    ("plan", FLAT, "lists"): 400,
    ("plan", Workload(10000, 1000, 100, "DISTINCT"), "lists"): 50,
    ("Group.plan", TALL, "lists"): 30_000,
}
"""Smallest ratio of the time of kafka-python to the time of a call, by group and shape of the subscriptions."""

OVER_STICKY_PEERS = 500
"""Smallest ratio of the time of Python peers' sticky assignors to the time of `plan`."""

STICKY = (
    Workload(1000, 100, 10, assignor="sticky"),
    Workload(1000, 100, 10, assignor="sticky", event="join"),
    Workload(4000, 100, 40, assignor="sticky"),
)
"""The groups on which the sticky assignors of the peers are timed. The last group results from the first by doubling
members and partitions per topic together; it is the largest that a peer finishes within a minute on an idle machine."""

OVER_JAVA: dict[tuple[str, Racks], tuple[float | None, float | None]] = {
    ("assign", "none"): (1, 6),
    ("assign, Topics", "none"): (None, 12),
    ("plan", "none"): (5, 30),
    ("plan", "two"): (10, None),
    ("plan, columns", "two"): (50, None),
}
"""Smallest ratio of the time of Java's RangeAssignor to that of a call, by racks: for each group, and the mean."""

LEADER: tuple[AssignorName, ...] = ("roundrobin", "sticky", "cooperative-sticky")
BROKER: tuple[AssignorName, ...] = ("uniform", "server-range", "simple")
TITLES = {"server-range": "broker-side range", "simple": "share group"}

JAVA_SLOW = 1.0
"""If Java takes more seconds than this, its cost is super-linear, and the ratio has a target of its own."""

SLOW_IN_JAVA = 1000
"""Rolling restarts are timed only below this number of topics, because Java may need seconds for each rebalance."""

DOUBLING = 2.2
"""Largest ratio of times when members, topics or partitions double."""

ENCODE = 80
"""Smallest ratio of the time of kafka-python to ours, to encode all assignments of a group."""

EVERYWHERE = ("assign", "assign, Topics", "plan", "Group.plan", "kafka-python", "aiokafka", "reference")
"""Implementations in the section about Python peers."""


def groups(run: Run) -> list[tuple[Workload, Shape]]:
    """Return the groups on which Python peers are timed, with the shape of their subscriptions."""
    found = dict.fromkeys((workload, shape) for _, workload, shape in OVER_KAFKA_PYTHON)
    if run.size == "all":
        found |= dict.fromkeys((point, "lists") for point in grid())
    names = list(dict.fromkeys(workload for workload, _ in found))
    found = dict.fromkeys(sorted(found, key=lambda each: names.index(each[0])))
    return run.of(list(found), [each for each in found if each[0] in (TINY, SMALL, heterogeneous(SMALL))])


def cases(run: Run) -> Iterator[Case]:
    """Yield each implementation of this package for each group."""
    for workload, shape in groups(run):
        for name, implementation in IMPLEMENTATIONS.items():
            if not implementation.slow and implementation.takes(workload, shape):
                yield Case(f"{workload.name} {shape}", name, functools.partial(prepared, name, workload, shape))


@section(
    "peers",
    "Python peers",
    "Milliseconds, min / median. Groups are named members x topics x partitions of a topic, and by the shape of "
    "the subscriptions. Peers start from decoded members, validate nothing, and return lists of int. Times include "
    "freeing the result.",
)
def peers(run: Run) -> Iterator[Part]:
    targets = []
    for workload, shape in groups(run):
        wanted = {ours: least for (ours, *group), least in OVER_KAFKA_PYTHON.items() if group == [workload, shape]}
        asked = set(EVERYWHERE) if shape == "lists" else {*wanted, "kafka-python"}
        asked -= {"reference"} if workload.pairs >= PAIRS else set()  # takes seconds, and no target needs it
        names = [name for name in EVERYWHERE if name in asked and IMPLEMENTATIONS[name].takes(workload, shape)]
        case = f"{workload.name} {shape}"
        run.report(f"{case}: {', '.join(names)}")
        times = timed(workload, shape, names, run.pace(3), frees=True)
        yield Row(case, times, {"pairs": f"{workload.pairs:,}"})
        if "kafka-python" in times:
            targets += [faster(times, "kafka-python", ours, least, case) for ours, least in wanted.items()]
    yield from targets
    yield from missing(name for name in EVERYWHERE if IMPLEMENTATIONS[name].version is None)


def java_points(assignor: AssignorName, run: Run) -> list[Workload]:
    """Return the groups and events on which an assignor and Java's class are timed."""
    if assignor == "range":
        few = [jmh(100, 10, 10), jmh(100, 10, 10, racks="two"), jmh(100, 10, 10, "HETEROGENEOUS", "two", "differ")]
        if run.size == "all":
            return [point for point in grid() if point.members * point.topics <= PAIRS]
        many = [
            java_grid((100, 1000, 10000)),
            java_grid((1000, 10000), "two"),
            java_grid((1000, 10000), "two", "differ"),
        ]
        return run.of(list(itertools.chain(*many)), few)
    points: list[tuple[SubscriptionType, Racks, tuple[int, int, int]]] = [
        ("HOMOGENEOUS", "two", (20, 10, 4)),
        ("FIFTHS", "none", (20, 10, 4)),
        ("HALF", "far", (20, 10, 4)),
    ]
    if run.size != "quick":
        points = [
            (subscription, "none", sizes)
            for subscription in ("HOMOGENEOUS", "FIFTHS", "HALF")
            for sizes in ((100, 100, 10), (1000, 100, 10), (1000, 1000, 10), (10000, 100, 10))
        ]
        points.append(("HOMOGENEOUS", "none", (10000, 100, 100)))
        if assignor in ("sticky", "cooperative-sticky"):  # the others do not read racks
            points += itertools.product(("HOMOGENEOUS",), ("two", "far"), ((1000, 100, 10), (1000, 1000, 10)))
    return [
        Workload(*sizes, subscription, racks, assignor=assignor, event=event)
        for subscription, racks, sizes in points
        for event in get_args(Event)
        if event != "rolling" or sizes[1] < SLOW_IN_JAVA
    ]


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


def over_java(assignor: AssignorName, run: Run) -> Iterator[Part]:
    """Compare one assignor with Kafka's class."""
    run.report("starting Java")
    try:
        java = JavaAssignors(run.of(2000, 50))
    except JavaMissingError as why:
        yield f"Not timed: {why}."
        return
    found: dict[Workload, Times] = {}
    with java:
        for workload in java_points(assignor, run):
            names = ["plan", "Group.plan", "assign"]
            if assignor == "range":
                names = ["assign", *(ours for ours, racks in OVER_JAVA if racks == workload.racks)]
            names = list(dict.fromkeys(names))
            run.report(f"{workload.name}: Java, {', '.join(names)}")
            forget_answers()
            answers = [checksum(answer) for answer in right_answers(workload)]
            require(java.prepare(workload) == answers, f"Java and the engine differ on {workload.name}")
            others, known = {"Java": java.sampler()}, {"Java": java.seconds}
            shape: Shape = "lists" if assignor == "range" else "objects"
            found[workload] = timed(
                workload, shape, names, run.pace(1.5, 7) if assignor == "range" else run.pace(0.7), others, known
            )
            yield Row(workload.name.replace(f"-{assignor}-", " "), found[workload])
    forget_answers()
    yield f"{java.version}."
    if assignor == "range":
        for (ours, racks), (each, mean) in OVER_JAVA.items():
            some = {workload.name: times for workload, times in found.items() if workload.racks == racks}
            yield from _ratios(
                f"Java / {ours}, {'without racks' if racks == 'none' else 'rack-aware'}", ours, some, each, mean
            )
        return
    every = {workload.name: times for workload, times in found.items()}
    head = f"Java's {assignor} / "
    if assignor in BROKER:
        yield from _ratios(f"{head}plan", "plan", every, 1)
        yield from _ratios(f"{head}Group.plan", "Group.plan", every, 3)
        return
    yield from _ratios(f"{head}plan", "plan", every, 3, 15)
    slow = {name: times for name, times in every.items() if min(times["Java"]) > JAVA_SLOW}
    yield from _ratios(f"{head}plan, where Java takes over {JAVA_SLOW:g} s", "plan", slow, 200)


def _ratios(
    what: str, ours: str, found: dict[str, Times], each: float | None = None, mean: float | None = None
) -> Iterator[Target]:
    """Yield the targets for the smallest ratio of all groups and for the geometric mean."""
    ratios = {name: ratio(times, "Java", ours) for name, times in found.items()}
    if ratios and each is not None:
        worst = min(ratios, key=ratios.__getitem__)
        yield Target(f"{what}, at the worst of {len(ratios)} points ({worst})", ratios[worst], each)
    if ratios and mean is not None:
        average = statistics.geometric_mean(ratios.values())
        yield Target(f"{what}, geometric mean of {len(ratios)} points", average, mean)


WARM = (
    "Milliseconds, min / median, and Java's time divided by ours. Java's input objects exist before the call, and its "
    "code is warm. Checksums of all owners are equal."
)
section(
    "java", "Java's RangeAssignor", f"{WARM} Java returns one object per partition, as `assign` does.", "first / this"
)(functools.partial(over_java, "range"))
for _assignor in (*LEADER, *BROKER):
    section(
        f"java-{_assignor}",
        f"Java's {TITLES.get(_assignor, _assignor)} assignor",
        f"{WARM} Members are `Subscription` objects. Rolling: {2 * RESTARTS} rebalances, in which {RESTARTS} members "
        "leave and return one after another.",
        "first / this",
    )(functools.partial(over_java, _assignor))


@section(
    "sticky-peers",
    "Sticky assignors of Python peers",
    "Milliseconds, min / median, and the peer's time divided by ours. The peers implement the assignor of Kafka 2.3, "
    "which moves other partitions than Kafka 4.4 does. Their answers are complete and as balanced as ours. The last "
    "group of each peer is the largest of the series 1000x100x10, 2000x100x20, 4000x100x40 and so on that the peer "
    "finishes within about a minute.",
    "this / first",
)
def sticky_peers(run: Run) -> Iterator[Part]:
    installed = [peer for peer in ("kafka-python", "aiokafka") if IMPLEMENTATIONS[peer].version]
    for peer, workload in itertools.product(installed, run.of(STICKY, (Workload(20, 10, 4, assignor="sticky"),))):
        run.report(f"{workload.name}: plan, {peer}")
        times = timed(workload, "objects", ("plan", peer), run.pace(0.7))
        yield Row(f"{workload.name}, {peer}", {"plan": times["plan"], "peer": times[peer]})
        yield faster(times, peer, "plan", OVER_STICKY_PEERS, workload.name)


@section(
    "assignor-growth",
    "Growth of other assignors",
    "Milliseconds of `Group.plan`, min / median, without the time to read Python objects, as one size doubles three "
    "times, and the factor of each doubling.",
    "this / previous",
)
def assignor_growth(run: Run) -> Iterator[Part]:
    start = run.of(Workload(1000, 100, 10), Workload(20, 10, 4))
    targets = []
    for assignor in (*LEADER, *BROKER):
        shapes: list[tuple[SubscriptionType, Racks]] = [("HOMOGENEOUS", "none"), ("FIFTHS", "none"), ("HALF", "none")]
        if assignor in ("sticky", "cooperative-sticky"):
            shapes.append(("HOMOGENEOUS", "far"))
        for (subscription, racks), axis in itertools.product(run.of(shapes, shapes[:1]), get_args(Axis)):
            first = replace(start, subscription=subscription, assignor=assignor, event="join")
            row, target = doubled("Group.plan", first, axis, racks, run, "objects")
            yield row
            targets.append(target)
    yield from targets


def doubled(
    name: str, start: Workload, axis: Axis, racks: Racks, run: Run, shape: Shape = "lists"
) -> tuple[Row, Target]:
    """Time an implementation on a group, and as one size doubles three times."""
    workloads = doubling(start, axis, racks)
    label = f"{name}, {axis} from {workloads[0].name}"
    run.report(label)
    return growing(label, series(name, workloads, run.pace(0.7) if shape == "objects" else run.pace(1.5, 7), shape))


def growing(label: str, times: Times) -> tuple[Row, Target]:
    """Return the row of a series in which one size doubles, and the target for the factor."""
    steps = [ratio(times, *pair) for pair in zip(list(times)[1:], times, strict=False)]
    columns = {str(2**step): seconds for step, seconds in enumerate(times.values())}
    return Row(label, columns), Target(f"{label}: worst doubling", max(steps), DOUBLING, sense="<=")


@section(
    "encode",
    "Encoding",
    "Milliseconds, min / median, for the ConsumerProtocol assignments of all members, and kafka-python's time "
    "divided by ours. The bytes are equal. kafka-python's assignor also lists topics without partitions, which are "
    "left out here.",
    "this / first",
)
def encode(run: Run) -> Iterator[Part]:
    if IMPLEMENTATIONS["kafka-python"].version is None:
        yield from missing(["kafka-python"])
        return
    for workload in run.of([SQUARE, WIDE], [jmh(100, 10, 10)]):
        run.report(f"{workload.name}: encoding")
        times = interleave({name: sampler(call) for name, call in encoders(workload).items()}, run.pace(3))
        yield Row(workload.name, times)
        yield faster(times, "kafka-python encode", "plan.encode", ENCODE, workload.name)


def encoders(workload: Workload) -> dict[str, Callable[[], Any]]:
    """Return two encoders of a whole assignment: from a plan, and from kafka-python's own objects.

    Raises:
        WrongAnswerError: The bytes differ.
    """
    from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

    found = plan(workload.partitions_per_topic(), workload.subscriptions())
    contents = {}
    for member in found:
        ids: dict[str, list[int]] = {}
        for topic, id in found[member]:
            ids.setdefault(topic, []).append(id)
        contents[member] = ConsumerProtocolAssignment(3, list(ids.items()), None)

    def theirs() -> dict[str, bytes]:
        return {member: content.encode() for member, content in contents.items()}

    is_equal = found.encode(version=3) == theirs()
    require(is_equal, f"plan.encode() differs from kafka-python's bytes on {workload.name}")
    return {"plan.encode": functools.partial(found.encode, version=3), "kafka-python encode": theirs}
