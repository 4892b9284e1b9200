"""Every event in every state, and every error of an answer to a heartbeat."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from assignor.errors import IllegalStateError
from assignor.member import MemberState, events
from assignor.member.effects import RaiseError, SendHeartbeat
from assignor.member.error_codes import ERRORS, GROUP_ID_NOT_FOUND, Reaction, heartbeat_error
from assignor.member.messages import HeartbeatResponse
from tests.member.driver import CLICKS, IN_STATE, INTERVAL, ORDERS, Driver

UNSUBSCRIBED, JOINING, RECONCILING, ACKNOWLEDGING, STABLE, FENCED, PREPARE_LEAVING, LEAVING, FATAL, STALE = MemberState
After = dict[MemberState, MemberState | None]

IN_GROUP = {JOINING, RECONCILING, ACKNOWLEDGING, STABLE}
SAME: After = {state: state for state in MemberState}
REJECTED = None
UNEXPECTED: After = dict.fromkeys(MemberState, REJECTED)

# For each reaction to an error: the state after an answer with such an error, by the state before the answer.
AFTER_FENCING = SAME | dict.fromkeys(IN_GROUP, FENCED) | {PREPARE_LEAVING: UNSUBSCRIBED, LEAVING: UNSUBSCRIBED}
AFTER_FENCING[JOINING] = JOINING  # through FENCED, without partitions to release
AFTER_FAILURE = SAME | dict.fromkeys([*IN_GROUP, UNSUBSCRIBED, PREPARE_LEAVING, LEAVING], FATAL)
AFTER = {
    Reaction.RETRY: SAME,
    Reaction.FIND_COORDINATOR: SAME,
    Reaction.RAISE: SAME,
    Reaction.REJOIN: AFTER_FENCING,
    Reaction.FAIL: AFTER_FAILURE,
}

# States after the timeout of a leave heartbeat or of an acknowledgement.
AFTER_LOSS = {LEAVING: {UNSUBSCRIBED}, ACKNOWLEDGING: {STABLE}}

EVENTS: dict[str, tuple[events.Event, After]] = {
    "Subscribe": (events.Subscribe(["orders"]), SAME | {FATAL: REJECTED}),
    "Leave": (
        events.Leave(),
        SAME | {JOINING: LEAVING, FENCED: UNSUBSCRIBED} | dict.fromkeys(IN_GROUP - {JOINING}, PREPARE_LEAVING),
    ),
    "Poll": (events.Poll(), SAME),
    "Tick": (events.Tick(), SAME),
    "CoordinatorFound": (events.CoordinatorFound(), SAME),
    "CoordinatorLost": (events.CoordinatorLost(), SAME),
    "MetadataArrived": (events.MetadataArrived({CLICKS: "clicks"}), SAME),
    "HeartbeatSent": (events.HeartbeatSent(99), UNEXPECTED),
    "ResponseReceived": (events.ResponseReceived(99, HeartbeatResponse()), UNEXPECTED),
    "TransportFailed": (events.TransportFailed(99, retriable=True), UNEXPECTED),
    "CommitDone": (events.CommitDone(99), UNEXPECTED),
    "CommitFailed": (events.CommitFailed(99), UNEXPECTED),
    "CallbackDone": (events.CallbackDone(99), UNEXPECTED),
    "CallbackFailed": (events.CallbackFailed(99), UNEXPECTED),
}
"""All events, with the number 99, which no effect has; for each event, the state after it by the state before it."""


def fields_of(thing: object) -> list[str]:
    return [*getattr(thing, "__dict__", ()), *getattr(thing, "__slots__", ())]


def plain_values(thing: object) -> Any:
    """Return everything that an object consists of, as plain values."""
    if isinstance(thing, (list, tuple, set, frozenset)):
        return [
            plain_values(each) for each in (sorted(thing, key=repr) if isinstance(thing, (set, frozenset)) else thing)
        ]
    if isinstance(thing, dict):
        return [(plain_values(key), plain_values(value)) for key, value in thing.items()]
    if type(thing).__module__.startswith("assignor.member") and not isinstance(thing, enum.Enum):
        return type(thing).__name__, [(name, plain_values(getattr(thing, name))) for name in fields_of(thing)]
    return repr(thing)


def test_every_kind_of_event_is_listed() -> None:
    assert set(EVENTS) == set(events.__all__) - {"Event"}


@pytest.mark.parametrize("state", MemberState)
@pytest.mark.parametrize("name", EVENTS)
def test_every_event_in_every_state_leads_to_the_listed_state(name: str, state: MemberState) -> None:
    event, after = EVENTS[name]
    driver = IN_STATE[state]()
    before = plain_values(driver.member)

    wanted = after[state]
    if wanted is REJECTED:
        with pytest.raises(IllegalStateError, match=rf"a member in {state.name} does not allow {name}\b"):
            driver.handle(event)
        assert before == plain_values(driver.member)
    else:
        driver.handle(event)
    assert (wanted or state) is driver.member.state


def with_heartbeat_in_flight(state: MemberState) -> tuple[Driver, int]:
    """Return a member in a state, with a heartbeat of the current join in flight, and its number."""
    if state is UNSUBSCRIBED:
        driver = IN_STATE[LEAVING]()
        driver.send()
        return driver, driver.last(SendHeartbeat).number
    if state is JOINING:
        driver = IN_STATE[JOINING]()
        return driver, driver.last(SendHeartbeat).number
    if state is FENCED:
        driver = IN_STATE[FENCED](heartbeat_while_fenced=True)
        driver.send()
        return driver, driver.last(SendHeartbeat).number
    driver = IN_STATE[RECONCILING if state in (RECONCILING, ACKNOWLEDGING) else STABLE](rebalance_timeout_ms=20_000)
    driver.wait(INTERVAL)
    driver.send()
    number = driver.last(SendHeartbeat).number
    if state is ACKNOWLEDGING:
        driver.call_back()
    elif state is PREPARE_LEAVING:
        driver.handle(events.Leave())
    elif state in (LEAVING, FATAL):
        driver.handle(events.Leave())
        driver.call_back()
    elif state is STALE:
        driver.wait(15_000)
        driver.send()
    if state is FATAL:
        driver.handle(events.ResponseReceived(number, HeartbeatResponse(error_code=42)))
        number = driver.last(SendHeartbeat).number
    return driver, number


@pytest.mark.parametrize("state", MemberState)
@pytest.mark.parametrize("code", [*ERRORS, -1, 3, 999, -32768])
def test_every_error_in_every_state_leads_to_the_listed_state(code: int, state: MemberState) -> None:
    driver, number = with_heartbeat_in_flight(state)
    assert state is driver.member.state
    errors = driver.count(RaiseError)
    answer = events.ResponseReceived(number, HeartbeatResponse(error_code=code, error_message="message"))

    driver.handle(answer)

    reaction = heartbeat_error(code).reaction
    if code == GROUP_ID_NOT_FOUND and state is UNSUBSCRIBED:  # the group no longer exists
        reaction = Reaction.RETRY
    assert AFTER[reaction][state] is driver.member.state
    is_raised = reaction in (Reaction.RAISE, Reaction.FAIL) and state is not FATAL
    assert errors + is_raised == driver.count(RaiseError)
    if is_raised:
        assert (code, heartbeat_error(code).name) == (driver.last(RaiseError).code, driver.last(RaiseError).name)


@pytest.mark.parametrize("state", MemberState)
def test_a_second_answer_changes_nothing(state: MemberState) -> None:
    driver, number = with_heartbeat_in_flight(state)
    driver.handle(events.ResponseReceived(number, HeartbeatResponse(error_code=14)))
    before = plain_values(driver.member)

    for response in (HeartbeatResponse(error_code=25), HeartbeatResponse(member_epoch=9, assignment={ORDERS: [5]})):
        assert [] == driver.handle(events.ResponseReceived(number, response))
        assert [] == driver.handle(events.TransportFailed(number, retriable=False))
        assert [] == driver.handle(events.HeartbeatSent(number))

    assert before == plain_values(driver.member)


@pytest.mark.parametrize("state", MemberState)
@pytest.mark.parametrize("retriable", [True, False])
def test_a_failed_heartbeat_leads_to_the_listed_state(state: MemberState, retriable: bool) -> None:
    driver, number = with_heartbeat_in_flight(state)

    driver.handle(events.TransportFailed(number, retriable=retriable, message="connection reset"))

    if retriable:
        assert state is driver.member.state
    else:
        assert AFTER_FAILURE[state] is driver.member.state
    is_raised = not retriable and state is not FATAL
    if is_raised:
        assert "connection reset" == driver.last(RaiseError).message
        assert "UNKNOWN_SERVER_ERROR" == driver.last(RaiseError).name


@pytest.mark.parametrize("state", MemberState)
def test_a_heartbeat_without_an_answer_times_out(state: MemberState) -> None:
    driver, _ = with_heartbeat_in_flight(state)

    driver.wait(30_000)

    assert driver.member.state in {SAME[state], *AFTER_LOSS.get(state, ())}
    assert driver.now < (driver.member.next_deadline() or driver.now + 1)


@pytest.mark.parametrize("state", MemberState)
def test_the_next_deadline_is_in_the_future(state: MemberState) -> None:
    driver = IN_STATE[state]()
    for _ in range(20):
        deadline = driver.member.next_deadline()
        if deadline is None:
            break
        assert driver.now < deadline
        driver.wait(deadline - driver.now)

    assert driver.now < (driver.member.next_deadline() or driver.now + 1)
