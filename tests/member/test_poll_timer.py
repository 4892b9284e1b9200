"""Leave and rejoin of a member whose application does not poll."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assignor.member.effects import (
    CallPartitionsLost,
    RaiseError,
    SendHeartbeat,
)
from assignor.member.events import (
    Event,
    HeartbeatSent,
    Leave,
    Poll,
    ResponseReceived,
    Subscribe,
    TransportFailed,
)
from assignor.member.messages import HeartbeatResponse
from tests.member.driver import (
    partitions,
    stable,
    stale,
)


def test_a_member_that_unsubscribed_while_stale_joins_after_it_subscribes() -> None:
    driver = stale()
    driver.call_back()
    driver.handle(Leave(), Poll())
    assert "STALE" == driver.state
    driver.handle(Subscribe(["orders"]))
    assert "STALE" == driver.state

    driver.handle(Poll())
    assert "JOINING" == driver.state


def test_an_error_of_an_older_heartbeat_leaves_a_member_stale() -> None:
    for error, raised in ((110, 0), (42, 1)):
        driver = stable(rebalance_timeout_ms=20_000)
        driver.wait(19_000)
        driver.send()
        older = driver.heartbeat.number
        driver.wait(1000)
        driver.send()
        driver.handle(ResponseReceived(older, HeartbeatResponse(error_code=error)))

        assert ("STALE", raised) == (driver.state, driver.count(RaiseError))
        driver.call_back()
        driver.handle(Poll())
        assert "JOINING" == driver.state


def test_a_leave_heartbeat_that_cannot_be_sent_makes_the_member_stale_too() -> None:
    driver = stable(rebalance_timeout_ms=20_000)
    driver.wait(20_000)
    driver.handle(TransportFailed(driver.heartbeat.number, retriable=True))

    assert "STALE" == driver.state


def test_a_member_fenced_before_its_leave_heartbeat_is_sent_joins_at_the_next_poll() -> None:
    driver = stable(rebalance_timeout_ms=20_000)
    driver.wait(19_000)
    driver.send()
    older = driver.heartbeat.number
    driver.wait(1000)
    driver.handle(ResponseReceived(older, HeartbeatResponse(error_code=110)))
    assert "UNSUBSCRIBED" == driver.state
    assert partitions("orders", 0, 1) == driver.last(CallPartitionsLost).partitions
    driver.handle(HeartbeatSent(driver.heartbeat.number))
    driver.call_back()

    driver.handle(Poll())
    assert "JOINING" == driver.state


def test_a_stale_member_joins_at_the_poll_before_its_leave_heartbeat_is_answered() -> None:
    driver = stale()
    driver.call_back()
    (heartbeat,) = driver.handle(Poll())

    assert isinstance(heartbeat, SendHeartbeat)
    assert 0 == heartbeat.request.member_epoch


@pytest.mark.parametrize(
    "answer",
    [
        lambda number: TransportFailed(number, False, "the connection is gone"),
        lambda number: TransportFailed(number, True, "it took too long"),
        lambda number: ResponseReceived(number, HeartbeatResponse(error_code=30)),
        lambda number: ResponseReceived(number, HeartbeatResponse(error_code=25)),
        lambda number: ResponseReceived(number, HeartbeatResponse(member_epoch=-1, heartbeat_interval_ms=1)),
    ],
    ids=["failed for good", "failed", "error 30", "error 25", "successful"],
)
def test_the_answer_to_the_leave_heartbeat_of_a_stale_member_is_ignored(
    answer: Callable[[int], Event],
) -> None:
    for released in (False, True):
        driver = stale()
        if released:
            driver.call_back()

        assert [] == driver.handle(answer(driver.heartbeat.number))
        assert "STALE" == driver.state


def test_the_answer_to_a_leave_heartbeat_does_not_count_as_an_answer_to_the_next_join() -> None:
    driver = stale()
    driver.call_back()
    leave_heartbeat = driver.heartbeat.number
    driver.handle(Poll())

    assert [] == driver.handle(ResponseReceived(leave_heartbeat, HeartbeatResponse(member_epoch=-1)))
