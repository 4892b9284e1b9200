"""Benchmarks of the coordinator: rounds of many members, cost against size, memory, and Kafka's own class.

In the operations of `OPERATIONS`, requests are created before the clock starts, and results are checked after it has
stopped. Requests whose answer or record contains all members are not among them: the leader's join and sync, the
replacement of a static member in a Stable group, a description.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from assignor.coordinator import Effects, ErrorCode, HeartbeatRequest
from benches.coordinator_groups import RUN, CoordinatedGroups, GroupSet, Phases, require, require_errors
from benches.java_process import JavaMissingError, JavaProcess
from benches.memory import live_bytes
from benches.report import Part, Row, Run, Target, rate, section
from benches.timing import Case, alternate, ratio

GROWN = 3
"""Largest ratio of the time of a request with 10,000 members, or 100,000 groups, to its time with 100."""

MEMBER_BYTES = 800
"""Largest number of live bytes of the coordinator per member."""

LEADERS = {"a client leads": False, "the coordinator leads": True}
"""Who does the leader's work; True if it is the coordinator."""

CALLS = 1_000
"""Number of requests that are timed in a row, if there are enough members."""

FRESH = 10_000
"""Largest number of members of a group set that is created again for each sample of an operation in `SPENDING`."""

SAMPLES = 5
"""Number of samples of an operation in `SPENDING`; a set of more than `FRESH` members has groups for all samples."""

JAVA_REHEARSALS = 15
"""Rounds that warm Kafka's class up."""


def group_set_of(groups: int, members: int) -> GroupSet:
    """Return a group set, with 10 topics of 100 partitions per 100 members.

    Groups of fewer than 10 members have 1 topic of 6 partitions.
    """
    return GroupSet(groups, members) if members >= 10 else GroupSet(groups, members, topics=1, partitions=6)


def formed(group_set: GroupSet, embedded: bool = False) -> CoordinatedGroups:
    """Return groups that are Stable."""
    coordinated = CoordinatedGroups(group_set, embedded)
    coordinated.form()
    return coordinated


def heartbeat(coordinated: CoordinatedGroups) -> float:
    """Time a heartbeat in a Stable group."""
    return _timed(coordinated, "heartbeat", coordinated.heartbeats(CALLS))


def commit(coordinated: CoordinatedGroups) -> float:
    """Time a commit of one partition's offset."""
    seconds = _timed(coordinated, "offset_commit", coordinated.commits(CALLS))
    require(bool(coordinated.coordinator.committed("group-0")), "group-0 has no committed offset")
    return seconds


