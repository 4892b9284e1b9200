"""The cost of a request does not depend on the number of members, unless its answer or record lists all members.

The cost is a number of executed lines of Python, not a time. A tenth of the members send each kind of request, because
some requests do the work that many others deferred. Requests that list all members show that the count can grow.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from assignor.coordinator import (
    Coordinator,
    CoordinatorConfig,
    Effects,
    GroupState,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeavingMember,
    OffsetCommitRequest,
    OffsetToCommit,
    SyncGroupRequest,
)
from tests.coordinator.driver import METHODS

if TYPE_CHECKING:
    from types import FrameType

SMALL, LARGE = 100, 3_000

SLACK = 1.5
"""Allowed ratio of steps between the large and the small group: logarithmic costs grow a little."""

SESSION_MS, REBALANCE_MS = 30_000, 60_000


class Steps:
    """Context manager that counts executed lines of Python."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Steps:
        self._before = sys.gettrace()
        sys.settrace(self._on_event)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(self._before)

    def _on_event(self, _frame: FrameType, event: str, _argument: object) -> Any:
        self.count += event == "line"
        return self._on_event


class Crowd:
    """A Stable group of many members; the first one leads, and every tenth is static."""

    def __init__(self, size: int) -> None:
        self.now = 0
        numbers = iter(range(10**9))
        self.coordinator = Coordinator(
            CoordinatorConfig(initial_rebalance_delay_ms=0), member_ids=lambda name: f"{name}-{next(numbers)}"
        )
        self.ids = [f"m{number}-{number}" for number in range(size)]
        first, *others = range(size)
        self.ask(self.join(first, member_id=""))
        for number in others:
            self.ask(self.join(number, member_id=""))
        self.generation = self.generation_of(self.ask(self.join(first)))
        for request in [*map(self.sync, others), self.leaders_sync()]:
            self.ask(request)
        assert self.coordinator.describe("g").state is GroupState.STABLE

    def ask(self, request: Any) -> Effects:
        """Send a request."""
        ask: Callable[[Any, int], Effects] = getattr(self.coordinator, METHODS[type(request)])
        return ask(request, self.now)

    def mean(self, requests: Iterable[Any]) -> float:
        """Return the mean number of steps per request."""
        steps, asked = Steps(), list(requests)
        for request in asked:
            self.now += 1
            with steps:
                self.ask(request)
        return steps.count / len(asked)

    def join(self, number: int, member_id: str | None = None, subscription: bytes = b"") -> JoinGroupRequest:
        """Return a join of a member, or of one that lost its id."""
        return JoinGroupRequest(
            "g",
            self.ids[number] if member_id is None else member_id,
            protocols=(("range", subscription),),
            protocol_type="bench",
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            group_instance_id=self.instance(number),
            client_id=f"m{number}",
            version=9 if number % 10 == 5 else 3,
        )

    def instance(self, number: int) -> str | None:
        """Return the instance id of every tenth member."""
        return f"m{number}" if number % 10 == 5 else None

    def sync(self, number: int) -> SyncGroupRequest:
        """Return a sync of a member that does not lead."""
        return SyncGroupRequest("g", self.generation, self.ids[number], self.instance(number), version=3)

    def leaders_sync(self) -> SyncGroupRequest:
        """Return the leader's sync, with all assignments."""
        given = tuple((member_id, b"x") for member_id in self.ids)
        return SyncGroupRequest("g", self.generation, self.ids[0], assignments=given, version=3)

    def leave(self, number: int) -> LeaveGroupRequest:
        """Return a LeaveGroup request of a member."""
        return LeaveGroupRequest("g", (LeavingMember(self.ids[number], self.instance(number)),))

    def tenth(self) -> list[int]:
        """Return a tenth of the members, without the leader and the last member."""
        return list(range(1, len(self.ids) - 1, 10))

    @staticmethod
    def generation_of(effects: Effects) -> int:
        """Return the generation in the answers to joins."""
        (generation,) = {
            answer.response.generation_id
            for answer in effects.answers
            if isinstance(answer.response, JoinGroupResponse)
        }
        return generation


