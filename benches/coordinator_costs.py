"""Cost of one request to the coordinator, by the size of the group and by the number of groups.

Each operation is timed over many members in a row. Requests are created before, and results are checked after. Requests
whose answer or record contains all members are not timed: the leader's join and sync, the replacement of a static
member in a Stable group, a description.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from assignor.coordinator import Effects, ErrorCode, HeartbeatRequest
from benches.coordinator_workloads import SESSION_MS, Crowd, Life, require
from benches.timing import Times

CALLS = 1_000
"""Number of requests that are timed in a row, if there are enough members."""

Operation = Callable[[Life], float]
"""Function that sends requests of many members of Stable groups and returns the seconds per request."""


def heartbeat(life: Life) -> float:
    """Time a heartbeat in a Stable group."""
    return _timed(life, life.coordinator.heartbeat, life.heartbeats(CALLS))


def commit(life: Life) -> float:
    """Time a commit of one partition's offset."""
    seconds = _timed(life, life.coordinator.offset_commit, life.commits(CALLS))
    require(bool(life.coordinator.committed("group-0")), "commits")
    return seconds


def join(life: Life) -> float:
    """Time a join of one more member while the group prepares a rebalance; the join waits."""
    waiting = []
    for group, leader in _groups_to_spend(life):
        life.coordinator.join_group(life.join(group, leader), life.now)
        waiting += [life.join(group, number) for number in _others(life, leader)[:-1]]
    return _timed(life, life.coordinator.join_group, waiting[:: max(len(waiting) // CALLS, 1)][:CALLS], answered=False)


def leave(life: Life) -> float:
    """Time the leave of a member that is not the leader."""
    requests = [
        life.leave(group, number)
        for group, leader in _groups_to_spend(life)
        for number in _others(life, leader)[-_leaving(life) :]
    ]
    return _timed(life, life.coordinator.leave_group, requests)


def leave_of_leader(life: Life) -> float:
    """Time the leave of the leader, of the next leader, and so on."""
    requests = []
    for group, leader in _groups_to_spend(life):
        described = life.coordinator.describe(f"group-{group}").members
        numbers = {member: number for number, member in enumerate(life.members[group])}
        successors = [number for each in described if (number := numbers[each.member_id]) != leader]
        requests += [life.leave(group, number) for number in [leader, *successors][: _leaving(life)]]
    return _timed(life, life.coordinator.leave_group, requests)


def expiry(life: Life) -> float:
    """Time the expiry of a session; a tenth of the members of some groups expire at the same time."""
    spent = list(_groups_to_spend(life))
    silent = [
        HeartbeatRequest(f"group-{group}", life.generation, life.members[group][number])
        for group, leader in spent
        for number in _others(life, leader)[-_leaving(life) :]
    ]
    gone = {(beat.group_id, beat.member_id) for beat in silent}
    others = [
        HeartbeatRequest(f"group-{group}", life.generation, member)
        for group, _ in spent
        for member in life.members[group]
        if (f"group-{group}", member) not in gone
    ]
    others += life.heartbeats()
    now, deadline = life.now, life.now + 10 + SESSION_MS
    for beats, at in ((silent, now + 10), (others, now + SESSION_MS // 2)):
        for beat in beats:
            life.coordinator.heartbeat(beat, at)
    life.coordinator.expire(deadline - 1)  # fire the timers that the heartbeats left
    start = time.perf_counter()
    effects = life.coordinator.expire(deadline)
    seconds = time.perf_counter() - start
    require(len(effects.rebalances) == len(spent), "sessions that expire")
    life.now = deadline
    for beat in others:
        life.coordinator.heartbeat(beat, deadline)
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
"""Largest crowd that is created again for each sample of an operation in `SPENDING`."""

SAMPLES = 5
"""Number of samples of such an operation that a larger crowd has enough groups for."""


class Costs:
    """Costs of the requests of one crowd.

    Args:
        crowd: Number and size of the groups.
    """

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._kept = self._founded()

    def sample(self, operation: str) -> float:
        """Return the seconds per request of an operation."""
        fresh = operation in SPENDING and self._crowd.size <= FRESH
        return OPERATIONS[operation](self._founded() if fresh else self._kept)

    def _founded(self) -> Life:
        life = Life(self._crowd)
        life.found()
        return life


def costs(crowds: Iterable[Crowd], rounds: int) -> dict[str, Times]:
    """Return the seconds per request in each round, by operation and crowd. The crowds take turns."""
    asked = {crowd.name: Costs(crowd) for crowd in crowds}
    times: dict[str, Times] = {operation: {name: [] for name in asked} for operation in OPERATIONS}
    for _ in range(min(rounds, SAMPLES)):
        for operation, by_crowd in times.items():
            gc.collect()
            for name, crowd in asked.items():
                by_crowd[name].append(crowd.sample(operation))
    return times


def _groups_to_spend(life: Life) -> Iterator[tuple[int, int]]:
    """Yield groups, with the numbers of their leaders, and mark them as spent."""
    groups = life.crowd.groups
    count = groups if life.crowd.size <= FRESH else groups // (SAMPLES * len(SPENDING))
    for _ in range(min(count, CALLS) or 1):
        group = life.spent
        life.spent += 1
        yield group, life.leaders[group]


def _others(life: Life, leader: int) -> Sequence[int]:
    return [number for number in range(life.crowd.members) if number != leader]


def _leaving(life: Life) -> int:
    """Return the number of members that leave each group."""
    return max(life.crowd.members // 10, 1)


def _timed(life: Life, call: Callable[[Any, int], Effects], requests: Sequence[Any], answered: bool = True) -> float:
    now, all_effects = life.now, []
    start = time.perf_counter()
    for request in requests:
        all_effects.append(call(request, now))  # noqa: PERF401 - a comprehension is another function in Python 3.11
    seconds = time.perf_counter() - start
    answers = [answer.response for effects in all_effects for answer in effects.answers]
    require(len(answers) == (len(requests) if answered else 0), f"{len(answers):,} answers to {len(requests):,}")
    errors = {getattr(answer, "error_code", ErrorCode.NONE) for answer in answers}
    require(errors <= {ErrorCode.NONE}, f"errors: {errors}")
    return seconds / len(requests)
