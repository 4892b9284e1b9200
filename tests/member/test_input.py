"""Invalid arguments of a member and its events are rejected by name, without a change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from assignor.errors import AssignorError, IllegalArgumentError, IllegalStateError, NullArgumentError, WrongTypeError
from assignor.member import HeartbeatResponse as Response
from assignor.member import Member
from assignor.member.events import (
    CallbackDone,
    CallbackFailed,
    CommitFailed,
    CoordinatorFound,
    HeartbeatSent,
    MetadataArrived,
    Poll,
    ResponseReceived,
    Subscribe,
    Tick,
    TransportFailed,
)
from tests.member.driver import CLICKS, ORDERS, Driver, joining, reconciling

FIRST = UUID(int=1)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"group_id": ""}, IllegalArgumentError, "group_id must not be blank"),
        ({"group_id": None}, NullArgumentError, "group_id must be a str, not None"),
        ({"member_id": " "}, IllegalArgumentError, "member_id must not be blank"),
        ({"member_id": 7}, WrongTypeError, "member_id must be a str, not int: 7"),
        ({"instance_id": ""}, IllegalArgumentError, "instance_id must not be blank"),
        ({"rack_id": "\t"}, IllegalArgumentError, "rack_id must not be blank"),
        ({"server_assignor": b"range"}, WrongTypeError, "server_assignor must be a str"),
        ({"member_id": "\ud800"}, IllegalArgumentError, "lone surrogate"),
        ({"rebalance_timeout_ms": 0}, IllegalArgumentError, "rebalance_timeout_ms must be > 0: 0"),
        ({"rebalance_timeout_ms": 2**31}, IllegalArgumentError, "rebalance_timeout_ms cannot be over"),
        ({"retry_backoff_ms": -1}, IllegalArgumentError, "retry_backoff_ms must be > 0: -1"),
        ({"retry_backoff_max_ms": 1.5}, WrongTypeError, "retry_backoff_max_ms must be an int"),
        ({"request_timeout_ms": True}, WrongTypeError, "request_timeout_ms must be an int"),
        ({"jitter": 1}, IllegalArgumentError, "jitter must be >= 0 and < 1: 1"),
        ({"jitter": float("nan")}, IllegalArgumentError, "jitter must be >= 0 and < 1: nan"),
        ({"jitter": "0"}, WrongTypeError, "jitter must be a number"),
        ({"auto_commit": "no"}, WrongTypeError, "auto_commit must be a bool, not str: 'no'"),
        (
            {"heartbeat_while_preparing_to_leave": 1},
            WrongTypeError,
            "preparing_to_leave must be a bool",
        ),
        ({"heartbeat_while_fenced": None}, NullArgumentError, "heartbeat_while_fenced must be a bool"),
        ({"join_at_once": []}, WrongTypeError, "join_at_once must be a bool"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as raised:
        Member(**({"group_id": "g", "member_id": "m"} | options))

    assert isinstance(raised.value, AssignorError)


@pytest.mark.parametrize(
    ("kind", "fields", "error", "words"),
    [
        (Subscribe, {}, IllegalArgumentError, "topics or a pattern required; to unsubscribe, use Leave"),
        (Subscribe, {"topics": [], "pattern": ""}, IllegalArgumentError, "topics or a pattern required"),
        (Subscribe, {"topics": "orders"}, WrongTypeError, "topics must be an iterable of topic names"),
        (Subscribe, {"topics": ["orders", None]}, NullArgumentError, "a topic must be a str, not None"),
        (Subscribe, {"pattern": b"o.*"}, WrongTypeError, "pattern must be a str"),
        (HeartbeatSent, {"number": "1"}, WrongTypeError, "HeartbeatSent: number must be an int"),
        (CallbackDone, {"number": None}, NullArgumentError, "CallbackDone: number must be an int, not None"),
        (
            ResponseReceived,
            {"number": 1, "response": None},
            NullArgumentError,
            "response must be a HeartbeatResponse",
        ),
        (TransportFailed, {"number": 1, "retriable": 1}, WrongTypeError, "retriable must be a bool"),
        (TransportFailed, {"number": 1, "retriable": True, "message": 7}, WrongTypeError, "message must be a str"),
        (CommitFailed, {"number": 1, "message": b"no"}, WrongTypeError, "CommitFailed: message must be a str"),
        (CallbackFailed, {"number": 1, "message": None}, NullArgumentError, "message must be a str, not None"),
        (MetadataArrived, {"names": [FIRST]}, WrongTypeError, "names must be a mapping of topic id to name"),
        (MetadataArrived, {"names": {"a": "b"}}, WrongTypeError, "a topic id must be a uuid.UUID"),
        (MetadataArrived, {"names": {FIRST: None}}, NullArgumentError, f"the name of {FIRST} must be a str"),
        (Response, {"error_code": 2**15}, IllegalArgumentError, "error_code cannot be over 32767"),
        (Response, {"member_epoch": "1"}, WrongTypeError, "member_epoch must be an int"),
        (Response, {"member_epoch": 2**31}, IllegalArgumentError, "member_epoch cannot be over"),
        (Response, {"heartbeat_interval_ms": -1}, IllegalArgumentError, "interval_ms cannot be negative: -1"),
        (Response, {"member_id": 5}, WrongTypeError, "member_id must be a str"),
        (Response, {"assignment": [1]}, WrongTypeError, "assignment must be a mapping"),
        (Response, {"assignment": {"t": [0]}}, WrongTypeError, "a topic id must be a uuid.UUID"),
        (Response, {"assignment": {FIRST: 3}}, WrongTypeError, f"{FIRST} must be an iterable"),
        (Response, {"assignment": {FIRST: "01"}}, WrongTypeError, f"{FIRST} must be an iterable"),
        (Response, {"assignment": {FIRST: [1, -1]}}, IllegalArgumentError, "cannot be negative: -1"),
        (Response, {"assignment": {FIRST: [2**31]}}, IllegalArgumentError, "partition id cannot be over"),
        (Response, {"assignment": {FIRST: [None]}}, NullArgumentError, "partition id must be an int"),
    ],
)
def test_invalid_events_are_rejected(
    kind: Callable[..., object], fields: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words) as raised:
        kind(**fields)

    assert isinstance(raised.value, AssignorError)


@pytest.mark.parametrize("event", [None, "poll", 3, Tick, object()])
def test_an_object_that_is_not_an_event_is_rejected(event: Any) -> None:
    driver = joining()

    with pytest.raises(WrongTypeError, match=r"event must be an instance of a class in assignor\.member\.events"):
        driver.handle(event)
    assert "JOINING" == driver.state


@pytest.mark.parametrize("now", [None, "0", 1.0, 2**63])
def test_an_invalid_time_is_rejected(now: Any) -> None:
    driver = joining()
    deadline = driver.member.next_deadline()

    with pytest.raises((WrongTypeError, IllegalArgumentError), match=r"Member: now"):
        driver.member.handle(Tick(), now)
    assert deadline == driver.member.next_deadline()


def test_a_response_for_another_member_is_rejected_and_the_heartbeat_still_waits() -> None:
    driver = joining()
    foreign = Response(member_id="m-2", member_epoch=4, assignment={ORDERS: [0]})

    with pytest.raises(IllegalArgumentError, match=r"the response is for member 'm-2', but this member is 'm-1'"):
        driver.handle(ResponseReceived(driver.heartbeat.number, foreign))
    assert ("JOINING", 0) == (driver.state, driver.member.epoch)
    driver.respond(1, {ORDERS: [0]})
    assert "RECONCILING" == driver.state


def test_a_response_without_a_member_id_is_accepted() -> None:
    for member_id in (None, ""):
        driver = joining()
        driver.handle(ResponseReceived(driver.heartbeat.number, Response(member_id=member_id, member_epoch=3)))

        assert 3 == driver.member.epoch


def test_an_answer_is_accepted_once() -> None:
    driver = reconciling()
    driver.call_back()

    with pytest.raises(IllegalStateError, match=r"ACKNOWLEDGING does not allow CallbackDone: callback 1 is not"):
        driver.call_back()
    driver.send()
    with pytest.raises(IllegalStateError, match=r"STABLE does not allow HeartbeatSent: heartbeat 2 has been sent"):
        driver.send()
    assert "STABLE" == driver.state


def test_a_response_stores_sorted_partitions_without_duplicates() -> None:
    response = Response(assignment={UUID(int=9): [3, 1, 3], FIRST: iter([0])})

    assert {FIRST: (0,), UUID(int=9): (1, 3)} == response.assignment
    assert response.assignment is not None
    assert [FIRST, UUID(int=9)] == list(response.assignment)


def test_a_subscription_stores_topics_without_duplicates_in_javas_order() -> None:
    assert ("a", "b") == Subscribe(iter(["b", "a", "b"])).topics
    assert ("\U0001f600", "\uff5e") == Subscribe(["\uff5e", "\U0001f600"]).topics


class Incomparable(str):
    """A str that raises an error when compared."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # Python's way to remove it

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    def __ne__(self, other: object) -> bool:
        raise RuntimeError("compared")


