"""The member compared with Kafka's own classes in new random programs of events; requires Java and Kafka's jars.

`comparison.py` names the deliberate differences. After one, both members are resynchronised and the comparison
continues. Each run draws new programs and records their seeds. Set ASSIGNOR_SEED to the first seed to repeat a run.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING, Any

import pytest

from assignor.member.assignments import LocalAssignment
from assignor.member.heartbeat_manager import HeartbeatManager
from assignor.member.heartbeat_state import HeartbeatFields, HeartbeatTimer
from assignor.member.reconciler import Reconciler
from assignor.member.state_machine import MemberStateMachine
from tests.member.comparison import (
    IMMEDIATE_DIFFERENCES,
    LASTING_DIFFERENCES,
    Comparison,
    Pair,
    UnexpectedDifferenceError,
)
from tests.member.differences import program
from tests.member.extent import add_up
from tests.member.oracle import MemberOracle, OracleMissingError
from tests.member.programs import draw
from tests.member.resynchronisation import Resynchronised, resynchronise
from tests.member.runner import NEVER, Json, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

pytestmark = pytest.mark.broker

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
PROGRAMS = 20_000 if LONG else 200
SEED = int(os.environ.get("ASSIGNOR_SEED") or random.randrange(10**6))


@pytest.fixture(scope="module")
def oracle() -> Iterator[MemberOracle]:
    try:
        started = MemberOracle()
    except OracleMissingError as error:
        pytest.skip(str(error))
    with started:
        yield started


def compare_drawn(oracle: MemberOracle, seeds: Iterable[int], **others: Any) -> Iterator[Comparison]:
    """Draw a program for each seed while both members run it, and yield each comparison.

    Raises:
        UnexpectedDifferenceError: The members differ, and no deliberate difference applies.
    """
    for seed in seeds:
        program: Json = {"seed": seed}
        comparison = Comparison(program)

        def start_pair(options: Json, program: Json = program, comparison: Comparison = comparison) -> Pair:
            program["options"] = options
            ours = Resynchronised(lambda: start(options, **others))
            return Pair(ours, Resynchronised(lambda: oracle.start(options)), comparison)

        draw(seed, start_pair)
        yield comparison


def test_the_member_equals_kafkas_own_classes(
    oracle: MemberOracle, record_property: Callable[[str, object], None]
) -> None:
    seeds = range(SEED, SEED + PROGRAMS)
    record_property("seeds", f"{seeds[0]} to {seeds[-1]}")

    totals = add_up(compare_drawn(oracle, seeds), record_property)

    assert PROGRAMS == totals["programs"]


@pytest.mark.parametrize("difference", [*LASTING_DIFFERENCES, *IMMEDIATE_DIFFERENCES])
def test_the_members_agree_again_after_every_deliberate_difference(oracle: MemberOracle, difference: str) -> None:
    shortest = program(difference)
    options, events = shortest["options"], shortest["events"]
    comparison = Comparison(shortest)
    kafkas = Resynchronised(lambda: oracle.start(options))
    pair = Pair(Resynchronised(lambda: start(options)), kafkas, comparison)
    for event in events:
        pair.step(event)
    again, _ = resynchronise(pair, events[-1]["at"])
    for event in events[:-1]:
        pair.step({**event, "at": event["at"] + again["at"]})

    assert {difference: 1} == comparison.deliberate
    assert (1, 0) == (comparison.resynchronised, comparison.restarted)
    assert 2 * len(events[:-1]) == comparison.compared


def is_detected(oracle: MemberOracle, **others: Any) -> bool:
    """Return True if a program of the first seeds has an unexpected difference."""
    try:
        for _ in compare_drawn(oracle, range(2000), **others):
            pass
    except UnexpectedDifferenceError:
        return True
    return False


@pytest.mark.parametrize(
    "option",
    [
        {"heartbeat_while_preparing_to_leave": False},
        {"heartbeat_while_fenced": True},
        {"join_at_once": False},
        {"request_timeout_ms": NEVER // 1_000_000},
        {"rebalance_timeout_ms": 20_000},
        {"retry_backoff_max_ms": 120},
        {"auto_commit": True},
    ],
    ids=lambda option: next(iter(option)),
)
def test_a_member_with_another_option_is_detected(oracle: MemberOracle, option: dict[str, Any]) -> None:
    assert is_detected(oracle, **option)


WRONG_RULES: dict[str, tuple[type, str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "a join sends only the changed fields": (
        HeartbeatFields,
        "request",
        lambda right: lambda *given, joining: right(*given, joining=False),  # noqa: ARG005 - the wrong rule
    ),
    "an interval is never restarted": (
        HeartbeatTimer,
        "answered",
        lambda right: lambda timer, now, interval: right(timer, now, timer._interval or interval),
    ),
    "a backoff continues without a coordinator": (HeartbeatTimer, "forget_failures", lambda _: _nothing),
    "the poll timer never expires": (HeartbeatManager, "_poll_is_overdue", lambda _: _nothing),
    "a commit has no time limit": (Reconciler, "expire_commit", lambda _: _nothing),
    "partitions are revoked without a poll": (
        MemberStateMachine,
        "reconcile",
        lambda right: lambda member, now, polled=False: right(member, now, polled=True),  # noqa: ARG005 - the wrong rule
    ),
    "the coordinator is not looked for": (HeartbeatManager, "_find_coordinator", lambda _: _nothing),
    "a leave is never complete": (MemberStateMachine, "complete_leave", lambda _: _nothing),
    "every assignment is a new one": (
        LocalAssignment,
        "followed_by",
        lambda _: lambda before, partitions: LocalAssignment(before.epoch + 1, partitions),
    ),
}


def _nothing(*_: object, **__: object) -> None:
    """Do nothing."""


@pytest.mark.parametrize("rule", WRONG_RULES)
def test_a_member_with_one_wrong_rule_is_detected(
    oracle: MemberOracle, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, wrong = WRONG_RULES[rule]
    monkeypatch.setattr(owner, name, wrong(getattr(owner, name)))

    assert is_detected(oracle)
