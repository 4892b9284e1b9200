"""Sections of the report of `make bench`: each times one subject, and compares its figures with the targets."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterator

from benches.assignor_report_sections import assignor_growth, over_java, sticky_peers
from benches.comparison import series, timed
from benches.coordinator_report_sections import (
    coordinator,
    coordinator_broker,
    coordinator_groups,
    coordinator_java,
    coordinator_members,
    coordinator_memory,
)
from benches.implementations import IMPLEMENTATIONS, WrongAnswerError, encoders, right_answer
from benches.java_process import JavaMissingError, JavaRangeAssignor, checksum
from benches.matching import matching
from benches.memory import measure
from benches.selections import Selection
from benches.subscription_states import subscription_state
from benches.tables import Raw, Report, ReportSection, Table, milliseconds, shown
from benches.targets import (
    BEYOND,
    BROKER,
    COLLECT,
    DOUBLING,
    ENCODE,
    LEADER,
    OVER_JAVA,
    OVER_PEERS,
    JavaTarget,
    Target,
    TargetResult,
)
from benches.timing import Times, interleave, ratio, sampler
from benches.workloads import PAIRS, Racks, Workload, doubling


def peers(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """The Python peers, on groups of every size and shape."""
    everywhere = ("assign", "assign, Topics", "plan", "Group.plan", "kafka-python", "aiokafka", "reference")
    columns = list(dict.fromkeys([*everywhere, *(target.peer for target in OVER_PEERS)]))
    missing = [name for name in columns if IMPLEMENTATIONS[name].version is None]
    rows, target_results = [], []
    for workload, shape in selection.peers:
        targets = [target for target in OVER_PEERS if (target.workload, target.shape) == (workload, shape)]
        asked = {implementation for target in targets for implementation in (target.ours, target.peer)}
        asked |= set(everywhere) if shape == "lists" else set()
        asked -= {"reference"} if workload.pairs >= PAIRS else set()  # seconds a call, and no target is about it
        names = [name for name in columns if name in asked and IMPLEMENTATIONS[name].takes(workload, shape)]
        case = f"{workload.name} {shape}"
        report(f"{case}: {', '.join(names)}")
        times = raw[case] = timed(workload, shape, names, selection.pace)
        pairs = f"{workload.pairs:,}"
        rows.append([case, pairs, *(milliseconds(times[name]) if name in times else "-" for name in columns)])
        target_results += [_over_peer(target, times) for target in targets if target.peer in times]
    target_results.sort(
        key=lambda target_result: [target.ours for target in OVER_PEERS].index(target_result.what.split(" over ")[0])
    )
    note = (
        "Milliseconds, min / median. Groups are named members x topics x partitions of a topic; the shape is how the "
        "subscriptions are held. Peers start from members already decoded, check nothing, and return int lists."
    )
    if missing:
        note += f" Not installed and so not timed: {', '.join(missing)}."
    return ReportSection("Python peers", note, Table(["group", "pairs", *columns], rows), target_results)


def _over_peer(target: Target, times: Times) -> TargetResult:
    what = f"{target.ours} over {target.peer}, {target.workload.name} {target.shape}"
    return TargetResult(what, ratio(times, target.peer, target.ours), target.at_least)


def java(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Java's own RangeAssignor on JMH's points."""
    title = "Java's RangeAssignor"
    report("starting Java")
    try:
        java_assignor = JavaRangeAssignor(selection.java_warm)
    except JavaMissingError as why:
        return ReportSection(title, f"Not timed: {why}.")
    columns = list(dict.fromkeys(target.ours for target in OVER_JAVA))
    rows = []
    found: list[tuple[Workload, Times]] = []
    with java_assignor:
        for workload in selection.java:
            asked = {"assign", "plan", *(target.ours for target in OVER_JAVA if target.racks == workload.racks)}
            names = [name for name in columns if name in asked]
            report(f"{workload.name}: Java, {', '.join(names)}")
            answer = checksum(right_answer(workload))
            if java_assignor.prepare(workload) != answer:
                raise WrongAnswerError(f"Java and the engine differ on {workload.name}")
            times = timed(workload, "lists", names, selection.own_pace, {"Java": java_assignor.sampler()})
            found.append((workload, times))
            raw[workload.name] = times
            cells = [f"{milliseconds(times[name])} ({shown(ratio(times, 'Java', name))}x)" for name in times]
            by_implementation = dict(zip(times, cells, strict=True))
            rows.append(
                [workload.name, milliseconds(times["Java"]), *(by_implementation.get(name, "-") for name in columns)]
            )
    note = (
        f"{java_assignor.version}. Milliseconds, min / median, and how many times as long Java takes. Java's input is "
        f"built and its code warm ({selection.java_warm} ms of calls at each point); it returns an object for each "
        "partition, as assign does. A checksum of all owners shows that its answer is ours."
    )
    target_results = [target_result for target in OVER_JAVA for target_result in _over_java(target, found)]
    return ReportSection(title, note, Table(["group", "Java", *columns], rows), target_results)


