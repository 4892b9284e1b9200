"""Leaves of a member, on request or after an error."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from assignor.errors import IllegalStateError
from assignor.member.effects import (
    CallPartitionsLost,
    CallPartitionsRevoked,
    LeaveCompleted,
    PauseFetching,
    RaiseError,
    ReleaseAssignment,
    SendHeartbeat,
)
from assignor.member.events import (
    CallbackDone,
    Leave,
    Poll,
    ResponseReceived,
    Subscribe,
    TransportFailed,
)
from assignor.member.messages import CommitIdentity, HeartbeatResponse
from tests.member.driver import (
    CLICKS,
    INTERVAL,
    ORDERS,
    Driver,
    fatal,
    fenced,
    joining,
    leaving,
    outside,
    partitions,
    preparing_to_leave,
    stable,
    stale,
)

# ---- on request


def test_partitions_are_released_before_the_leave_heartbeat() -> None:
    driver = stable()
    mine = partitions("orders", 0, 1)

    assert [PauseFetching(mine), CallPartitionsRevoked(2, mine)] == driver.handle(Leave())
    released, leave_heartbeat = driver.call_back()
    assert ReleaseAssignment() == released
    assert isinstance(leave_heartbeat, SendHeartbeat)
    assert (-1, {}) == (leave_heartbeat.request.member_epoch, leave_heartbeat.request.topic_partitions)
    assert () == driver.member.assignment
    driver.send()
    assert "UNSUBSCRIBED" == driver.state
    assert [LeaveCompleted()] == driver.respond(-1)


def test_leaving_before_the_first_answer_succeeds_even_if_the_coordinator_does_not_know_the_member() -> None:
    for error in (0, 25, 69):
        driver = joining()
        join = driver.heartbeat.number
        driver.handle(Leave())
        driver.send()
        driver.handle(ResponseReceived(join, HeartbeatResponse(member_epoch=1, assignment={ORDERS: [0]})))
        driver.respond(-1, error=error)

        assert "UNSUBSCRIBED" == driver.state
        assert 1 == driver.count(LeaveCompleted)
        assert () == driver.member.assignment


def test_the_leave_heartbeat_is_sent_once_and_the_leave_completes_without_an_answer() -> None:
    for lost in ("failed", "timed out"):
        driver = leaving()
        driver.send()
        sent = driver.count(SendHeartbeat)
        if lost == "failed":
            driver.handle(TransportFailed(driver.heartbeat.number, retriable=True))
        else:
            driver.wait(30_000)

        assert LeaveCompleted() == driver.last(LeaveCompleted)
        driver.wait(60_000)
        assert sent == driver.count(SendHeartbeat)


def test_a_second_leave_waits_for_the_first() -> None:
    driver = preparing_to_leave()
    assert [] == driver.handle(Leave())
    driver.call_back()
    assert [] == driver.handle(Leave())
    driver.send()
    driver.respond(-1)

    assert 1 == driver.count(LeaveCompleted)


def test_a_subscription_made_while_leaving_is_used_afterwards() -> None:
    driver = preparing_to_leave(heartbeat_while_preparing_to_leave=True)
    driver.handle(Subscribe(["clicks"]), Poll())
    driver.wait(INTERVAL)
    assert driver.request.subscribed_topic_names is None  # the heartbeats still have the old subscription
    driver.handle(CallbackDone(driver.last(CallPartitionsRevoked).number))
    driver.send()
    driver.respond(-1)
    assert "UNSUBSCRIBED" == driver.state

    driver.handle(Poll())
    assert "JOINING" == driver.state
    assert ("clicks",) == driver.request.subscribed_topic_names


def test_joining_again_waits_for_the_answer_to_the_leave_heartbeat() -> None:
    driver = leaving()
    driver.send()
    driver.handle(Subscribe(["clicks"]), Poll())
    assert ("JOINING", -1) == (driver.state, driver.request.member_epoch)

    leave_heartbeat = driver.heartbeat.number
    assert [LeaveCompleted()] == driver.handle(ResponseReceived(leave_heartbeat, HeartbeatResponse(error_code=25)))
    driver.wait(100)
    assert ("JOINING", 0) == (driver.state, driver.request.member_epoch)


def test_a_member_fenced_in_prepare_leaving_sends_no_leave_heartbeat_and_does_not_rejoin() -> None:
    driver = stable()
    driver.wait(INTERVAL)
    driver.send()
    driver.handle(Leave())
    assert [LeaveCompleted()] == driver.respond(error=110)
    assert ("UNSUBSCRIBED", partitions("orders", 0, 1)) == (driver.state, driver.member.assignment)

    driver.handle(Subscribe(["orders"]), Poll())
    assert "UNSUBSCRIBED" == driver.state  # the callback is still running
    assert [ReleaseAssignment()] == driver.call_back()
    driver.handle(Poll())
    assert "JOINING" == driver.state


# ---- a leave heartbeat whose answer comes after the next join


def rejoined_with_a_leave_heartbeat_in_flight() -> tuple[Driver, int]:
    """Return a member that left, was STALE and is stable again, and the number of its first leave heartbeat."""
    driver = stable(rebalance_timeout_ms=20_000, request_timeout_ms=60_000)
    driver.handle(Leave())
    driver.call_back()
    driver.send()
    leave_heartbeat = driver.heartbeat.number
    driver.handle(Subscribe(["orders"]), Poll())
    driver.wait(20_000)
    driver.send()
    driver.handle(Poll())
    driver.respond(1, {ORDERS: [0]})
    driver.call_back()
    driver.respond(1)
    assert "STABLE" == driver.state
    driver.effects.clear()
    return driver, leave_heartbeat


def test_the_answer_to_an_earlier_leave_heartbeat_does_not_complete_a_second_leave() -> None:
    driver, leave_heartbeat = rejoined_with_a_leave_heartbeat_in_flight()
    driver.handle(Leave())

    assert [] == driver.handle(ResponseReceived(leave_heartbeat, HeartbeatResponse(member_epoch=-1)))
    driver.call_back()
    driver.send()
    assert [LeaveCompleted()] == driver.respond(-1)


def test_an_error_of_a_member_that_rejoined_does_not_complete_its_earlier_leave() -> None:
    for error in (42, 110):
        driver, leave_heartbeat = rejoined_with_a_leave_heartbeat_in_flight()
        driver.wait(INTERVAL)
        driver.respond(error=error)

        assert 1 == driver.count(CallPartitionsLost)
        assert 0 == driver.count(LeaveCompleted)
        answer = ResponseReceived(leave_heartbeat, HeartbeatResponse(member_epoch=-1))
        assert [LeaveCompleted()] == driver.handle(answer)


# ---- after an error


def test_repeated_fencing_increases_the_backoff() -> None:
    driver = joining()
    waits = []
    for _ in range(4):
        driver.respond(error=110)
        waits.append((driver.member.next_deadline() or 0) - driver.now)
        driver.wait(waits[-1])

    assert [100, 200, 400, 800] == waits


def test_a_member_fenced_soon_after_its_join_waits_for_the_backoff() -> None:
    driver = joining()
    waits = []
    for epoch in range(1, 4):
        driver.respond(epoch, {})
        driver.call_back()
        driver.send()
        driver.respond(error=110)
        waits.append((driver.state, (driver.member.next_deadline() or 0) - driver.now))
        driver.wait(100)

    assert [("JOINING", 100)] * 3 == waits


def test_a_member_fenced_long_after_its_join_rejoins_without_a_backoff() -> None:
    driver = stable(retry_backoff_max_ms=1000)
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=110)
    sent = driver.count(SendHeartbeat)
    driver.call_back()

    assert sent + 1 == driver.count(SendHeartbeat)


def test_an_answer_from_an_earlier_join_is_ignored() -> None:
    driver = stale()
    driver.call_back()
    driver.handle(Poll())
    assert "JOINING" == driver.state
    for number in range(1, driver.heartbeat.number):
        driver.handle(ResponseReceived(number, HeartbeatResponse(member_epoch=7, assignment={CLICKS: [0]})))

    assert ("JOINING", 0) == (driver.state, driver.member.epoch)


def test_an_answer_with_an_older_epoch_is_ignored() -> None:
    driver = stable()
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(5)
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(4, {CLICKS: [0]})

    assert ("STABLE", 5) == (driver.state, driver.member.epoch)


def test_two_errors_have_a_message_of_this_package() -> None:
    for error, words in ((30, "not authorized for the group 'g'"), (35, "use group.protocol=classic")):
        driver = joining()
        driver.respond(error=error)

        assert words in driver.last(RaiseError).message


# ---- committing


def test_a_member_commits_with_its_identity_and_without_one_outside_the_group() -> None:
    assert CommitIdentity("m-1", 1, "i") == stable(instance_id="i").member.commit_identity()
    assert CommitIdentity("m-1", 1, None) == preparing_to_leave().member.commit_identity()
    assert CommitIdentity("", -1, None) == outside(instance_id="i").member.commit_identity()


@pytest.mark.parametrize("make", [joining, fenced, leaving, fatal, stale])
def test_a_member_cannot_commit_in_states_in_which_it_owns_no_partitions(make: Callable[[], Driver]) -> None:
    member = make().member

    with pytest.raises(IllegalStateError, match=rf"a member in {member.state.name} with epoch -?\d cannot commit"):
        member.commit_identity()
    assert make().member.epoch == member.epoch