def heartbeats(crowd: Crowd) -> float:
    return crowd.mean(HeartbeatRequest("g", crowd.generation, crowd.ids[number]) for number in crowd.tenth())


def commits(crowd: Crowd) -> float:
    offsets = (OffsetToCommit("t", 0, 1),)
    return crowd.mean(
        OffsetCommitRequest("g", offsets, crowd.generation, crowd.ids[number]) for number in crowd.tenth()
    )


def syncs_in_stable(crowd: Crowd) -> float:
    return crowd.mean(map(crowd.sync, crowd.tenth()))


def joins_of_followers_in_stable(crowd: Crowd) -> float:
    return crowd.mean(map(crowd.join, crowd.tenth()))


def first_joins_of_a_rebalance(crowd: Crowd) -> float:
    return crowd.mean([crowd.join(0)])


def joins_into_a_preparing_group(crowd: Crowd) -> float:
    crowd.ask(crowd.join(0))
    return crowd.mean(map(crowd.join, crowd.tenth()))


def joins_of_new_members(crowd: Crowd) -> float:
    crowd.ask(crowd.join(0))
    newcomers = range(10_000, 10_000 + 10 * len(crowd.tenth()), 10)
    return crowd.mean(crowd.join(number, member_id="") for number in newcomers)


def returns_of_static_members_to_a_preparing_group(crowd: Crowd) -> float:
    crowd.ask(crowd.join(0))
    return crowd.mean(crowd.join(number, member_id="") for number in range(5, len(crowd.ids), 10))


def leaves(crowd: Crowd) -> float:
    return crowd.mean(map(crowd.leave, crowd.tenth()))


def leaves_of_leaders(crowd: Crowd) -> float:
    order = [member.member_id for member in crowd.coordinator.describe("g").members]
    leaders = [0, *(number for number in map(crowd.ids.index, order) if number)]
    return crowd.mean(map(crowd.leave, leaders[: len(crowd.tenth())]))


def waiting_syncs(crowd: Crowd) -> float:
    begin(crowd)
    return crowd.mean(map(crowd.sync, crowd.tenth()))


def heartbeats_while_syncs_wait(crowd: Crowd) -> float:
    begin(crowd)
    return heartbeats(crowd)


def expired_sessions(crowd: Crowd) -> float:
    silent = crowd.tenth()
    for number, member_id in enumerate(crowd.ids):
        crowd.now += number in silent
        if number not in silent:
            crowd.coordinator.heartbeat(
                HeartbeatRequest("g", crowd.generation, member_id, crowd.instance(number)), 20_000
            )
    steps = Steps()
    crowd.coordinator.expire(SESSION_MS - 1)
    before = len(crowd.coordinator.describe("g").members)
    with steps:
        crowd.coordinator.expire(SESSION_MS)
    assert len(silent) == before - len(crowd.coordinator.describe("g").members)
    return steps.count / len(silent)


def begin(crowd: Crowd) -> None:
    """Bring the group to its next generation, before any member has its assignment."""
    *others, last = range(len(crowd.ids))
    for number in others:
        crowd.ask(crowd.join(number))
    crowd.generation = crowd.generation_of(crowd.ask(crowd.join(last)))


@pytest.mark.parametrize(
    "steps",
    [
        heartbeats,
        commits,
        syncs_in_stable,
        joins_of_followers_in_stable,
        first_joins_of_a_rebalance,
        joins_into_a_preparing_group,
        joins_of_new_members,
        returns_of_static_members_to_a_preparing_group,
        leaves,
        leaves_of_leaders,
        waiting_syncs,
        heartbeats_while_syncs_wait,
        expired_sessions,
    ],
)
def test_the_cost_of_a_request_does_not_grow_with_the_group(steps: Callable[[Crowd], float]) -> None:
    small, large = (steps(Crowd(size)) for size in (SMALL, LARGE))

    assert 5 < large <= SLACK * small, (small, large)


