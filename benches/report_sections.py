"""Sections of the report of `make bench`. Each times one subject and compares the figures with the targets."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterator

from benches.assignor_report_sections import assignor_growth, over_java, sticky_peers
from benches.client_steps import clients
from benches.comparison import timed
from benches.coordinator_report_sections import (
    coordinator,
    coordinator_broker,
    coordinator_groups,
    coordinator_java,
    coordinator_members,
    coordinator_memory,
)
from benches.growth import growth
from benches.implementations import IMPLEMENTATIONS, WrongAnswerError, encoders, right_answer
from benches.java_process import JavaMissingError, JavaRangeAssignor, checksum
from benches.matching import matching
from benches.memory import measure
from benches.replay_report_sections import replay, replay_growth
from benches.selections import Selection
from benches.subscription_states import subscription_state
from benches.tables import Raw, Report, ReportSection, Table, milliseconds, shown
from benches.targets import (
    BEYOND,
    BROKER,
    COLLECT,
    ENCODE,
    LEADER,
    OVER_JAVA,
    OVER_PEERS,
    JavaTarget,
    Target,
    TargetResult,
)
from benches.timing import Times, interleave, ratio, sampler
from benches.workloads import PAIRS, Workload


def peers(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that compares our functions with Python peers on groups of many sizes and shapes."""
    everywhere = ("assign", "assign, Topics", "plan", "Group.plan", "kafka-python", "aiokafka", "reference")
    columns = list(dict.fromkeys([*everywhere, *(target.peer for target in OVER_PEERS)]))
    missing = [name for name in columns if IMPLEMENTATIONS[name].version is None]
    rows = []
    found: list[tuple[Target, Times]] = []
    for workload, shape in selection.peers:
        targets = [target for target in OVER_PEERS if (target.workload, target.shape) == (workload, shape)]
        asked = {implementation for target in targets for implementation in (target.ours, target.peer)}
        asked |= set(everywhere) if shape == "lists" else set()
        asked -= {"reference"} if workload.pairs >= PAIRS else set()  # takes seconds, and no target needs it
        names = [name for name in columns if name in asked and IMPLEMENTATIONS[name].takes(workload, shape)]
        case = f"{workload.name} {shape}"
        report(f"{case}: {', '.join(names)}")
        times = raw[case] = timed(workload, shape, names, selection.pace, frees=True)
        pairs = f"{workload.pairs:,}"
        rows.append([case, pairs, *(milliseconds(times[name]) if name in times else "-" for name in columns)])
        found += [(target, times) for target in targets if target.peer in times]
    order = [target.ours for target in OVER_PEERS]
    found.sort(key=lambda pair: order.index(pair[0].ours))
    target_results = [_over_peer(target, times) for target, times in found]
    note = (
        "Milliseconds, min / median. Groups are named members x topics x partitions of a topic, and by the shape of "
        "the subscriptions. Peers start from decoded members, validate nothing, and return lists of int. Times include "
        "freeing the result."
    )
    if missing:
        note += f" Not timed because not installed: {', '.join(missing)}."
    return ReportSection("Python peers", note, Table(["group", "pairs", *columns], rows), target_results)


def _over_peer(target: Target, times: Times) -> TargetResult:
    what = f"{target.peer} / {target.ours}, {target.workload.name} {target.shape}"
    return TargetResult(what, ratio(times, target.peer, target.ours), target.at_least)


def java(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that compares our functions with Java's RangeAssignor on the grid of Kafka's JMH benchmark."""
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
        f"{java_assignor.version}. Milliseconds, min / median, and Java's time divided by ours. Java's input objects "
        f"exist before the call, and its code is warm ({selection.java_warm} ms of calls for each group). Java returns "
        "one object per partition, as `assign` does. Checksums of all owners are equal."
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
        yield TargetResult(f"Java / {target.ours}, {racks}, at the worst point ({worst})", ratios[worst], target.each)
    if target.mean is not None:
        mean = statistics.geometric_mean(ratios.values())
        yield TargetResult(f"Java / {target.ours}, {racks}, geometric mean of {len(ratios)} points", mean, target.mean)


def encode(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that compares our encoding of the assignments of all members with kafka-python's."""
    rows, target_results = [], []
    names = ["plan.encode", "kafka-python encode"]
    note = (
        "Milliseconds, min / median, for the ConsumerProtocol assignments of all members. The bytes are equal. "
        "kafka-python's assignor also lists topics without partitions, which are left out here."
    )
    if IMPLEMENTATIONS["kafka-python"].version is None:
        return ReportSection("Encoding", "Not timed: kafka-python is not installed.")
    for workload in selection.encoded:
        report(f"{workload.name}: {', '.join(names)}")
        calls = encoders(workload)
        times = raw[workload.name] = interleave({name: sampler(call) for name, call in calls.items()}, selection.pace)
        rows.append([workload.name, *(milliseconds(times[name]) for name in names)])
        what = f"{' / '.join(reversed(names))}, {workload.name}"
        target_results.append(TargetResult(what, ratio(times, names[1], names[0]), ENCODE))
    return ReportSection("Encoding", note, Table(["group", *names], rows), target_results)


def memory(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section about memory.

    It has the size of results, the memory in use beyond the result at the peak, and the time of `gc.collect()` while
    the result is alive.
    """
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
                f"gc.collect() with the answer of assign / with that of the reference, {workload.name}",
                share,
                COLLECT,
                sense="<=",
            )
        )
    note = (
        "Each call runs in a new process. The columns are the growth of its resident memory while the result is alive, "
        "the additional memory at the peak of the call, and the milliseconds of gc.collect() while the result is "
        "alive, min / median."
    )
    head = ["call", "result, MB", "beyond the result, MB", "gc.collect(), ms"]
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
    "clients": clients,
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
    "replay": replay,
    "replay-growth": replay_growth,
}
"""All sections by the name that `--only` takes."""
