"""The questions that are timed, one after the other: each yields its figures and what they came to beside the goals."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping

from benches.checks import timed as timed_checks
from benches.checks import trusting
from benches.coordinators import (
    coordinator,
    coordinator_broker,
    coordinator_groups,
    coordinator_java,
    coordinator_members,
    coordinator_memory,
)
from benches.goals import (
    BEYOND,
    CHECKING,
    COLLECT,
    DOUBLING,
    ENCODE,
    OVER_JAVA,
    OVER_PEERS,
    Goal,
    JavaGoal,
    Outcome,
    Selection,
)
from benches.java_side import JavaMissingError, JavaSide, checksum
from benches.matching import matching
from benches.memory import measure
from benches.sides import SIDES, WrongAnswerError, encoders, right_answer
from benches.subscription_states import subscription_state
from benches.tables import Raw, Report, Section, Table, milliseconds, shown
from benches.timing import Pace, Sampler, Times, interleave, ratio, sampler
from benches.twins import TwinMissingError
from benches.workloads import PAIRS, Racks, Shape, Workload, doubling


def timed(
    workload: Workload, shape: Shape, names: Iterable[str], pace: Pace, others: Mapping[str, Sampler] | None = None
) -> Times:
    """Times sides on one group, each only once its answer is known to be right; `others` take their turns first."""
    samplers = dict(others or {})
    known = {}
    for name in names:
        call = SIDES[name].prepare(workload, shape)
        start = time.perf_counter()
        result = call()
        known[name] = time.perf_counter() - start
        SIDES[name].assert_right(workload, result)
        del result
        samplers[name] = sampler(call)
    return interleave(samplers, pace, known)


def peers(selection: Selection, report: Report, raw: Raw) -> Section:
    """The Python peers, on groups of every size and shape."""
    everywhere = ("assign", "assign, Topics", "plan", "Group.plan", "kafka-python", "aiokafka", "reference")
    columns = list(dict.fromkeys([*everywhere, *(goal.peer for goal in OVER_PEERS)]))
    missing = [name for name in columns if SIDES[name].version is None]
    rows, outcomes = [], []
    for workload, shape in selection.peers:
        goals = [goal for goal in OVER_PEERS if (goal.workload, goal.shape) == (workload, shape)]
        asked = {side for goal in goals for side in (goal.ours, goal.peer)}
        asked |= set(everywhere) if shape == "lists" else set()
        asked -= {"reference"} if workload.pairs >= PAIRS else set()  # seconds a call, and no goal is about it
        names = [name for name in columns if name in asked and SIDES[name].takes(workload, shape)]
        case = f"{workload.name} {shape}"
        report(f"{case}: {', '.join(names)}")
        times = raw[case] = timed(workload, shape, names, selection.pace)
        pairs = f"{workload.pairs:,}"
        rows.append([case, pairs, *(milliseconds(times[name]) if name in times else "-" for name in columns)])
        outcomes += [_over_peer(goal, times) for goal in goals if goal.peer in times]
    outcomes.sort(key=lambda outcome: [goal.ours for goal in OVER_PEERS].index(outcome.what.split(" over ")[0]))
    note = (
        "Milliseconds, min / median. Groups are named members x topics x partitions of a topic; the shape is how the "
        "subscriptions are held. Peers start from members already decoded, check nothing, and return int lists."
    )
    if missing:
        note += f" Not installed and so not timed: {', '.join(missing)}."
    return Section("Python peers", note, Table(["group", "pairs", *columns], rows), outcomes)


def _over_peer(goal: Goal, times: Times) -> Outcome:
    what = f"{goal.ours} over {goal.peer}, {goal.workload.name} {goal.shape}"
    return Outcome(what, ratio(times, goal.peer, goal.ours), goal.at_least)


def java(selection: Selection, report: Report, raw: Raw) -> Section:
    """Java's own RangeAssignor on JMH's points."""
    title = "Java's RangeAssignor"
    report("starting Java")
    try:
        side = JavaSide(selection.java_warm)
    except JavaMissingError as why:
        return Section(title, f"Not timed: {why}.")
    columns = list(dict.fromkeys(goal.ours for goal in OVER_JAVA))
    rows = []
    found: list[tuple[Workload, Times]] = []
    with side:
        for workload in selection.java:
            asked = {"assign", "plan", *(goal.ours for goal in OVER_JAVA if goal.racks == workload.racks)}
            names = [name for name in columns if name in asked]
            report(f"{workload.name}: Java, {', '.join(names)}")
            answer = checksum(right_answer(workload))
            if side.prepare(workload) != answer:
                raise WrongAnswerError(f"Java and the engine differ on {workload.name}")
            times = timed(workload, "lists", names, selection.own_pace, {"Java": side.sampler()})
            found.append((workload, times))
            raw[workload.name] = times
            cells = [f"{milliseconds(times[name])} ({shown(ratio(times, 'Java', name))}x)" for name in times]
            by_side = dict(zip(times, cells, strict=True))
            rows.append([workload.name, milliseconds(times["Java"]), *(by_side.get(name, "-") for name in columns)])
    note = (
        f"{side.version}. Milliseconds, min / median, and how many times as long Java takes. Java's input is built and "
        f"its code warm ({selection.java_warm} ms of calls at each point); it returns an object for each partition, as "
        "assign does. That its answer is ours is told by a checksum of who has which partition."
    )
    outcomes = [outcome for goal in OVER_JAVA for outcome in _over_java(goal, found)]
    return Section(title, note, Table(["group", "Java", *columns], rows), outcomes)


def _over_java(goal: JavaGoal, found: list[tuple[Workload, Times]]) -> Iterator[Outcome]:
    ratios = {
        workload.name: ratio(times, "Java", goal.ours) for workload, times in found if workload.racks == goal.racks
    }
    if not ratios:
        return
    racks = "without racks" if goal.racks == "none" else "rack-aware"
    if goal.each is not None:
        worst = min(ratios, key=ratios.__getitem__)
        yield Outcome(f"{goal.ours} over Java, {racks}, at the worst point ({worst})", ratios[worst], goal.each)
    if goal.mean is not None:
        mean = statistics.geometric_mean(ratios.values())
        yield Outcome(f"{goal.ours} over Java, {racks}, geometric mean of {len(ratios)} points", mean, goal.mean)


def encode(selection: Selection, report: Report, raw: Raw) -> Section:
    """Encoding what every member is assigned."""
    rows, outcomes = [], []
    names = ["plan.encode", "kafka-python encode"]
    note = (
        "Milliseconds, min / median, for the ConsumerProtocol assignments of all members; the bytes are equal. "
        "kafka-python's assignor also writes down topics without partitions, which are left out here."
    )
    if SIDES["kafka-python"].version is None:
        return Section("Encoding", "Not timed: kafka-python is not installed.")
    for workload in selection.encoded:
        report(f"{workload.name}: {', '.join(names)}")
        calls = encoders(workload)
        times = raw[workload.name] = interleave({name: sampler(call) for name, call in calls.items()}, selection.pace)
        rows.append([workload.name, *(milliseconds(times[name]) for name in names)])
        what = f"plan.encode over kafka-python's encode, {workload.name}"
        outcomes.append(Outcome(what, ratio(times, names[1], names[0]), ENCODE))
    return Section("Encoding", note, Table(["group", *names], rows), outcomes)


def growth(selection: Selection, report: Report, raw: Raw) -> Section:
    """Doubling one size at a time."""
    rows, outcomes = [], []
    racks: Racks
    for racks in ("none", "two"):
        for axis, start in selection.growing.items():
            series = doubling(start, axis, racks)
            for name in ("assign", "plan"):
                report(f"{name} on {', '.join(workload.name for workload in series)}")
                times = raw[f"{name}, {axis}, {racks}"] = _series(name, series, selection.own_pace)
                steps = [ratio(times, *pair) for pair in zip(list(times)[1:], times, strict=False)]
                medians = [shown(statistics.median(seconds) * 1000) for seconds in times.values()]
                label = f"{name}, {axis} from {series[0].name}"
                rows.append([label, *medians, *(f"x{step:.2f}" for step in steps)])
                outcomes.append(Outcome(f"{label}: worst doubling", max(steps), DOUBLING, sense="<="))
    head = ["", "1", "2", "4", "8", "to 2", "to 4", "to 8"]
    note = "Median milliseconds as one size doubles three times, and how many times as long each doubling makes it."
    return Section("Growth", note, Table(head, rows), outcomes)


def _series(name: str, series: Iterable[Workload], pace: Pace) -> Times:
    samplers = {}
    for workload in series:
        call = SIDES[name].prepare(workload, "lists")
        SIDES[name].assert_right(workload, call())
        samplers[workload.name] = sampler(call)
    right_answer.cache_clear()
    gc.collect()
    return interleave(samplers, pace, alike=True)


def memory(selection: Selection, report: Report, raw: Raw) -> Section:
    """What calls take beyond their result, and what the result costs the garbage collector afterwards."""
    flat = Workload(100, 1, selection.partitions)
    wide = Workload(1000, 1000, selection.partitions // 1000)
    rows, outcomes = [], []
    collected = {}
    for name, workload in (
        ("assign", flat),
        ("assign", wide),
        ("plan.spans", wide),
        ("reference", flat),
        ("reference", wide),
    ):
        what = f"{name}, {workload.name}"
        report(f"memory of {what}")
        use = measure(name, workload)
        raw[what] = use._asdict()
        collected[name, workload] = statistics.median(use.collect)
        sizes = [_megabytes(use.before, use.alive), _megabytes(use.alive, use.peak)]
        rows.append([what, *sizes, milliseconds(use.collect)])
        if name != "reference" and use.beyond is not None:
            outcomes.append(Outcome(f"peak beyond the result, {what}", use.beyond * 100, BEYOND, "%", "<="))
    for workload in (flat, wide):
        share = collected["assign", workload] / collected["reference", workload]
        outcomes.append(
            Outcome(f"gc.collect() after assign over after the reference, {workload.name}", share, COLLECT, sense="<=")
        )
    note = (
        "Each call in a process of its own: the growth of its resident memory with the result alive, what was in use "
        "beyond that at the peak, and gc.collect() with the result alive, min / median of milliseconds."
    )
    head = ["call", "result, MB", "beyond it, MB", "gc.collect()"]
    return Section("Memory", note, Table(head, rows), outcomes)


def _megabytes(start: int | None, end: int | None) -> str:
    return "-" if start is None or end is None else f"{(end - start) / 1e6:.1f}"


def checks(selection: Selection, report: Report, raw: Raw) -> Section:
    """What checking the input costs."""
    title = "Checks of the input"
    if not selection.checked:
        return Section(title, "Not timed: compiling a core without them takes minutes.")
    report("compiling a core that does not check its input")
    try:
        core = trusting()
    except TwinMissingError as why:
        return Section(title, f"Not timed: {why}.")
    rows, outcomes = [], []
    for workload, shape in selection.checked:
        for verb in ("assign", "plan"):
            what = f"{verb}, {workload.name} {shape}"
            report(f"checks of {what}")
            times = raw[what] = timed_checks(core, verb, workload, shape, selection.own_pace)
            rows.append([what, *(milliseconds(seconds) for seconds in times.values())])
            share = 100 * (1 - ratio(times, "unchecked", "checked"))
            outcomes.append(Outcome(f"checks in {what}", share, CHECKING, "%", "<="))
    note = (
        "Milliseconds, min / median, of the core and of a twin compiled without the checks, and what part of the "
        "core's time the difference is. It may come out below nothing: the twin's code lies elsewhere in memory."
    )
    return Section(title, note, Table(["call", "checked", "unchecked"], rows), outcomes)


SECTIONS = {
    "peers": peers,
    "java": java,
    "encode": encode,
    "growth": growth,
    "memory": memory,
    "checks": checks,
    "matching": matching,
    "subscription-state": subscription_state,
    "coordinator": coordinator,
    "coordinator-members": coordinator_members,
    "coordinator-groups": coordinator_groups,
    "coordinator-memory": coordinator_memory,
    "coordinator-java": coordinator_java,
    "coordinator-broker": coordinator_broker,
}
"""By the name under which one can ask for it alone."""
