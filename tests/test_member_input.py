"""What a member and its events refuse, by name, and that nothing changes then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from assignor.errors import AssignorError, IllegalArgumentError, IllegalStateError, NullArgumentError, WrongTypeError
from assignor.member import HeartbeatResponse, Member
from assignor.member.events import (
    CallbackDone,
    HeartbeatSent,
    MetadataArrived,
    ResponseReceived,
    Subscribe,
    Tick,
    TransportFailed,
)
from member_driver import ORDERS, joining, reconciling

FIRST = UUID(int=1)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"group_id": ""}, IllegalArgumentError, "group_id cannot be blank"),
        ({"group_id": None}, NullArgumentError, "group_id must be a str, not None"),
        ({"member_id": " "}, IllegalArgumentError, "member_id cannot be blank"),
        ({"member_id": 7}, WrongTypeError, "member_id must be a str, not int: 7"),
        ({"instance_id": ""}, IllegalArgumentError, "instance_id cannot be blank"),
        ({"rack_id": "\t"}, IllegalArgumentError, "rack_id cannot be blank"),
        ({"server_assignor": b"range"}, WrongTypeError, "server_assignor must be a str"),
        ({"member_id": "\ud800"}, IllegalArgumentError, "lone surrogate"),
        ({"rebalance_timeout_ms": 0}, IllegalArgumentError, "rebalance_timeout_ms must be above 0: 0"),
        ({"rebalance_timeout_ms": 2**31}, IllegalArgumentError, "rebalance_timeout_ms cannot be over"),
        ({"retry_backoff_ms": -1}, IllegalArgumentError, "retry_backoff_ms must be above 0: -1"),
        ({"retry_backoff_max_ms": 1.5}, WrongTypeError, "retry_backoff_max_ms must be an int"),
        ({"request_timeout_ms": True}, WrongTypeError, "request_timeout_ms must be an int"),
        ({"jitter": 1}, IllegalArgumentError, "jitter must be from 0 up to 1: 1"),
        ({"jitter": float("nan")}, IllegalArgumentError, "jitter must be from 0 up to 1: nan"),
        ({"jitter": "0"}, WrongTypeError, "jitter must be a number"),
    ],
)
def test_a_member_that_cannot_be_is_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as refused:
        Member(**({"group_id": "g", "member_id": "m"} | options))

    assert isinstance(refused.value, AssignorError)


@pytest.mark.parametrize(
    ("kind", "fields", "error", "words"),
    [
        (Subscribe, {}, IllegalArgumentError, "topics or a pattern are needed; to unsubscribe, use Leave"),
        (Subscribe, {"topics": [], "pattern": ""}, IllegalArgumentError, "topics or a pattern are needed"),
        (Subscribe, {"topics": "orders"}, WrongTypeError, "topics must be an iterable of topic names"),
        (Subscribe, {"topics": ["orders", None]}, NullArgumentError, "a topic must be a str, not None"),
        (Subscribe, {"pattern": b"o.*"}, WrongTypeError, "pattern must be a str"),
        (HeartbeatSent, {"number": "1"}, WrongTypeError, "HeartbeatSent: number must be an int"),
        (CallbackDone, {"number": None}, NullArgumentError, "CallbackDone: number must be an int, not None"),
        (ResponseReceived, {"number": 1, "response": None}, NullArgumentError, "response must be a HeartbeatResponse"),
        (TransportFailed, {"number": 1, "retriable": 1}, WrongTypeError, "retriable must be a bool"),
        (MetadataArrived, {"names": [FIRST]}, WrongTypeError, "names must be a mapping of topic id to name"),
        (MetadataArrived, {"names": {"a": "b"}}, WrongTypeError, "a topic id must be a uuid.UUID"),
        (MetadataArrived, {"names": {FIRST: None}}, NullArgumentError, f"the name of {FIRST} must be a str"),
        (HeartbeatResponse, {"error_code": 2**15}, IllegalArgumentError, "error_code cannot be over 32767"),
        (HeartbeatResponse, {"member_epoch": "1"}, WrongTypeError, "member_epoch must be an int"),
        (HeartbeatResponse, {"member_epoch": 2**31}, IllegalArgumentError, "member_epoch cannot be over"),
        (HeartbeatResponse, {"heartbeat_interval_ms": -1}, IllegalArgumentError, "interval_ms cannot be negative: -1"),
        (HeartbeatResponse, {"member_id": 5}, WrongTypeError, "member_id must be a str"),
        (HeartbeatResponse, {"assignment": [1]}, WrongTypeError, "assignment must be a mapping"),
        (HeartbeatResponse, {"assignment": {"t": [0]}}, WrongTypeError, "a topic id must be a uuid.UUID"),
        (HeartbeatResponse, {"assignment": {FIRST: 3}}, WrongTypeError, f"{FIRST} must be an iterable"),
        (HeartbeatResponse, {"assignment": {FIRST: "01"}}, WrongTypeError, f"{FIRST} must be an iterable"),
        (HeartbeatResponse, {"assignment": {FIRST: [1, -1]}}, IllegalArgumentError, "cannot be negative: -1"),
        (HeartbeatResponse, {"assignment": {FIRST: [2**31]}}, IllegalArgumentError, "partition id cannot be over"),
        (HeartbeatResponse, {"assignment": {FIRST: [None]}}, NullArgumentError, "partition id must be an int"),
    ],
)
def test_an_event_that_cannot_be_is_refused(
    kind: Callable[..., object], fields: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words) as refused:
        kind(**fields)

    assert isinstance(refused.value, AssignorError)


@pytest.mark.parametrize("event", [None, "poll", 3, Tick, object()])
def test_what_is_no_event_is_refused(event: Any) -> None:
    driver = joining()

    with pytest.raises(WrongTypeError, match=r"an event must be one of assignor\.member\.events"):
        driver.hand(event)
    assert "JOINING" == driver.state


@pytest.mark.parametrize("now", [None, "0", 1.0, 2**63])
def test_what_is_no_time_is_refused(now: Any) -> None:
    driver = joining()
    deadline = driver.member.next_deadline()

    with pytest.raises((WrongTypeError, IllegalArgumentError), match=r"Member: now"):
        driver.member.handle(Tick(), now)
    assert deadline == driver.member.next_deadline()


def test_a_response_to_another_member_is_refused_and_the_heartbeat_still_waits() -> None:
    driver = joining()
    foreign = HeartbeatResponse(member_id="m-2", member_epoch=4, assignment={ORDERS: [0]})

    with pytest.raises(IllegalArgumentError, match=r"the response is for the member 'm-2', and this one is 'm-1'"):
        driver.hand(ResponseReceived(driver.heartbeat.number, foreign))
    assert ("JOINING", 0) == (driver.state, driver.member.epoch)
    driver.respond(1, {ORDERS: [0]})
    assert "RECONCILING" == driver.state


def test_a_response_without_a_member_id_is_taken() -> None:
    for member_id in (None, ""):
        driver = joining()
        driver.hand(ResponseReceived(driver.heartbeat.number, HeartbeatResponse(member_id=member_id, member_epoch=3)))

        assert 3 == driver.member.epoch


def test_an_answer_is_taken_once() -> None:
    driver = reconciling()
    driver.call_back()

    with pytest.raises(IllegalStateError, match=r"in ACKNOWLEDGING does not allow CallbackDone: no callback 1"):
        driver.call_back()
    driver.send()
    with pytest.raises(IllegalStateError, match=r"STABLE does not allow HeartbeatSent: heartbeat 2 is sent already"):
        driver.send()
    assert "STABLE" == driver.state


def test_a_response_keeps_each_partition_once_and_in_order() -> None:
    response = HeartbeatResponse(assignment={UUID(int=9): [3, 1, 3], FIRST: iter([0])})

    assert {FIRST: (0,), UUID(int=9): (1, 3)} == response.assignment
    assert response.assignment is not None
    assert [FIRST, UUID(int=9)] == list(response.assignment)


def test_a_subscription_keeps_each_topic_once_and_in_javas_order() -> None:
    assert ("a", "b") == Subscribe(iter(["b", "a", "b"])).topics
    assert ("\U0001f600", "\uff5e") == Subscribe(["\uff5e", "\U0001f600"]).topics
