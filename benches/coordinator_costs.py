"""Cost of one request to the coordinator, by the size of the group and by the number of groups.

Each operation is timed over many members in a row. Requests are created before the clock starts, and results are
checked after it has stopped. Requests whose answer or record contains all members are not timed: the leader's join and
sync, the replacement of a static member in a Stable group, a description.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from assignor.coordinator import Effects, ErrorCode, HeartbeatRequest
from benches.coordinator_workloads import SESSION_MS, CoordinatedGroups, GroupSet, require, require_errors
from benches.timing import Times

CALLS = 1_000
"""Number of requests that are timed in a row, if there are enough members."""

Operation = Callable[[CoordinatedGroups], float]
"""Function that sends requests of many members of Stable groups and returns the seconds per request."""


def heartbeat(coordinated: CoordinatedGroups) -> float:
    """Time a heartbeat in a Stable group."""
    return _timed(coordinated, coordinated.coordinator.heartbeat, coordinated.heartbeats(CALLS))


def commit(coordinated: CoordinatedGroups) -> float:
    """Time a commit of one partition's offset."""
    seconds = _timed(coordinated, coordinated.coordinator.offset_commit, coordinated.commits(CALLS))
    require(bool(coordinated.coordinator.committed("group-0")), "group-0 has no committed offset")
    return seconds


def join(coordinated: CoordinatedGroups) -> float:
    """Time the join of an existing member while the group prepares a rebalance; the join waits."""
    waiting = []
    for group, leader in _groups_to_spend(coordinated):
        coordinated.coordinator.join_group(coordinated.join(group, leader), coordinated.now)
        waiting += [coordinated.join(group, number) for number in _others(coordinated, leader)[:-1]]
    return _timed(
        coordinated,
        coordinated.coordinator.join_group,
        waiting[:: max(len(waiting) // CALLS, 1)][:CALLS],
        answered=False,
    )


def leave(coordinated: CoordinatedGroups) -> float:
    """Time the leave of a member that is not the leader."""
    requests = [
        coordinated.leave(group, number)
        for group, leader in _groups_to_spend(coordinated)
        for number in _others(coordinated, leader)[-_leaving(coordinated) :]
    ]
    return _timed(coordinated, coordinated.coordinator.leave_group, requests)


def leave_of_leader(coordinated: CoordinatedGroups) -> float:
    """Time the leave of the leader, of the next leader, and so on."""
    requests = []
    for group, leader in _groups_to_spend(coordinated):
        described = coordinated.coordinator.describe(f"group-{group}").members
        numbers = {member: number for number, member in enumerate(coordinated.members[group])}
        successors = [number for each in described if (number := numbers[each.member_id]) != leader]
        requests += [coordinated.leave(group, number) for number in [leader, *successors][: _leaving(coordinated)]]
    return _timed(coordinated, coordinated.coordinator.leave_group, requests)


def expiry(coordinated: CoordinatedGroups) -> float:
    """Time the expiry of a session; a tenth of the members of some groups expire at the same time."""
    spent = list(_groups_to_spend(coordinated))
    silent = [
        HeartbeatRequest(f"group-{group}", coordinated.generation, coordinated.members[group][number])
        for group, leader in spent
        for number in _others(coordinated, leader)[-_leaving(coordinated) :]
    ]
    gone = {(beat.group_id, beat.member_id) for beat in silent}
    others = [
        HeartbeatRequest(f"group-{group}", coordinated.generation, member)
        for group, _ in spent
        for member in coordinated.members[group]
        if (f"group-{group}", member) not in gone
    ]
    others += coordinated.heartbeats()
    now, deadline = coordinated.now, coordinated.now + 10 + SESSION_MS
    for beats, at in ((silent, now + 10), (others, now + SESSION_MS // 2)):
        for beat in beats:
            coordinated.coordinator.heartbeat(beat, at)
    # Process everything that is due before the deadline, so that only the expiry of the sessions is timed.
    coordinated.coordinator.expire(deadline - 1)
    start = time.perf_counter()
    effects = coordinated.coordinator.expire(deadline)
    seconds = time.perf_counter() - start
    rebalances = f"{len(effects.rebalances):,} groups rebalance instead of {len(spent):,} when sessions expire"
    require(len(effects.rebalances) == len(spent), rebalances)
    coordinated.now = deadline
    for beat in others:
        coordinated.coordinator.heartbeat(beat, deadline)
    return seconds / len(silent)


OPERATIONS: dict[str, Operation] = {
    "heartbeat": heartbeat,
    "offset commit": commit,
    "join while preparing a rebalance": join,
    "leave": leave,
    "leave of the leader": leave_of_leader,
    "session expires": expiry,
}
"""The operations by name."""

SPENDING = ("join while preparing a rebalance", "leave", "leave of the leader", "session expires")
"""Operations after which a group is no longer used."""

FRESH = 10_000
"""Largest number of members of a group set that is created again for each sample of an operation in `SPENDING`."""

SAMPLES = 5
"""Number of samples of an operation in `SPENDING`; a set of more than `FRESH` members has groups for all samples."""


class Costs:
    """Costs of the requests of one group set.

    Args:
        group_set: Number and size of the groups.
    """

    def __init__(self, group_set: GroupSet) -> None:
        self._group_set = group_set
        self._kept = self._formed()

    def sample(self, operation: str) -> float:
        """Return the seconds per request of an operation."""
        fresh = operation in SPENDING and self._group_set.size <= FRESH
        return OPERATIONS[operation](self._formed() if fresh else self._kept)

    def _formed(self) -> CoordinatedGroups:
        coordinated = CoordinatedGroups(self._group_set)
        coordinated.form()
        return coordinated


def costs(group_sets: Iterable[GroupSet], rounds: int) -> dict[str, Times]:
    """Return the seconds per request in each round, by operation and group set. The group sets take turns."""
    asked = {group_set.name: Costs(group_set) for group_set in group_sets}
    times: dict[str, Times] = {operation: {name: [] for name in asked} for operation in OPERATIONS}
    for _ in range(min(rounds, SAMPLES)):
        for operation, by_group_set in times.items():
            gc.collect()
            for name, group_set in asked.items():
                by_group_set[name].append(group_set.sample(operation))
    return times


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


def _leaving(coordinated: CoordinatedGroups) -> int:
    """Return the number of members that leave each group."""
    return max(coordinated.group_set.members // 10, 1)


def _timed(
    coordinated: CoordinatedGroups, call: Callable[[Any, int], Effects], requests: Sequence[Any], answered: bool = True
) -> float:
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
