"""Properties of a member under random events: only declared errors, only listed transitions, and no deadlock."""

from __future__ import annotations

import contextlib
from typing import Any
from uuid import UUID

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from assignor.errors import IllegalStateError
from assignor.member import HeartbeatResponse, MemberState, events
from assignor.member.effects import (
    CallPartitionsAssigned,
    CallPartitionsLost,
    CallPartitionsRevoked,
    Commit,
    Effect,
    FindCoordinator,
    LeaveCompleted,
    PauseFetching,
    ReleaseAssignment,
    RequestMetadata,
    SendHeartbeat,
    WakeAt,
)
from assignor.member.error_codes import ERRORS
from assignor.member.state_machine import TRANSITIONS, MemberStateMachine
from tests.member.driver import CLICKS, IN_STATE, ORDERS

TOPICS = {ORDERS: "orders", CLICKS: "clicks", UUID(int=3): "late"}
TRANSITION_PAIRS = {(state, after) for state, row in TRANSITIONS.items() for after in row.values()}

numbers = st.integers(0, 12)
topic_names = st.lists(st.sampled_from(sorted(TOPICS.values())), min_size=1, max_size=3)
assignments = st.none() | st.dictionaries(st.sampled_from(sorted(TOPICS)), st.lists(st.integers(0, 3), max_size=3))
responses = st.builds(
    HeartbeatResponse,
    error_code=st.just(0) | st.sampled_from([0, 0, 0, -1, *ERRORS]),
    member_id=st.sampled_from([None, "m-1"]),
    member_epoch=st.integers(-2, 6),
    heartbeat_interval_ms=st.sampled_from([0, 500, 5000]),
    assignment=assignments,
)
anything = st.one_of(
    st.builds(events.Subscribe, topics=topic_names, pattern=st.none() | st.just("o.*")),
    st.just(events.Leave()),
    st.just(events.Poll()),
    st.just(events.Poll()),
    st.just(events.Tick()),
    st.just(events.CoordinatorFound()),
    st.just(events.CoordinatorLost()),
    st.builds(events.MetadataArrived, st.dictionaries(st.just(UUID(int=3)), st.just("late"))),
    st.builds(events.HeartbeatSent, numbers),
    st.builds(events.ResponseReceived, numbers, responses),
    st.builds(events.ResponseReceived, numbers, responses),
    st.builds(events.TransportFailed, numbers, st.booleans()),
    st.builds(events.CommitDone, numbers),
    st.builds(events.CommitFailed, numbers),
    st.builds(events.CallbackDone, numbers),
    st.builds(events.CallbackDone, numbers),
    st.builds(events.CallbackFailed, numbers),
)
# Answers to the latest effects are drawn more often than answers with random numbers.
answers = st.sampled_from(["sent", "answered", "failed", "called back", "callback failed", "committed"])
steps = st.lists(
    st.tuples(anything | st.tuples(answers, responses), st.sampled_from([0, 1, 100, 700, 5000, 40_000])), max_size=40
)
options = st.fixed_dictionaries(
    {
        "instance_id": st.none() | st.just("i"),
        "auto_commit": st.booleans(),
        "heartbeat_while_preparing_to_leave": st.booleans(),
        "heartbeat_while_fenced": st.booleans(),
        "join_at_once": st.booleans(),
        "rebalance_timeout_ms": st.sampled_from([20_000, 300_000]),
    }
)
programs = st.tuples(st.sampled_from(MemberState), options, steps)
Program = tuple[MemberState, dict[str, Any], list[tuple[Any, int]]]


class Run:
    """A member in a given state, with checks after every event."""

    def __init__(self, start: MemberState, options: dict[str, Any]) -> None:
        driver = IN_STATE[start](**options)
        self.member = driver.member
        self.now = driver.now
        self.effects: list[Effect] = list(driver.effects)
        self.assignment = self.member.assignment
        self.wake = self.member.next_deadline()

    def handle(self, event: events.Event) -> tuple[Effect, ...]:
        before, seen = self.member.state, self.visible_state()
        try:
            found = self.member.handle(event, self.now)
        except IllegalStateError:
            assert seen == self.visible_state()
            raise
        self.effects += found
        for effect in found:
            self.apply(effect)
        assert (self.assignment, self.wake) == (self.member.assignment, self.member.next_deadline())
        assert self.wake is None or self.now < self.wake
        assert all(
            isinstance(effect, WakeAt) is (effect is found[-1]) for effect in found if isinstance(effect, WakeAt)
        )
        assert list(self.member.assignment) == sorted(set(self.member.assignment))
        assert reachable(before, self.member.state)
        return found

    def visible_state(self) -> tuple[object, ...]:
        """Return the visible state of the member."""
        member = self.member
        return member.state, member.epoch, member.assignment, member.next_deadline()

    def apply(self, effect: Effect) -> None:
        """Update the assignment and the wake-up time that a client knows from effects alone."""
        match effect:
            case CallPartitionsAssigned(_, partitions, assignment):
                assert set(partitions) <= set(assignment)
                self.assignment = assignment
            case CallPartitionsRevoked(_, partitions) | CallPartitionsLost(_, partitions) | PauseFetching(partitions):
                assert set() < set(partitions) <= set(self.assignment)
            case ReleaseAssignment():
                self.assignment = ()
            case WakeAt(at):
                assert at != self.wake
                self.wake = at

    def answer(self, how: str, response: HeartbeatResponse) -> events.Event:
        """Return an answer to the latest effect of a kind."""
        kinds: dict[str, Any] = {
            "sent": SendHeartbeat,
            "answered": SendHeartbeat,
            "failed": SendHeartbeat,
            "called back": (CallPartitionsAssigned, CallPartitionsLost, CallPartitionsRevoked),
            "callback failed": (CallPartitionsAssigned, CallPartitionsLost, CallPartitionsRevoked),
            "committed": Commit,
        }
        number = next((effect.number for effect in reversed(self.effects) if isinstance(effect, kinds[how])), 0)
        made: dict[str, events.Event] = {
            "sent": events.HeartbeatSent(number),
            "answered": events.ResponseReceived(number, response),
            "failed": events.TransportFailed(number, retriable=True),
            "called back": events.CallbackDone(number),
            "callback failed": events.CallbackFailed(number),
            "committed": events.CommitDone(number),
        }
        return made[how]