def last_join(crowd: Crowd) -> float:
    for number in range(len(crowd.ids) - 1):
        crowd.ask(crowd.join(number))
    return crowd.mean([crowd.join(len(crowd.ids) - 1)])


def leaders_sync(crowd: Crowd) -> float:
    begin(crowd)
    return crowd.mean([crowd.leaders_sync()])


def return_of_a_static_member(crowd: Crowd) -> float:
    return crowd.mean([crowd.join(5, member_id="")])


def rebalance_before_the_assignment(crowd: Crowd) -> float:
    begin(crowd)
    return crowd.mean([crowd.leave(1)])


def description(crowd: Crowd) -> float:
    steps = Steps()
    with steps:
        crowd.coordinator.describe("g")
    return steps.count


@pytest.mark.parametrize(
    "steps", [last_join, leaders_sync, return_of_a_static_member, rebalance_before_the_assignment, description]
)
def test_the_cost_of_requests_about_all_members_grows(steps: Callable[[Crowd], float]) -> None:
    small, large = (steps(Crowd(size)) for size in (SMALL, LARGE))

    assert large > 10 * small, (small, large)


def test_members_that_left_use_no_memory() -> None:
    crowd = Crowd(20)
    crowd.ask(crowd.leave(0))  # from now on the table caches the first member
    size = held(crowd.coordinator)

    for number in range(1_000, 4_000, 10):
        crowd.ask(crowd.join(number, member_id=""))
        members = crowd.coordinator.describe("g").members
        newest = next(each.member_id for each in members if each.client_id == f"m{number}")
        crowd.ask(LeaveGroupRequest("g", (LeavingMember(newest),)))

    assert held(crowd.coordinator) < 2 * size


class Collections:
    """Context manager that counts the collections of Python's garbage collector."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Collections:
        gc.collect()
        gc.callbacks.append(self._on_event)
        return self

    def __exit__(self, *error: object) -> None:
        gc.callbacks.remove(self._on_event)

    def _on_event(self, phase: str, _details: object) -> None:
        self.count += phase == "start"


def test_answers_to_all_members_start_no_collections_while_they_are_created() -> None:
    crowd, joins, syncs = Crowd(LARGE), Collections(), Collections()
    *others, last = range(LARGE)
    for number in others:
        crowd.ask(crowd.join(number))
    last_join = crowd.join(last)
    with joins:
        effects = crowd.ask(last_join)
    crowd.generation = crowd.generation_of(effects)
    for number in others[1:]:
        crowd.ask(crowd.sync(number))
    leaders_sync = crowd.leaders_sync()
    with syncs:
        answers = crowd.ask(leaders_sync).answers

    assert LARGE == len(effects.answers)
    assert LARGE - 1 == len(answers)
    tracked = sum(gc.is_tracked(answer.response) for answer in (*effects.answers, *answers))
    assert tracked <= 3, tracked  # the first answer of each version, and the leader's
    assert gc.isenabled()
    # If the collector were not paused, a collection would start after every `gc.get_threshold()[0]` answers.
    assert max(joins.count, syncs.count) < LARGE / gc.get_threshold()[0], (joins.count, syncs.count)


def test_a_disabled_collector_stays_disabled() -> None:
    crowd = Crowd(3)
    gc.disable()
    try:
        begin(crowd)
        crowd.ask(crowd.leaders_sync())
        assert not gc.isenabled()
    finally:
        gc.enable()


def held(coordinator: Coordinator) -> int:
    """Return the number of objects that a coordinator references."""
    found: set[int] = set()
    waiting: list[object] = [coordinator]
    while waiting:
        each = waiting.pop()
        if id(each) not in found and not isinstance(each, type | ModuleType | FunctionType):
            found.add(id(each))
            waiting += gc.get_referents(each)
    return len(found)
