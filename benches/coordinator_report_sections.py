"""The coordinator's sections: many members at once, cost against size, memory, and a real broker beside it."""

from __future__ import annotations

import contextlib
import gc
import statistics
from collections.abc import Sequence

from benches.coordinator_costs import FRESH, costs
from benches.coordinator_java import REHEARSALS as REHEARSED
from benches.coordinator_java import JavaCoordinator
from benches.coordinator_memory import bytes_per_member
from benches.coordinator_servers import ServedGroup, ServerMissingError
from benches.coordinator_sockets import Spent
from benches.coordinator_workloads import Crowd, Life
from benches.java_process import JavaMissingError
from benches.selections import Selection
from benches.tables import Raw, Report, ReportSection, Table, milliseconds, shown
from benches.targets import GROWN, TargetResult
from benches.timing import Times, ratio

LEADERS = {"a client leads": False, "it leads itself": True}
"""Who does the leader's work, and whether that is the coordinator."""

TWICE = "full rebalance"
"""The name of what takes two requests of each member."""

FEW_ROUNDS = 3
"""Rounds of a large crowd, which take half a minute each."""

REHEARSALS = 2
"""Rounds in which servers warm up."""


def crowd_of(groups: int, members: int) -> Crowd:
    """Small groups have one topic of six partitions, others ten topics of a hundred for each hundred members."""
    return Crowd(groups, members) if members >= 10 else Crowd(groups, members, topics=1, partitions=6)


