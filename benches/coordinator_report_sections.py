"""Sections about the coordinator: rounds of many members, growth, memory, Kafka's own class, and a real broker."""

from __future__ import annotations

import contextlib
import gc
import statistics
from collections.abc import Sequence

from benches.coordinator_costs import FRESH, costs
from benches.coordinator_java import REHEARSALS as REHEARSED
from benches.coordinator_java import JavaCoordinator
from benches.coordinator_memory import TOGETHER, footprint
from benches.coordinator_servers import ServedGroup, ServerMissingError
from benches.coordinator_sockets import Spent
from benches.coordinator_workloads import CoordinatedGroups, GroupSet
from benches.java_process import JavaMissingError
from benches.selections import Selection
from benches.tables import Raw, Report, ReportSection, Table, milliseconds, shown
from benches.targets import COLLECTED, COLLECTOR_SHARE, GROWN, MEMBER_BYTES, TargetResult
from benches.timing import Times, ratio

LEADERS = {"a client leads": False, "the coordinator leads": True}
"""The columns, by who does the leader's work; True if it is the coordinator."""

TWICE = "full rebalance"
"""The row of the phase with two requests per member."""

FEW_ROUNDS = 3
"""Rounds with many members, which take half a minute each."""

REHEARSALS = 2
"""Rounds that warm the servers up."""


def group_set_of(groups: int, members: int) -> GroupSet:
    """Return a group set, with 10 topics of 100 partitions per 100 members.

    Groups of fewer than 10 members have 1 topic of 6 partitions.
    """
    return GroupSet(groups, members) if members >= 10 else GroupSet(groups, members, topics=1, partitions=6)