class Unhashable(int):
    """An int that cannot be a key of a dict."""

    __hash__ = None  # type: ignore[assignment]  # Python's way to remove it


class ChangingMapping(Mapping[Any, Any]):
    """A mapping that has different keys and values at each access."""

    def __init__(self, *contents: dict[Any, Any]) -> None:
        self.contents = list(contents)

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[Any]:
        return iter(self.contents[0])

    def __getitem__(self, key: Any) -> Any:
        return self.contents.pop(0)[key]


def test_a_subclass_of_str_is_converted_to_str() -> None:
    text = Incomparable
    member = Member(text("g"), text("m-1"), instance_id=text("i"), rack_id=text("r"), server_assignor=text("range"))
    driver = Driver(member)
    names = MetadataArrived({ORDERS: text("orders"), CLICKS: text("orders")})
    driver.handle(CoordinatorFound(), names, Subscribe([text("orders"), text("orders")], text("o.*")), Poll())
    answer = Response(0, text("fine"), text("m-1"), 1, 5000, {ORDERS: [0], CLICKS: [0]})
    driver.handle(ResponseReceived(1, answer))
    driver.call_back()
    driver.handle(Subscribe([text("orders")], text("o.*")))

    assert "ACKNOWLEDGING" == driver.state
    assert (("orders", 0),) == member.assignment
    assert [str, str] == [type(member.member_id), type(member.assignment[0].topic)]


