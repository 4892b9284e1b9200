"""A member that leaves: its goodbye, and what can come in between."""

from __future__ import annotations

from uuid import UUID

import pytest

from assignor.member import HeartbeatResponse, Member, effects, events
from member_driver import INTERVAL, ORDERS, Driver, stable

TOPIC = UUID(int=1)


def owning_member(instance_id: str | None = None) -> Member:
    """A stable one with a partition, and no heartbeat under way."""
    member = Member("orders", "m-1", instance_id=instance_id, heartbeat_while_preparing_to_leave=True)
    names, subscription = events.MetadataArrived({TOPIC: "t"}), events.Subscribe(("t",))
    for event in (names, subscription, events.CoordinatorFound(), events.Poll()):
        member.handle(event, 0)
    answer = HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=1000, assignment={TOPIC: (0,)})
    member.handle(events.ResponseReceived(1, answer), 0)
    member.handle(events.CallbackDone(1), 0)
    member.handle(events.ResponseReceived(2, HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=1000)), 0)
    return member


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("static", -2)])
def test_a_member_that_is_fenced_before_its_goodbye_has_the_epoch_of_one_that_left(
    instance_id: str | None, epoch: int
) -> None:
    member = owning_member(instance_id)
    member.handle(events.Leave(), 1)
    member.handle(events.Tick(), 1000)
    found = member.handle(events.ResponseReceived(3, HeartbeatResponse(error_code=110)), 1001)

    assert effects.LeaveCompleted() in found
    assert ("UNSUBSCRIBED", epoch) == (member.state.name, member.epoch)


def test_a_goodbye_that_fails_for_good_is_told_before_the_leave_is_over() -> None:
    member = owning_member()
    member.handle(events.Leave(), 1)
    member.handle(events.CallbackDone(2), 2)
    member.handle(events.HeartbeatSent(3), 2)
    found = member.handle(events.TransportFailed(3, False, "the connection is gone"), 3)

    assert ["RaiseError", "LeaveCompleted"] == [type(effect).__name__ for effect in found][:2]
    assert "FATAL" == member.state.name


def back_with_a_goodbye_under_way() -> tuple[Driver, int]:
    """One that left, was out a second time for want of polls, and is stable again; the number of its first goodbye."""
    driver = stable(rebalance_timeout_ms=20_000, request_timeout_ms=60_000)
    driver.hand(events.Leave())
    driver.call_back()
    driver.send()
    goodbye = driver.heartbeat.number
    driver.hand(events.Subscribe(["orders"]), events.Poll())
    driver.wait(20_000)
    driver.send()
    driver.hand(events.Poll())
    driver.respond(1, {ORDERS: [0]})
    driver.call_back()
    driver.respond(1)
    assert "STABLE" == driver.state
    driver.effects.clear()
    return driver, goodbye


def test_the_answer_to_an_earlier_goodbye_does_not_end_a_second_leave() -> None:
    driver, goodbye = back_with_a_goodbye_under_way()
    driver.hand(events.Leave())

    assert [] == driver.hand(events.ResponseReceived(goodbye, HeartbeatResponse(member_epoch=-1)))
    driver.call_back()
    driver.send()
    assert [effects.LeaveCompleted()] == driver.respond(-1)


def test_what_ends_a_member_that_is_back_does_not_end_its_earlier_leave() -> None:
    for error in (42, 110):
        driver, goodbye = back_with_a_goodbye_under_way()
        driver.wait(INTERVAL)
        driver.respond(error=error)

        assert 1 == driver.count(effects.CallPartitionsLost)
        assert 0 == driver.count(effects.LeaveCompleted)
        answer = events.ResponseReceived(goodbye, HeartbeatResponse(member_epoch=-1))
        assert [effects.LeaveCompleted()] == driver.hand(answer)