def coordinator(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section about full rebalances, heartbeats and session expiry of many members."""
    rows = []
    for groups, members in selection.group_sets:
        group_set = group_set_of(groups, members)
        rounds = (
            selection.coordinator_rounds if group_set.size <= FRESH else min(selection.coordinator_rounds, FEW_ROUNDS)
        )
        times = raw[group_set.name] = _runs(group_set, rounds, report)
        phases = dict.fromkeys(phase for by_phase in times.values() for phase in by_phase)
        rows += [_row(group_set, phase, [times[leader].get(phase, []) for leader in LEADERS]) for phase in phases]
    note = (
        "Groups x members. One process passes the requests of all members to the coordinator, one after the other, and "
        "checks the answers afterwards. Milliseconds for all requests, min / median of the rounds, and requests per "
        "second. The first joins and the expiry of sessions happen once. Requests are created before the clock starts; "
        "creating them, and the work of a leading client between its join and its sync, have their own rows."
    )
    head = ["", "requests", *(cell for leader in LEADERS for cell in (f"{leader}, ms", "per second"))]
    return ReportSection("The coordinator", note, Table(head, rows))


def _runs(group_set: GroupSet, rounds: int, report: Report) -> dict[str, Times]:
    runs = {leader: CoordinatedGroups(group_set, embedded) for leader, embedded in LEADERS.items()}
    times: dict[str, Times] = {leader: {} for leader in LEADERS}
    for leader, coordinated in runs.items():
        report(f"{group_set.name}, {leader}: forming the groups")
        gc.collect()
        found = coordinated.form()
        times[leader] |= {
            phase: [found[phase]]
            for phase in ("first joins, without id", "first joins, with id", "end of the initial delay")
        }
    for number in range(rounds):
        for leader, coordinated in runs.items():
            report(f"{group_set.name}, {leader}: round {number + 1}")
            gc.collect()
            for phase, spent in _round(coordinated).items():
                times[leader].setdefault(phase, []).append(spent)
    for leader, coordinated in runs.items():
        gc.collect()
        times[leader] |= {phase: [spent] for phase, spent in coordinated.expire_a_tenth().items()}
    return times


def _round(coordinated: CoordinatedGroups) -> dict[str, float]:
    spent = coordinated.rebalance()
    if coordinated.embedded:
        del spent["work of leading clients"]
    return {TWICE: spent["joins"] + spent["syncs"]} | spent | coordinated.heartbeat_all()


def _row(group_set: GroupSet, phase: str, found: Sequence[list[float]]) -> list[str]:
    count = group_set.size * (2 if phase == TWICE else 1)
    if phase == "work of leading clients":
        count = group_set.groups
    elif phase.endswith("sessions expire"):
        count = int(phase.split()[0].replace(",", ""))
    cells = []
    for seconds in found:
        cells += [milliseconds(seconds), f"{count / statistics.median(seconds):,.0f}"] if seconds else ["-", "-"]
    return [f"{group_set.name}: {phase}", f"{count:,}", *cells]


def coordinator_members(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section about the cost of a request as the group grows."""
    group_sets = [group_set_of(max(1000 // members, 1), members) for members in selection.group_sizes]
    note = (
        "Microseconds per request, min / median of the rounds, by the number of members of the group. Small groups are "
        "timed several at a time. The target compares the last column with that of 100 members."
    )
    heads = [f"{group_set.members:,} members" for group_set in group_sets]
    return _growth("Cost against the size of a group", note, heads, group_sets, selection, report, raw)


def coordinator_groups(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section about the cost of a request as the number of groups grows."""
    group_sets = [group_set_of(groups, 3) for groups in selection.group_counts]
    note = (
        "Microseconds per request, min / median of the rounds, by the number of groups of three members. The target "
        "compares the last column with the first."
    )
    heads = [f"{group_set.groups:,} groups" for group_set in group_sets]
    return _growth("Cost against the number of groups", note, heads, group_sets, selection, report, raw)


def _growth(
    title: str,
    note: str,
    heads: list[str],
    group_sets: list[GroupSet],
    selection: Selection,
    report: Report,
    raw: Raw,
) -> ReportSection:
    report(f"{title}: {', '.join(heads)}")
    rows, target_results = [], []
    small = next(group_set for group_set in group_sets if group_set.members != 10)
    for operation, times in costs(group_sets, selection.coordinator_rounds).items():
        raw[operation] = times
        rows.append([operation, *(_microseconds(times[group_set.name]) for group_set in group_sets)])
        pairs = zip(times[small.name], times[group_sets[-1].name], strict=True)
        growth = statistics.median(last / first for first, last in pairs)
        what = f"{operation}, {heads[-1]} / {heads[group_sets.index(small)]}"
        target_results.append(TargetResult(what, growth, GROWN, sense="<="))
    return ReportSection(title, note, Table(["", *heads], rows), target_results)


def _microseconds(seconds: Sequence[float]) -> str:
    return milliseconds([1000 * each for each in seconds])


def coordinator_memory(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section about the memory of the coordinator, and about Python's garbage collector."""
    rows, target_results = [], []
    for groups, members in selection.memory_sets:
        group_set = group_set_of(groups, members)
        report(f"memory of {group_set.name}")
        found = raw[group_set.name] = footprint(group_set)
        texts = ["-", "-"]
        if found.resident is not None:
            texts = [f"{found.resident:,.0f}", f"{found.resident * group_set.size / 1e6:,.1f}"]
            what = f"resident memory per member, {group_set.name}"
            target_results.append(TargetResult(what, found.resident, MEMBER_BYTES, " bytes", "<="))
        rows.append([group_set.name, f"{found.live:,.0f}", *texts, f"{found.collector:.1f} %"])
        if group_set.size == COLLECTED:
            what = f"garbage collector, {group_set.name}"
            target_results.append(TargetResult(what, found.collector, COLLECTOR_SHARE, "%", "<="))
    note = (
        "A new process reads the requests of the clients, and drops each request once it is answered. All groups form, "
        f"{TOGETHER:,} at a time, rebalance once more, and send heartbeats. Live bytes are the sizes of all objects "
        "that the coordinator refers to: subscriptions, assignments, ids and timers. Resident bytes are the growth of "
        "the process. They include memory that Python keeps for later requests, such as that of requests that waited. "
        "The last column is the share of the process's processor time that Python's garbage collector takes."
    )
    head = [
        "groups x members",
        "live bytes per member",
        "resident bytes per member",
        "resident MB in total",
        "garbage collector",
    ]
    return ReportSection("Memory of the coordinator", note, Table(head, rows), target_results)


def coordinator_java(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that compares our coordinator with Kafka's own class on one large group."""
    title, group_set = "Kafka's coordinator without its broker", GroupSet(1, selection.served)
    report(f"Kafka's coordinator with {group_set.members:,} members")
    try:
        java = JavaCoordinator(group_set)
    except JavaMissingError as why:
        return ReportSection(title, f"Not timed: {why}.")
    times: dict[str, Times] = {}
    with java:
        coordinated = CoordinatedGroups(group_set)
        coordinated.form()
        for number in range(3 * selection.coordinator_rounds):
            report(f"Kafka's coordinator and ours with {group_set.members:,} members: round {number + 1}")
            gc.collect()
            for implementation, spent in (
                ("Java", java.round()),
                ("ours", coordinated.rebalance() | coordinated.heartbeat_all()),
            ):
                for phase in ("joins", "syncs", "heartbeats"):
                    times.setdefault(phase, {}).setdefault(implementation, []).append(spent[phase])
    raw |= times
    rows = [
        [
            phase,
            *(milliseconds(seconds) for seconds in by_implementation.values()),
            *(f"{group_set.members / statistics.median(seconds):,.0f}" for seconds in by_implementation.values()),
            f"{shown(ratio(by_implementation, 'Java', 'ours'))}x",
        ]
        for phase, by_implementation in times.items()
    ]
    note = (
        f"GroupMetadataManager of Kafka 4.3.1, called like our coordinator, with one group of {group_set.members:,} "
        "members: no network, threads or log; its timers are in a broker's timing wheel, its records are serialized. "
        f"Java is warm ({REHEARSED} rounds). Milliseconds for all members, min / median, requests per second, and "
        "Java's time divided by ours. Requests are created before the clock starts."
    )
    return ReportSection(
        title, note, Table(["", "Java", "ours", "Java, per second", "ours, per second", "Java / ours"], rows)
    )


def coordinator_broker(selection: Selection, report: Report, raw: Raw) -> ReportSection:
    """Return the section that compares a real broker with our coordinator behind sockets, on one large group."""
    title = "A real broker and our coordinator behind sockets"
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
            found[implementation]["first join, without id"] = [servers[implementation].beginning]
        for number in range(selection.coordinator_rounds + REHEARSALS):
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
        f"One group of {members:,} members, each with a loopback connection. Both servers get the same bytes in turn: "
        "Apache Kafka's complete broker, and our coordinator behind a Python loop that reads and writes only these "
        "requests and has no log. Milliseconds, min / median: from the first request to the last answer, from the last "
        "request to the last answer, and processor time of the server and of our client. The first "
        f"{REHEARSALS} rounds warm Java up and do not count."
    )
    head = ["", "total", "after the last request", "server's processor time", "client's processor time"]
    return ReportSection(title, note, Table(head, rows))