def reachable(before: MemberState, after: MemberState) -> bool:
    """Return True if the table leads from one state to the other; one event may cause several transitions."""
    seen, edge = {before}, {before}
    while edge:
        edge = {to for at, to in TRANSITION_PAIRS if at in edge} - seen
        seen |= edge
    return after in seen


def run(program: Program) -> Run:
    start, options, steps = program
    given_run = Run(start, options)
    for step, pause in steps:
        event = given_run.answer(*step) if isinstance(step, tuple) else step
        given_run.now += pause
        with contextlib.suppress(IllegalStateError):
            given_run.handle(event)
    return given_run


def settle(given_run: Run) -> None:
    """Answer every effect successfully from now on, and let the application poll."""
    epoch, waiting = max(given_run.member.epoch, 0) + 10, list(given_run.effects)
    coordinator: events.Event = events.CoordinatorFound()
    queue: list[events.Event] = [coordinator, events.MetadataArrived(TOPICS)]
    for _ in range(400):
        while waiting:
            effect = waiting.pop(0)
            match effect:
                case SendHeartbeat(number, request):
                    leave_heartbeat = request.member_epoch < 0
                    answer = HeartbeatResponse(
                        member_epoch=request.member_epoch if leave_heartbeat else epoch,
                        heartbeat_interval_ms=1000,
                        assignment=None if leave_heartbeat else {ORDERS: [0, 1]},
                    )
                    queue += [events.HeartbeatSent(number), events.ResponseReceived(number, answer)]
                case Commit(number):
                    queue.append(events.CommitDone(number))
                case CallPartitionsAssigned(number) | CallPartitionsRevoked(number) | CallPartitionsLost(number):
                    queue.append(events.CallbackDone(number))
                case FindCoordinator():
                    queue.append(coordinator)
                case RequestMetadata():
                    queue.append(events.MetadataArrived(TOPICS))
        if not queue:
            given_run.now += 500
            queue.append(events.Poll())
        event = queue.pop(0)
        try:
            waiting += given_run.handle(event)
        except IllegalStateError:  # answered before `settle`
            continue


@given(programs)
def test_events_cause_only_declared_errors_and_listed_transitions(program: Program) -> None:
    end = run(program)

    assert end.member.state in MemberState


@given(programs)
def test_a_member_that_subscribes_becomes_stable_if_all_answers_succeed(program: Program) -> None:
    end = run(program)
    if end.member.state is MemberState.FATAL:
        return
    end.handle(events.Subscribe(["orders"]))
    settle(end)

    assert MemberState.STABLE is end.member.state
    assert [("orders", 0), ("orders", 1)] == list(end.member.assignment)


@given(programs)
def test_a_member_that_leaves_ends_outside_without_partitions_if_all_answers_succeed(program: Program) -> None:
    end = run(program)
    completed = sum(isinstance(effect, LeaveCompleted) for effect in end.effects)
    end.handle(events.Leave())
    settle(end)

    assert end.member.state in (MemberState.UNSUBSCRIBED, MemberState.STALE, MemberState.FATAL)
    assert () == end.member.assignment
    assert completed < sum(isinstance(effect, LeaveCompleted) for effect in end.effects)


def test_programs_end_in_most_states() -> None:
    ends: set[MemberState] = set()

    @settings(derandomize=True, max_examples=100)
    @given(programs)
    def look(program: Program) -> None:
        ends.add(run(program).member.state)

    look()
    assert len(ends) >= 8  # 100 programs are too few to end in all ten states


def test_a_deadlock_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemberStateMachine, "_released", MemberStateMachine._release_all)

    same = settings(phases=[Phase.generate], derandomize=True, max_examples=200)

    with pytest.raises((AssertionError, ExceptionGroup)):
        same(test_a_member_that_subscribes_becomes_stable_if_all_answers_succeed)()