def join(coordinated: CoordinatedGroups) -> float:
    """Time the join of an existing member while the group prepares a rebalance; the join waits."""
    waiting = []
    for group, leader in _groups_to_spend(coordinated):
        coordinated.send("join_group", [coordinated.join(group, leader)])
        waiting += [coordinated.join(group, number) for number in _others(coordinated, leader)[:-1]]
    return _timed(coordinated, "join_group", waiting[:: max(len(waiting) // CALLS, 1)][:CALLS], answered=False)


def leave(coordinated: CoordinatedGroups) -> float:
    """Time the leave of a member that is not the leader."""
    leaving = [
        coordinated.leave(group, number)
        for group, leader in _groups_to_spend(coordinated)
        for number in _others(coordinated, leader)[-_tenth(coordinated) :]
    ]
    return _timed(coordinated, "leave_group", leaving)


def leave_of_leader(coordinated: CoordinatedGroups) -> float:
    """Time the leave of the leader, of the next leader, and so on."""
    leaving = []
    for group, leader in _groups_to_spend(coordinated):
        described = coordinated.coordinator.describe(f"group-{group}").members
        numbers = {member: number for number, member in enumerate(coordinated.members[group])}
        successors = [number for each in described if (number := numbers[each.member_id]) != leader]
        leaving += [coordinated.leave(group, number) for number in [leader, *successors][: _tenth(coordinated)]]
    return _timed(coordinated, "leave_group", leaving)


def expiry(coordinated: CoordinatedGroups) -> float:
    """Time the expiry of a session; a tenth of the members of some groups expire at the same time."""
    silent: list[HeartbeatRequest] = []
    others: list[HeartbeatRequest] = []
    for group, leader in _groups_to_spend(coordinated):
        gone = _others(coordinated, leader)[-_tenth(coordinated) :]
        for number, member in enumerate(coordinated.members[group]):
            beat = HeartbeatRequest(f"group-{group}", coordinated.generation, member)
            (silent if number in gone else others).append(beat)
    return coordinated.expire(silent, [*others, *coordinated.heartbeats()]) / len(silent)


OPERATIONS: dict[str, Callable[[CoordinatedGroups], float]] = {
    "heartbeat": heartbeat,
    "offset commit": commit,
    "join while preparing a rebalance": join,
    "leave": leave,
    "leave of the leader": leave_of_leader,
    "session expires": expiry,
}
"""Functions that send requests of many members of Stable groups and return the seconds per request."""

SPENDING = ("join while preparing a rebalance", "leave", "leave of the leader", "session expires")
"""Operations after which a group is no longer used."""


def _groups_to_spend(coordinated: CoordinatedGroups) -> Iterator[tuple[int, int]]:
    """Yield groups, with the numbers of their leaders, and mark them as spent."""
    groups = coordinated.group_set.groups
    count = groups if coordinated.group_set.size <= FRESH else groups // (SAMPLES * len(SPENDING))
    for _ in range(min(count, CALLS) or 1):
        group = coordinated.spent
        coordinated.spent += 1
        yield group, coordinated.leaders[group]


def _others(coordinated: CoordinatedGroups, leader: int) -> Sequence[int]:
    return [number for number in range(coordinated.group_set.members) if number != leader]


def _tenth(coordinated: CoordinatedGroups) -> int:
    return max(coordinated.group_set.members // 10, 1)


def _timed(coordinated: CoordinatedGroups, name: str, requests: Sequence[Any], answered: bool = True) -> float:
    call: Callable[[Any, int], Effects] = getattr(coordinated.coordinator, name)
    now, all_effects = coordinated.now, []
    start = time.perf_counter()
    for request in requests:
        all_effects.append(call(request, now))  # noqa: PERF401 - a comprehension is another function in Python 3.11
    seconds = time.perf_counter() - start
    answers = [answer.response for effects in all_effects for answer in effects.answers]
    expected = len(requests) if answered else 0
    require(len(answers) == expected, f"{len(answers):,} answers to {len(requests):,} requests instead of {expected:,}")
    require_errors(answers, {ErrorCode.NONE} if answered else set(), "requests")
    return seconds / len(requests)


def _rebalance(group_set: GroupSet, embedded: bool) -> Callable[[], Phases]:
    return formed(group_set, embedded).rebalance


def _operation(group_set: GroupSet, name: str) -> Callable[[], float]:
    return functools.partial(OPERATIONS[name], formed(group_set))


def cases(run: Run) -> Iterator[Case]:
    """Yield a full rebalance with each leader, and the operations that can be repeated on the same groups."""
    for group_set in run.of(
        (group_set_of(1, 1_000), group_set_of(1_000, 3)), (group_set_of(1, 20), group_set_of(10, 3))
    ):
        for leader, embedded in LEADERS.items():
            yield Case(
                f"full rebalance, {group_set.name}",
                leader,
                functools.partial(_rebalance, group_set, embedded),
            )
        for name in (name for name in OPERATIONS if name not in SPENDING):
            yield Case(
                f"operations, {group_set.name}",
                name,
                functools.partial(_operation, group_set, name),
            )


@section(
    "coordinator",
    "The coordinator",
    "Groups x members. One process passes the requests of all members to the coordinator, one after the other, and "
    "checks the answers afterwards. Milliseconds for all requests, min / median of the rounds, and requests per "
    "second where a client leads. The first joins happen once. Requests are created "
    "before the clock starts; creating them, and the work of a leading client between its join and its sync, have "
    "their own rows.",
)
def coordinator(run: Run) -> Iterator[Part]:
    for groups, members in run.of(((1, 10_000), (100_000, 3)), ((1, 100), (100, 3))):
        group_set = group_set_of(groups, members)
        run.report(f"{group_set.name}: forming the groups")
        sides = {leader: CoordinatedGroups(group_set, embedded) for leader, embedded in LEADERS.items()}
        rounds = run.of(5 if group_set.size <= FRESH else 3, 2)
        times = alternate({leader: side.form for leader, side in sides.items()}, 1, run.report)
        times |= alternate(
            {leader: functools.partial(_round, side) for leader, side in sides.items()}, rounds, run.report
        )
        for phase, by_leader in times.items():
            size = group_set.size
            count = {"full rebalance": 2 * size, "work of leading clients": groups}.get(phase, size)
            cells = {"requests": f"{count:,}", "per second": rate(count, by_leader["a client leads"])}
            yield Row(f"{group_set.name}: {phase}", by_leader, cells)


def _round(coordinated: CoordinatedGroups) -> Phases:
    spent = coordinated.rebalance()
    return {"full rebalance": spent["joins"] + spent["syncs"]} | spent | coordinated.heartbeat_all()


def costs(group_sets: dict[str, GroupSet], small: str, run: Run) -> Iterator[Part]:
    """Compare the seconds per request of the operations on group sets, which take turns."""
    kept = {name: formed(group_set) for name, group_set in group_sets.items()}

    def sample(name: str) -> Phases:
        found = {}
        for operation, function in OPERATIONS.items():
            is_fresh = operation in SPENDING and group_sets[name].size <= FRESH
            found[operation] = function(formed(group_sets[name]) if is_fresh else kept[name])
        return found

    sides = {name: functools.partial(sample, name) for name in group_sets}
    times = alternate(sides, run.of(SAMPLES, 2), run.report)
    yield from (Row(operation, by_set) for operation, by_set in times.items())
    last = list(group_sets)[-1]
    for operation, by_set in times.items():
        yield Target(f"{operation}, {last} / {small}", ratio(by_set, last, small), GROWN, sense="<=")


@section(
    "coordinator-members",
    "Cost against the size of a group",
    "Microseconds per request, min / median of the rounds, by the number of members of the group. Small groups are "
    "timed several at a time. The target compares the last column with that of 100 members.",
    scale=1e6,
)
def coordinator_members(run: Run) -> Iterator[Part]:
    sizes = run.of((10, 100, 1_000, 10_000), (10, 100, 200))
    group_sets = {f"{members:,} members": group_set_of(max(1000 // members, 1), members) for members in sizes}
    return costs(group_sets, "100 members", run)


@section(
    "coordinator-groups",
    "Cost against the number of groups",
    "Microseconds per request, min / median of the rounds, by the number of groups of three members. The target "
    "compares the last column with the first.",
    scale=1e6,
)
def coordinator_groups(run: Run) -> Iterator[Part]:
    counts = run.of((100, 1_000, 10_000, 100_000), (100, 200))
    return costs({f"{groups:,} groups": group_set_of(groups, 3) for groups in counts}, "100 groups", run)


@section(
    "coordinator-memory",
    "Memory of the coordinator",
    "All groups form, rebalance once more, and send heartbeats. Live bytes are the sizes of all objects that the "
    "coordinator refers to: subscriptions, assignments, ids and timers.",
)
def coordinator_memory(run: Run) -> Iterator[Part]:
    for sizes in run.of(((1, 10_000), (1, 60_000), (20_000, 3), (100_000, 3)), ((1, 100), (100, 3))):
        group_set = group_set_of(*sizes)
        run.report(f"memory of {group_set.name}")
        coordinated = formed(group_set)
        _round(coordinated)
        live = live_bytes(coordinated.coordinator) / group_set.size
        yield Row(group_set.name, {}, {"live bytes per member": f"{live:,.0f}"})
        yield Target(f"live bytes per member, {group_set.name}", live, MEMBER_BYTES, " bytes", "<=")


@section(
    "coordinator-java",
    "Kafka's coordinator without its broker",
    "Kafka's GroupMetadataManager, called like our coordinator, with one large group: no network, threads or log; "
    f"its timers are in a broker's timing wheel, its records are serialized. Java is warm ({JAVA_REHEARSALS} rounds). "
    "Milliseconds for all members, min / median, Java's time divided by ours, and requests per second. Requests are "
    "created before the clock starts.",
    "first / this",
)
def coordinator_java(run: Run) -> Iterator[Part]:
    group_set = GroupSet(1, run.of(10_000, 100))
    run.report(f"Kafka's coordinator with {group_set.members:,} members")
    sizes = map(str, (group_set.members, group_set.topics, group_set.partitions, RUN))
    options = ("-Dlog4j2.level=WARN", "-Xms1g", "-Xmx1g")
    try:
        java = JavaProcess(JAVA_COORDINATOR, "kafka-group-coordinator", *sizes, options=options)
    except JavaMissingError as why:
        yield f"Not timed: {why}."
        return

    def theirs() -> Phases:
        seconds = (int(each) / 1e9 for each in java.ask("round").split())
        return dict(zip(("joins", "syncs", "heartbeats"), seconds, strict=True))

    ours = formed(group_set)
    with java:
        for _ in range(JAVA_REHEARSALS):
            theirs()
        times = alternate({"Java": theirs, "ours": functools.partial(_round, ours)}, run.of(15, 2), run.report)
    for phase in ("joins", "syncs", "heartbeats"):
        cells = {f"{side}, per second": rate(group_set.members, seconds) for side, seconds in times[phase].items()}
        yield Row(phase, times[phase], cells)
    yield f"{java.version}. The group has {group_set.members:,} members."


JAVA_COORDINATOR = "org.apache.kafka.coordinator.group.GroupTimer"
