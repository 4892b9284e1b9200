"""How a member leaves because its application does not poll, and how it comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from assignor.member.effects import (
    CallPartitionsLost,
    LeaveCompleted,
    RaiseError,
    ReleaseAssignment,
    SendHeartbeat,
)
from assignor.member.events import (
    CoordinatorFound,
    CoordinatorLost,
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


def kinds(effects: Sequence[object]) -> list[str]:
    return [type(effect).__name__ for effect in effects]


def test_without_a_poll_for_too_long_the_member_leaves_and_is_stale() -> None:
    driver = stable(rebalance_timeout_ms=20_000)
    driver.wait(19_999)
    driver.effects.clear()
    leave_heartbeat, *_ = driver.wait(1)
    assert isinstance(leave_heartbeat, SendHeartbeat)
    assert (-1, {}) == (leave_heartbeat.request.member_epoch, leave_heartbeat.request.topic_partitions)
    assert "LEAVING" == driver.state

    assert ["PauseFetching", "CallPartitionsLost"] == kinds(driver.send())
    assert "STALE" == driver.state


def test_it_joins_again_once_its_partitions_are_released_and_it_polls() -> None:
    for order in ("released first", "polled first"):
        driver = stale()
        if order == "released first":
            driver.call_back()
            assert "STALE" == driver.state
            driver.hand(Poll())
        else:
            driver.hand(Poll())
            assert "STALE" == driver.state
            driver.call_back()

        assert "JOINING" == driver.state
        driver.respond(-1)  # the answer to the leave heartbeat
        assert "JOINING" == driver.state


def test_one_that_unsubscribed_while_stale_joins_once_it_subscribes() -> None:
    driver = stale()
    driver.call_back()
    driver.hand(Leave(), Poll())
    assert "STALE" == driver.state
    driver.hand(Subscribe(["orders"]))
    assert "STALE" == driver.state

    driver.hand(Poll())
    assert "JOINING" == driver.state


def test_an_error_of_an_older_heartbeat_does_not_move_a_stale_member() -> None:
    for error, told in ((110, 0), (42, 1)):
        driver = stable(rebalance_timeout_ms=20_000)
        driver.wait(19_000)
        driver.send()
        older = driver.heartbeat.number
        driver.wait(1000)
        driver.send()
        driver.hand(ResponseReceived(older, HeartbeatResponse(error_code=error)))

        assert ("STALE", told) == (driver.state, driver.count(RaiseError))
        driver.call_back()
        driver.hand(Poll())
        assert "JOINING" == driver.state


def test_a_poll_timer_leave_heartbeat_that_cannot_be_sent_ends_in_stale_too() -> None:
    driver = stable(rebalance_timeout_ms=20_000)
    driver.wait(20_000)
    driver.hand(TransportFailed(driver.heartbeat.number, retriable=True))

    assert "STALE" == driver.state


def test_fenced_between_a_poll_timer_leave_heartbeat_and_its_sending_joins_at_the_next_poll() -> None:
    driver = stable(rebalance_timeout_ms=20_000)
    driver.wait(19_000)
    driver.send()
    older = driver.heartbeat.number
    driver.wait(1000)
    driver.hand(ResponseReceived(older, HeartbeatResponse(error_code=110)))
    assert "UNSUBSCRIBED" == driver.state
    assert partitions("orders", 0, 1) == driver.last(CallPartitionsLost).partitions
    driver.hand(HeartbeatSent(driver.heartbeat.number))
    driver.call_back()

    driver.hand(Poll())
    assert "JOINING" == driver.state


def test_without_a_coordinator_the_poll_timer_is_looked_at_once_there_is_one() -> None:
    driver = stable(rebalance_timeout_ms=20_000)
    driver.hand(CoordinatorLost())
    driver.wait(60_000)
    assert "STABLE" == driver.state

    driver.hand(CoordinatorFound())
    assert "LEAVING" == driver.state


def test_a_stale_member_joins_at_the_poll_although_its_leave_heartbeat_has_no_answer_yet() -> None:
    driver = stale()
    driver.call_back()
    (heartbeat,) = driver.hand(Poll())

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
    ids=["failed for good", "failed", "error 30", "error 25", "answered well"],
)
def test_what_is_answered_to_the_leave_heartbeat_of_a_stale_member_means_nothing(
    answer: Callable[[int], Event],
) -> None:
    for released in (False, True):
        driver = stale()
        if released:
            driver.call_back()

        assert [] == driver.hand(answer(driver.heartbeat.number))
        assert "STALE" == driver.state


def test_a_member_that_is_back_does_not_take_the_answer_to_its_leave_heartbeat_for_one_to_its_join() -> None:
    driver = stale()
    driver.call_back()
    leave_heartbeat = driver.heartbeat.number
    driver.hand(Poll())

    assert [] == driver.hand(ResponseReceived(leave_heartbeat, HeartbeatResponse(member_epoch=-1)))


def test_a_stale_member_that_unsubscribes_has_nothing_any_more_although_its_callback_still_runs() -> None:
    driver = stale()

    assert partitions("orders", 0, 1) == driver.last(CallPartitionsLost).partitions
    assert [ReleaseAssignment(), LeaveCompleted()] == driver.hand(Leave())
    assert () == driver.member.assignment
    assert [] == driver.call_back()