def _over_java(target: JavaTarget, found: list[tuple[Workload, Times]]) -> Iterator[TargetResult]:
    ratios = {
        workload.name: ratio(times, "Java", target.ours) for workload, times in found if workload.racks == target.racks
    }
    if not ratios:
        return
    racks = "without racks" if target.racks == "none" else "rack-aware"
    if target.each is not None:
        worst = min(ratios, key=ratios.__getitem__)
        yield TargetResult(
            f"{target.ours} over Java, {racks}, at the worst point ({worst})", ratios[worst], target.each
        )
    if target.mean is not None:
        mean = statistics.geometric_mean(ratios.values())
        yield TargetResult(
            f"{target.ours} over Java, {racks}, geometric mean of {len(ratios)} points", mean, target.mean
        )


def encode(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Encoding what every member is assigned."""
    rows, target_results = [], []
    names = ["plan.encode", "kafka-python encode"]
    note = (
        "Milliseconds, min / median, for the ConsumerProtocol assignments of all members; the bytes are equal. "
        "kafka-python's assignor also writes down topics without partitions, which are left out here."
    )
    if IMPLEMENTATIONS["kafka-python"].version is None:
        return ReportSection("Encoding", "Not timed: kafka-python is not installed.")
    for workload in selection.encoded:
        report(f"{workload.name}: {', '.join(names)}")
        calls = encoders(workload)
        times = raw[workload.name] = interleave({name: sampler(call) for name, call in calls.items()}, selection.pace)
        rows.append([workload.name, *(milliseconds(times[name]) for name in names)])
        what = f"plan.encode over kafka-python's encode, {workload.name}"
        target_results.append(TargetResult(what, ratio(times, names[1], names[0]), ENCODE))
    return ReportSection("Encoding", note, Table(["group", *names], rows), target_results)


def growth(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Doubling one size at a time."""
    rows, target_results = [], []
    racks: Racks
    for racks in ("none", "two"):
        for axis, start in selection.growing.items():
            workloads = doubling(start, axis, racks)
            for name in ("assign", "plan"):
                report(f"{name} on {', '.join(workload.name for workload in workloads)}")
                times = raw[f"{name}, {axis}, {racks}"] = series(name, workloads, selection.own_pace)
                steps = [ratio(times, *pair) for pair in zip(list(times)[1:], times, strict=False)]
                medians = [shown(statistics.median(seconds) * 1000) for seconds in times.values()]
                label = f"{name}, {axis} from {workloads[0].name}"
                rows.append([label, *medians, *(f"x{step:.2f}" for step in steps)])
                target_results.append(TargetResult(f"{label}: worst doubling", max(steps), DOUBLING, sense="<="))
    head = ["", "1", "2", "4", "8", "to 2", "to 4", "to 8"]
    note = "Median milliseconds as one size doubles three times, and how many times as long each doubling makes it."
    return ReportSection("Growth", note, Table(head, rows), target_results)


def memory(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """What calls take beyond their result, and what the result costs the garbage collector afterwards."""
    flat = Workload(100, 1, selection.partitions)
    wide = Workload(1000, 1000, selection.partitions // 1000)
    rows, target_results = [], []
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
            target_results.append(TargetResult(f"peak beyond the result, {what}", use.beyond * 100, BEYOND, "%", "<="))
    for workload in (flat, wide):
        share = collected["assign", workload] / collected["reference", workload]
        target_results.append(
            TargetResult(
                f"gc.collect() after assign over after the reference, {workload.name}", share, COLLECT, sense="<="
            )
        )
    note = (
        "Each call in a process of its own: the growth of its resident memory with the result alive, what was in use "
        "beyond that at the peak, and gc.collect() with the result alive, min / median of milliseconds."
    )
    head = ["call", "result, MB", "beyond it, MB", "gc.collect()"]
    return ReportSection("Memory", note, Table(head, rows), target_results)


def _megabytes(start: int | None, end: int | None) -> str:
    return "-" if start is None or end is None else f"{(end - start) / 1e6:.1f}"


SECTIONS: dict[str, Callable[[Selection, Report, Raw], ReportSection]] = {
    "peers": peers,
    "java": java,
    **{f"java-{assignor}": functools.partial(over_java, assignor) for assignor in (*LEADER, *BROKER)},
    "sticky-peers": sticky_peers,
    "assignor-growth": assignor_growth,
    "encode": encode,
    "growth": growth,
    "memory": memory,
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
