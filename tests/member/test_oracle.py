"""The member does what Kafka's own classes do, in programs of events drawn here and now; needs Java and Kafka's jars.

Where ours differs on purpose, `comparison.py` says how, and the comparison of that program ends there.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from assignor.member.assignments import LocalAssignment
from assignor.member.heartbeat_manager import HeartbeatManager
from assignor.member.heartbeat_state import HeartbeatFields, HeartbeatTimer
from assignor.member.reconciler import Reconciler
from assignor.member.state_machine import MemberStateMachine
from tests.member.comparison import ENDS, EXCUSES, Verdict, compare
from tests.member.differences import program
from tests.member.life import NEVER, Json, life, lived
from tests.member.oracle import MemberOracle, OracleMissingError
from tests.member.programs import draw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.broker

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
PROGRAMS = 20_000 if LONG else 1000


@pytest.fixture(scope="module")
def oracle() -> Iterator[MemberOracle]:
    try:
        started = MemberOracle()
    except OracleMissingError as error:
        pytest.skip(str(error))
    with started:
        yield started


def verdicts(oracle: MemberOracle, count: int, **others: Any) -> Iterator[tuple[Verdict, int]]:
    """What comes of so many programs, and how many events each has."""

    def start(options: Json) -> Any:
        return life(options, **others)

    for seed in range(count):
        drawn, ours = draw(seed, start)
        yield compare(drawn, ours, oracle.live(drawn)), len(ours)


def test_it_does_what_kafkas_own_classes_do(oracle: MemberOracle) -> None:
    compared = drawn = whole = claims = 0
    ended: Counter[str] = Counter()
    for verdict, events in verdicts(oracle, PROGRAMS):
        assert verdict.difference is None, verdict.difference
        compared += verdict.compared
        drawn += events
        claims += verdict.claims
        if verdict.ended is None:
            whole += 1
        else:
            ended[verdict.ended] += 1
    told = f"{compared} of {drawn} events, {whole} of {PROGRAMS} programs to the end, {claims} claims; ended by {ended}"
    print(told)  # noqa: T201 - `pytest -s` says how much was compared

    assert compared > 0.75 * drawn, told
    assert whole > 0.55 * PROGRAMS, told
    assert 0 < claims < 0.05 * compared, told
    assert whole + ended.total() == PROGRAMS, told


@pytest.mark.parametrize("difference", [*ENDS, *EXCUSES])
def test_every_deliberate_difference_is_there(oracle: MemberOracle, difference: str) -> None:
    shortest = program(difference)
    ours = lived(shortest)
    verdict = compare(shortest, ours, oracle.live(shortest))

    assert difference == verdict.ended, verdict.difference
    assert len(ours) - 1 == verdict.compared


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
def test_a_member_with_another_option_is_noticed(oracle: MemberOracle, option: dict[str, Any]) -> None:
    assert any(verdict.difference for verdict, _ in verdicts(oracle, 2000, **option))


WRONG_RULES: dict[str, tuple[type, str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "a join says only what changed": (
        HeartbeatFields,
        "request",
        lambda right: lambda *given, joining: right(*given, joining=False),  # noqa: ARG005 - the wrong rule
    ),
    "an interval is never begun anew": (
        HeartbeatTimer,
        "answered",
        lambda right: lambda timer, now, interval: right(timer, now, timer._interval or interval),
    ),
    "a backoff goes on without the coordinator": (HeartbeatTimer, "forget_failures", lambda _: _nothing),
    "the poll timer never expires": (HeartbeatManager, "_poll_is_overdue", lambda _: _nothing),
    "a commit is waited for however long it takes": (Reconciler, "expire_commit", lambda _: _nothing),
    "partitions are revoked without a poll": (
        MemberStateMachine,
        "reconcile",
        lambda right: lambda member, now, polled=False: right(member, now, polled=True),  # noqa: ARG005 - the wrong rule
    ),
    "the coordinator is not looked for": (HeartbeatManager, "_find_coordinator", lambda _: _nothing),
    "a leave is never complete": (MemberStateMachine, "complete_leave", lambda _: _nothing),
    "each assignment is a new one": (
        LocalAssignment,
        "followed_by",
        lambda _: lambda before, partitions: LocalAssignment(before.epoch + 1, partitions),
    ),
}


def _nothing(*_: object, **__: object) -> None:
    """A rule that is not there."""


@pytest.mark.parametrize("rule", WRONG_RULES)
def test_a_member_with_one_wrong_rule_is_noticed(
    oracle: MemberOracle, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, wrong = WRONG_RULES[rule]
    monkeypatch.setattr(owner, name, wrong(getattr(owner, name)))

    assert any(verdict.difference for verdict, _ in verdicts(oracle, 2000))
