"""The leave heartbeat of a member, and events before its answer."""

from __future__ import annotations

import pytest

from assignor.member import HeartbeatResponse, effects, events
from tests.member.driver import INTERVAL, ORDERS, Driver, leaving, preparing_to_leave, stable


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("static", -2)])
def test_a_member_fenced_before_its_leave_heartbeat_has_the_epoch_of_a_member_that_left(
    instance_id: str | None, epoch: int
) -> None:
    driver = preparing_to_leave(instance_id=instance_id, heartbeat_while_preparing_to_leave=True)
    driver.wait(INTERVAL)

    assert effects.LeaveCompleted() in driver.respond(error=110)
    assert ("UNSUBSCRIBED", epoch) == (driver.state, driver.member.epoch)


def test_a_failed_leave_heartbeat_raises_its_error_before_the_leave_is_complete() -> None:
    driver = leaving()
    driver.send()
    found = driver.handle(events.TransportFailed(driver.heartbeat.number, False, "the connection is gone"))

    assert ["RaiseError", "LeaveCompleted"] == [type(effect).__name__ for effect in found][:2]
    assert "FATAL" == driver.state


def rejoined_with_a_leave_heartbeat_in_flight() -> tuple[Driver, int]:
    """Return a member that left, was STALE and is stable again, and the number of its first leave heartbeat."""
    driver = stable(rebalance_timeout_ms=20_000, request_timeout_ms=60_000)
    driver.handle(events.Leave())
    driver.call_back()
    driver.send()
    leave_heartbeat = driver.heartbeat.number
    driver.handle(events.Subscribe(["orders"]), events.Poll())
    driver.wait(20_000)
    driver.send()
    driver.handle(events.Poll())
    driver.respond(1, {ORDERS: [0]})
    driver.call_back()
    driver.respond(1)
    assert "STABLE" == driver.state
    driver.effects.clear()
    return driver, leave_heartbeat


def test_the_answer_to_an_earlier_leave_heartbeat_does_not_complete_a_second_leave() -> None:
    driver, leave_heartbeat = rejoined_with_a_leave_heartbeat_in_flight()
    driver.handle(events.Leave())

    assert [] == driver.handle(events.ResponseReceived(leave_heartbeat, HeartbeatResponse(member_epoch=-1)))
    driver.call_back()
    driver.send()
    assert [effects.LeaveCompleted()] == driver.respond(-1)


def test_an_error_of_a_member_that_rejoined_does_not_complete_its_earlier_leave() -> None:
    for error in (42, 110):
        driver, leave_heartbeat = rejoined_with_a_leave_heartbeat_in_flight()
        driver.wait(INTERVAL)
        driver.respond(error=error)

        assert 1 == driver.count(effects.CallPartitionsLost)
        assert 0 == driver.count(effects.LeaveCompleted)
        answer = events.ResponseReceived(leave_heartbeat, HeartbeatResponse(member_epoch=-1))
        assert [effects.LeaveCompleted()] == driver.handle(answer)