def coordinator(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Full rebalances, heartbeats and expiry of all members of a crowd."""
    rows = []
    for groups, members in selection.crowds:
        crowd = crowd_of(groups, members)
        rounds = selection.crowd_rounds if crowd.size <= FRESH else min(selection.crowd_rounds, FEW_ROUNDS)
        times = raw[crowd.name] = _lives(crowd, rounds, report)
        phases = dict.fromkeys(phase for by_phase in times.values() for phase in by_phase)
        rows += [_row(crowd, phase, [times[leader].get(phase, []) for leader in LEADERS]) for phase in phases]
    note = (
        "Groups x members. Everybody's request is handed over in one process, one after the other, and the answers are "
        "looked at afterwards. Milliseconds for all of them, min / median of the rounds, and requests a second; what "
        "begins a group's life, and what ends sessions, happens once. Requests are made before; what making them "
        "costs, and what a client that leads does between its join and its sync, has rows of its own."
    )
    head = ["", "requests", *(cell for leader in LEADERS for cell in (f"{leader}, ms", "a second"))]
    return ReportSection("The coordinator", note, Table(head, rows))


def _lives(crowd: Crowd, rounds: int, report: Report) -> dict[str, Times]:
    lives = {leader: Life(crowd, embedded) for leader, embedded in LEADERS.items()}
    times: dict[str, Times] = {leader: {} for leader in LEADERS}
    for leader, life in lives.items():
        report(f"{crowd.name}, {leader}: the beginning")
        gc.collect()
        found = life.found()
        times[leader] |= {phase: [found[phase]] for phase in ("ids", "joins that wait", "end of the delay")}
    for number in range(rounds):
        for leader, life in lives.items():
            report(f"{crowd.name}, {leader}: round {number + 1}")
            gc.collect()
            for phase, spent in _round(life).items():
                times[leader].setdefault(phase, []).append(spent)
    for leader, life in lives.items():
        gc.collect()
        times[leader] |= {phase: [spent] for phase, spent in life.expire_a_tenth().items()}
    return times


def _round(life: Life) -> dict[str, float]:
    spent = life.rebalance()
    if life.embedded:
        del spent["leaders' own work"]
    return {TWICE: spent["joins"] + spent["syncs"]} | spent | life.beat()


def _row(crowd: Crowd, phase: str, found: Sequence[list[float]]) -> list[str]:
    count = crowd.size * (2 if phase == TWICE else 1)
    if phase == "leaders' own work":
        count = crowd.groups
    elif phase.endswith("sessions expire"):
        count = int(phase.split()[0].replace(",", ""))
    cells = []
    for seconds in found:
        cells += [milliseconds(seconds), f"{count / statistics.median(seconds):,.0f}"] if seconds else ["-", "-"]
    return [f"{crowd.name}: {phase}", f"{count:,}", *cells]


def coordinator_members(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """What one request costs as a group has more members."""
    crowds = [crowd_of(max(1000 // members, 1), members) for members in selection.group_sizes]
    note = (
        "Microseconds for one request, min / median of the rounds, by the members that its group has; of small groups "
        "there are several. The target is about the last column over the one of 100 members."
    )
    heads = [f"{crowd.members:,} members" for crowd in crowds]
    return _growth("Cost against the size of a group", note, heads, crowds, selection, report, raw)


def coordinator_groups(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """What one request costs as there are more groups."""
    crowds = [crowd_of(groups, 3) for groups in selection.group_counts]
    note = (
        "The same by the number of groups, each of three members; the target is about the last column over the first."
    )
    heads = [f"{crowd.groups:,} groups" for crowd in crowds]
    return _growth("Cost against the number of groups", note, heads, crowds, selection, report, raw)


def _growth(
    title: str,
    note: str,
    heads: list[str],
    crowds: list[Crowd],
    selection: Selection,
    report: Report,
    raw: Raw,
) -> ReportSection:
    report(f"{title}: {', '.join(heads)}")
    rows, target_results = [], []
    small = next(crowd for crowd in crowds if crowd.members != 10)
    for operation, times in costs(crowds, selection.crowd_rounds).items():
        raw[operation] = times
        rows.append([operation, *(_microseconds(times[crowd.name]) for crowd in crowds)])
        pairs = zip(times[small.name], times[crowds[-1].name], strict=True)
        growth = statistics.median(last / first for first, last in pairs)
        what = f"{operation}, {heads[-1]} over {heads[crowds.index(small)]}"
        target_results.append(TargetResult(what, growth, GROWN, sense="<="))
    return ReportSection(title, note, Table(["", *heads], rows), target_results)


def _microseconds(seconds: Sequence[float]) -> str:
    return milliseconds([1000 * each for each in seconds])


def coordinator_memory(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """What the coordinator keeps for each member."""
    rows = []
    for groups, members in selection.crowds:
        crowd = crowd_of(groups, members)
        report(f"memory of {crowd.name}")
        found = raw[crowd.name] = bytes_per_member(crowd)
        texts = ["-", "-"] if found is None else [f"{found:,.0f}", f"{found * crowd.size / 1e6:,.1f}"]
        rows.append([crowd.name, *texts])
    note = (
        "Growth of the resident memory of a process of its own, with all groups Stable: what members offer and were "
        "given, their ids and timers. Subscriptions that are alike are the same bytes here, and count once."
    )
    return ReportSection(
        "Memory of the coordinator", note, Table(["groups x members", "bytes a member", "MB in all"], rows)
    )


def coordinator_java(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """One large group in Kafka's own class."""
    title, crowd = "Kafka's coordinator without its broker", Crowd(1, selection.served)
    report(f"Kafka's coordinator with {crowd.members:,} members")
    try:
        java = JavaCoordinator(crowd)
    except JavaMissingError as why:
        return ReportSection(title, f"Not timed: {why}.")
    times: dict[str, Times] = {}
    with java:
        life = Life(crowd)
        life.found()
        for number in range(3 * selection.crowd_rounds):
            report(f"Kafka's coordinator and ours with {crowd.members:,} members: round {number + 1}")
            gc.collect()
            for implementation, spent in (("Java", java.round()), ("ours", life.rebalance() | life.beat())):
                for phase in ("joins", "syncs", "heartbeats"):
                    times.setdefault(phase, {}).setdefault(implementation, []).append(spent[phase])
    raw |= times
    rows = [
        [
            phase,
            *(milliseconds(seconds) for seconds in by_implementation.values()),
            *(f"{crowd.members / statistics.median(seconds):,.0f}" for seconds in by_implementation.values()),
            f"{shown(ratio(by_implementation, 'Java', 'ours'))}x",
        ]
        for phase, by_implementation in times.items()
    ]
    note = (
        f"GroupMetadataManager of Kafka 4.3.1, called as our coordinator is, with {crowd.members:,} members of one "
        "group: without network, threads, or log, its timers in a broker's wheel, its records written as bytes. Java "
        f"is warm ({REHEARSED} rounds). Milliseconds for all members, min / median, requests a second, and how many "
        "times as long Java takes; requests are made before."
    )
    return ReportSection(
        title, note, Table(["", "Java", "ours", "Java, a second", "ours, a second", "Java / ours"], rows)
    )


def coordinator_broker(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """One large group in a real broker, and in our coordinator behind sockets."""
    title = "A real broker beside it"
    names = {"broker": "Kafka 4.3.1", "ours": "ours"}
    found: dict[str, dict[str, list[Spent]]] = {implementation: {} for implementation in names}
    with contextlib.ExitStack() as stack:
        servers = {}
        for implementation, name in names.items():
            report(f"{name} with {selection.served:,} members")
            try:
                servers[implementation] = stack.enter_context(ServedGroup(implementation, selection.served))
            except ServerMissingError as why:
                return ReportSection(title, f"Not timed: {why}.")
            found[implementation]["ids"] = [servers[implementation].beginning]
        for number in range(selection.crowd_rounds + REHEARSALS):
            for implementation, server in servers.items():
                report(f"{names[implementation]} with {server.members:,} members: round {number + 1}")
                for phase, spent in server.round().items():
                    if number >= REHEARSALS:
                        found[implementation].setdefault(phase, []).append(spent)
        members = min(server.members for server in servers.values())
    raw |= found
    rows = [
        [
            f"{phase}, {name}",
            *(milliseconds(list(column)) for column in zip(*found[implementation][phase], strict=True)),
        ]
        for phase in found["ours"]
        for implementation, name in names.items()
    ]
    note = (
        f"{members:,} members of one group, a loopback connection for each, the same bytes to both servers, which are "
        "asked in turn: Apache Kafka's broker with all that it is, and our coordinator behind a loop that reads and "
        "writes just these requests in Python, without a log. Milliseconds, min / median: from the first request to "
        "the last answer, from the last request to the last answer, and the processor time that the server and our "
        f"client took meanwhile. The first {REHEARSALS} rounds, in which Java warms up, do not count."
    )
    head = ["", "in all", "after the last request", "server's processors", "client's processor"]
    return ReportSection(title, note, Table(head, rows))