def test_a_subclass_of_int_is_converted_to_int() -> None:
    driver = joining()
    driver.handle(ResponseReceived(Unhashable(1), Response(member_epoch=Unhashable(1), assignment={ORDERS: []})))
    driver.handle(CallbackDone(Unhashable(1)))

    assert "ACKNOWLEDGING" == driver.state


def test_numpy_times_do_not_overflow() -> None:
    times = dict.fromkeys(("rebalance_timeout_ms", "retry_backoff_ms", "request_timeout_ms"), np.int16(30_000))
    driver = Driver(Member("g", "m-1", jitter=0, **times), now=10**12)  # type: ignore[arg-type]  # not int to mypy
    driver.handle(CoordinatorFound(), Subscribe(["orders"]), Poll())
    driver.respond(error=14)

    assert 10**12 + 1000 == driver.member.next_deadline()


def test_a_mapping_is_read_once() -> None:
    names = MetadataArrived(ChangingMapping({FIRST: "orders"}, {"a": 3}))
    response = Response(assignment=ChangingMapping({FIRST: [0]}, {"a": "b"}))

    assert {FIRST: "orders"} == names.names
    assert {FIRST: (0,)} == response.assignment


def test_arguments_are_copied() -> None:
    driver = joining()
    names, ids = {ORDERS: "orders"}, [0]
    assignment = {ORDERS: ids}
    response = Response(member_epoch=1, assignment=assignment)
    driver.handle(MetadataArrived(names), ResponseReceived(1, response))
    names[ORDERS] = "clicks"
    ids.append(7)
    assignment[CLICKS] = [1]
    response.assignment.clear()  # type: ignore[union-attr]  # a mapping that is a dict
    driver.call_back()

    assert {ORDERS: (0,)} == driver.request.topic_partitions
    assert (("orders", 0),) == driver.member.assignment


def test_an_iterable_that_raises_an_error_creates_no_event() -> None:
    def topics() -> Iterator[str]:
        yield "orders"
        raise RuntimeError("lost the list")

    with pytest.raises(RuntimeError, match=r"lost the list"):
        Subscribe(topics())
    assert ("orders",) == Subscribe(["orders"]).topics
