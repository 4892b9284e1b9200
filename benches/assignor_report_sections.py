"""Sections of the report about Kafka's other assignors: compared with Java, compared with Python peers, growth."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from benches.comparison import series, timed
from benches.implementations import IMPLEMENTATIONS, WrongAnswerError, forget_answers, right_answers
from benches.java_process import JavaAssignors, JavaMissingError, checksum
from benches.rebalances import RESTARTS
from benches.selections import Selection
from benches.tables import Raw, Report, ReportSection, Table, milliseconds, shown
from benches.targets import DOUBLING, JAVA_SLOW, OVER_JAVA_ASSIGNORS, OVER_STICKY_PEERS, AssignorTarget, TargetResult
from benches.timing import Times, ratio
from benches.workloads import AssignorName, doubling

IMPLEMENTATION_NAMES = ("plan", "Group.plan", "assign")


def over_java(assignor: AssignorName, selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that compares one assignor with Java's class."""
    title = f"Java's {'broker-side range' if assignor == 'server-range' else assignor} assignor"
    report("starting Java")
    try:
        java = JavaAssignors(selection.java_warm)
    except JavaMissingError as why:
        return ReportSection(title, f"Not timed: {why}.")
    rows = []
    found: dict[str, Times] = {}
    with java:
        for workload in selection.assignors:
            if workload.assignor != assignor:
                continue
            report(f"{workload.name}: Java, {', '.join(IMPLEMENTATION_NAMES)}")
            forget_answers()
            theirs = java.prepare(workload)
            if theirs != [checksum(answer) for answer in right_answers(workload)]:
                raise WrongAnswerError(f"Java and the engine differ on {workload.name}")
            others, known = {"Java": java.sampler()}, {"Java": java.seconds}
            times = timed(workload, "objects", IMPLEMENTATION_NAMES, selection.assignor_pace, others, known)
            found[workload.name] = raw[workload.name] = times
            cells = [
                f"{milliseconds(times[name])} ({shown(ratio(times, 'Java', name))}x)" for name in IMPLEMENTATION_NAMES
            ]
            rows.append([workload.name.replace(f"-{assignor}-", " "), milliseconds(times["Java"]), *cells])
    forget_answers()
    note = (
        f"{java.version}. Milliseconds, min / median, and Java's time divided by ours. Members are "
        f"`Subscription` objects. Rolling: {2 * RESTARTS} rebalances, in which {RESTARTS} members leave and return one "
        f"after another. Java's input objects exist before the call, and its code is warm ({selection.java_warm} ms of "
        "calls for each group). Checksums of all owners of each rebalance are equal."
    )
    target_results = [
        result
        for target in OVER_JAVA_ASSIGNORS
        if assignor in target.assignors
        for result in _over_java(target, assignor, found)
    ]
    return ReportSection(title, note, Table(["group, event", "Java", *IMPLEMENTATION_NAMES], rows), target_results)


def _over_java(target: AssignorTarget, assignor: AssignorName, found: dict[str, Times]) -> Iterator[TargetResult]:
    ratios = {name: ratio(times, "Java", target.ours) for name, times in found.items()}
    if not ratios:
        return
    head = f"Java's {assignor} / {target.ours}"
    worst = min(ratios, key=ratios.__getitem__)
    yield TargetResult(f"{head}, at the worst point ({worst})", ratios[worst], target.each)
    if target.mean is not None:
        mean = statistics.geometric_mean(ratios.values())
        yield TargetResult(f"{head}, geometric mean of {len(ratios)} points", mean, target.mean)
    slow = [name for name, times in found.items() if min(times["Java"]) > JAVA_SLOW]
    if target.slow is not None and slow:
        worst = min(slow, key=ratios.__getitem__)
        what = f"{head}, at the worst of {len(slow)} points where Java takes over {JAVA_SLOW:g} s ({worst})"
        yield TargetResult(what, ratios[worst], target.slow)


def sticky_peers(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that compares our sticky assignor with those of Python peers."""
    rows, target_results = [], []
    missing = [name for name in selection.sticky_peers if IMPLEMENTATIONS[name].version is None]
    for peer, workloads in selection.sticky_peers.items():
        for workload in workloads if peer not in missing else ():
            report(f"{workload.name}: plan, {peer}")
            times = raw[f"{workload.name}, {peer}"] = timed(
                workload, "objects", ("plan", peer), selection.assignor_pace
            )
            rows.append([f"{workload.name}, {peer}", milliseconds(times[peer]), milliseconds(times["plan"])])
            what = f"{peer} / plan, {workload.name}"
            target_results.append(TargetResult(what, ratio(times, peer, "plan"), OVER_STICKY_PEERS))
    note = (
        "Milliseconds, min / median. The peers implement the assignor of Kafka 2.3, which moves other partitions than "
        "Kafka 4.4 does. Their answers are complete and as balanced as ours. The last group of each peer is the "
        "largest of the series 1000x100x10, 2000x100x20, 4000x100x40 and so on that the peer finishes within about a "
        "minute."
    )
    if missing:
        note += f" Not timed because not installed: {', '.join(missing)}."
    return ReportSection(
        "Sticky assignors of Python peers", note, Table(["group", "peer", "plan"], rows), target_results
    )


def assignor_growth(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that doubles one size at a time for each assignor."""
    rows, target_results = [], []
    for start, axis in selection.growing_assignors:
        workloads = doubling(start, axis, start.racks)
        label = f"{axis} from {start.name}"
        report(f"Group.plan, {label}")
        times = raw[label] = series("Group.plan", workloads, selection.assignor_pace, "objects")
        steps = [ratio(times, *pair) for pair in zip(list(times)[1:], times, strict=False)]
        medians = [shown(statistics.median(seconds) * 1000) for seconds in times.values()]
        rows.append([label, *medians, *(f"x{step:.2f}" for step in steps)])
        target_results.append(TargetResult(f"Group.plan, {label}: worst doubling", max(steps), DOUBLING, sense="<="))
    head = ["", "1", "2", "4", "8", "to 2", "to 4", "to 8"]
    note = (
        "Median milliseconds of `Group.plan`, without the time to read Python objects, as one size doubles three "
        "times, and the factor of each doubling."
    )
    return ReportSection("Growth of other assignors", note, Table(head, rows), target_results)
