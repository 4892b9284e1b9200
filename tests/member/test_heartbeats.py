"""When a member's heartbeats go out."""

from __future__ import annotations

import pytest

from assignor.member import HeartbeatResponse, Member
from assignor.member.effects import FindCoordinator, SendHeartbeat, WakeAt
from assignor.member.events import (
    CoordinatorFound,
    CoordinatorLost,
    HeartbeatSent,
    Leave,
    Poll,
    ResponseReceived,
    Subscribe,
    Tick,
    TransportFailed,
)
from tests.member.driver import (
    CLICKS,
    INTERVAL,
    ORDERS,
    Driver,
    acknowledging,
    changed,
    fenced,
    joining,
    preparing_to_leave,
    stable,
)


def test_a_stable_member_keeps_to_the_interval_of_the_last_answer() -> None:
    driver = stable()
    sent = driver.count(SendHeartbeat)

    driver.wait(INTERVAL - 1)
    assert sent == driver.count(SendHeartbeat)
    driver.wait(1)
    assert sent + 1 == driver.count(SendHeartbeat)


def test_another_interval_counts_from_the_answer_that_brings_it() -> None:
    driver = stable()
    driver.wait(INTERVAL)
    driver.send()
    driver.wait(10)
    number = driver.last(SendHeartbeat).number
    driver.hand(ResponseReceived(number, HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=700)))

    assert driver.now + 700 == driver.member.next_deadline()


def test_no_second_one_goes_out_while_the_first_has_no_answer() -> None:
    driver = stable()
    driver.wait(INTERVAL)
    sent = driver.count(SendHeartbeat)
    driver.wait(3 * INTERVAL)

    assert sent == driver.count(SendHeartbeat)


def test_an_acknowledgement_does_not_wait_for_the_interval() -> None:
    driver = joining()
    driver.respond(1, {ORDERS: [0]})
    sent = driver.count(SendHeartbeat)
    driver.call_back()

    assert sent + 1 == driver.count(SendHeartbeat)


def test_the_leave_heartbeat_waits_for_nothing_not_even_for_an_answer() -> None:
    driver = stable()
    driver.wait(INTERVAL)
    driver.send()
    driver.hand(Leave())
    sent = driver.count(SendHeartbeat)
    driver.call_back()

    assert sent + 1 == driver.count(SendHeartbeat)
    assert -1 == driver.request.member_epoch


def test_failures_are_followed_by_waits_that_double_up_to_the_most() -> None:
    driver = stable(retry_backoff_ms=100, retry_backoff_max_ms=1000)
    driver.wait(INTERVAL)
    waits = []
    for _ in range(6):
        driver.send()
        driver.respond(error=14)
        deadline = driver.member.next_deadline()
        assert deadline is not None
        waits.append(deadline - driver.now)
        driver.wait(waits[-1])

    assert [100, 200, 400, 800, 1000, 1000] == waits
    driver.send()
    driver.respond(1)
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=14)
    assert driver.now + 100 == driver.member.next_deadline()


def test_the_random_part_of_the_wait_depends_on_the_member_id_alone() -> None:
    def waits(member_id: str) -> list[int]:
        driver = Driver(Member("g", member_id, jitter=0.2))
        driver.hand(CoordinatorFound(), Subscribe(["orders"]), Poll())
        found = []
        for _ in range(8):
            driver.send()
            driver.respond(error=14)
            found.append((driver.member.next_deadline() or 0) - driver.now)
            driver.wait(found[-1])
        return found

    assert waits("a") == waits("a")
    assert waits("a") != waits("b")
    assert all(80 <= waits(id)[0] <= 120 and waits(id)[-1] <= 1000 for id in "abcdefgh")


def test_the_shortest_wait_is_not_drawn_down_to_none() -> None:
    driver = Driver(Member("g", "m-1", retry_backoff_ms=1, jitter=0.99))
    driver.hand(CoordinatorFound(), Subscribe(["orders"]), Poll())
    answer = HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=0)
    waits = set()
    for _ in range(20):
        driver.hand(ResponseReceived(driver.heartbeat.number, answer))
        waits.add((driver.member.next_deadline() or 0) - driver.now)
        driver.wait(1)

    assert {1} == waits


def test_joining_waits_for_the_backoff_as_documented_or_not_as_coded() -> None:
    documented, coded = joining(), joining(join_at_once=True)
    documented.respond(error=14)
    coded.respond(error=14)

    assert (1, 2) == (documented.count(SendHeartbeat), coded.count(SendHeartbeat))
    documented.wait(100)
    assert 2 == documented.count(SendHeartbeat)


def test_preparing_to_leave_is_silent_as_documented_or_goes_on_as_coded() -> None:
    silent, going_on = preparing_to_leave(), preparing_to_leave(heartbeat_while_preparing_to_leave=True)
    sent = silent.count(SendHeartbeat), going_on.count(SendHeartbeat)
    silent.wait(INTERVAL)
    going_on.wait(INTERVAL)

    assert sent == (silent.count(SendHeartbeat), going_on.count(SendHeartbeat) - 1)
    assert 1 == going_on.request.member_epoch
    assert {} == changed(going_on.request)
    assert silent.member.next_deadline() is None


def test_fenced_is_silent_as_documented_or_asks_to_join_as_3_7_did() -> None:
    silent, asking = fenced(), fenced(heartbeat_while_fenced=True)

    assert 1 == silent.request.member_epoch
    assert (0, {}) == (asking.request.member_epoch, asking.request.topic_partitions)
    asking.send()
    asking.respond(7, {ORDERS: [0]})
    assert "FENCED" == asking.member.state.name


# ---- the coordinator


def test_without_a_coordinator_nothing_goes_out_and_it_is_asked_for_once() -> None:
    driver = Driver(Member("g", "m-1"))
    driver.hand(Subscribe(["orders"]), Poll(), Tick())
    driver.wait(60_000)

    assert [FindCoordinator()] == driver.effects
    driver.hand(CoordinatorFound())
    assert 0 == driver.request.member_epoch


def test_a_member_outside_asks_for_no_coordinator() -> None:
    driver = Driver(Member("g", "m-1"))
    driver.hand(Poll(), CoordinatorLost())

    assert [] == driver.effects


@pytest.mark.parametrize("error", [15, 16])
def test_a_coordinator_that_is_none_is_looked_for_and_told_at_once(error: int) -> None:
    driver = stable()
    driver.wait(INTERVAL)
    driver.send()
    sent = driver.count(SendHeartbeat)

    assert [FindCoordinator()] == driver.respond(error=error)
    driver.wait(3)
    assert sent == driver.count(SendHeartbeat)
    driver.hand(CoordinatorFound())
    assert sent + 1 == driver.count(SendHeartbeat)


def test_a_coordinator_that_is_found_over_and_over_is_asked_for_with_a_pause() -> None:
    driver = stable()
    driver.wait(INTERVAL)
    asked = []
    for _ in range(3):
        driver.send()
        driver.respond(error=16)
        if driver.effects[-1] != FindCoordinator():
            deadline = driver.member.next_deadline()
            assert deadline is not None
            driver.wait(deadline - driver.now)
        asked.append(driver.now)
        driver.hand(CoordinatorFound())

    assert [0, 100, 200] == [at - asked[0] for at in asked]


def test_one_that_does_not_answer_in_time_is_looked_for_again() -> None:
    driver = stable(request_timeout_ms=2000)
    driver.wait(INTERVAL)
    driver.send()

    assert [] == driver.wait(1999)
    assert [FindCoordinator()] == driver.wait(1)


def test_an_answer_after_the_time_means_nothing() -> None:
    driver = stable(request_timeout_ms=2000)
    driver.wait(INTERVAL)
    driver.send()
    driver.wait(2000)

    assert [] == driver.respond(9, {CLICKS: [0]})
    assert ("STABLE", 1) == (driver.state, driver.member.epoch)


def test_a_lost_connection_is_tried_again_after_the_backoff() -> None:
    driver = stable()
    driver.wait(INTERVAL)
    sent = driver.last(SendHeartbeat).number
    driver.hand(TransportFailed(sent, retriable=True))

    assert [] == driver.wait(99)
    driver.wait(1)
    assert sent + 1 == driver.last(SendHeartbeat).number


# ---- time


def test_the_next_deadline_is_told_when_it_changes_and_only_then() -> None:
    member = Member("g", "m-1", jitter=0)
    member.handle(CoordinatorFound(), 0)
    member.handle(Subscribe(["orders"]), 0)

    assert WakeAt(30_000) == member.handle(Poll(), 0)[-1]
    assert () == member.handle(HeartbeatSent(1), 1)
    answer = HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=500, assignment={})
    *_, wake = member.handle(ResponseReceived(1, answer), 2)
    assert WakeAt(502) == wake
    assert 502 == member.next_deadline()


def test_a_life_is_the_same_from_any_origin_of_time() -> None:
    def life(origin: int) -> list[object]:
        driver = Driver(Member("g", "m-1", jitter=0, rebalance_timeout_ms=20_000), origin)
        driver.hand(Subscribe(["orders"]), Poll(), CoordinatorFound())
        for error in (14, 16, 110, 0, 14):
            driver.respond(1, {ORDERS: []} if not error else None, error)
            driver.wait(100)
            driver.hand(CoordinatorFound())
        found: list[object] = list(driver.effects)
        for _ in range(3):
            deadline = driver.member.next_deadline()
            assert deadline is not None
            found.append(deadline - origin)
            driver.wait(deadline - driver.now)
        return found

    assert life(0) == life(-(2**62)) == life(2**62)


def test_time_that_goes_backwards_stands_still() -> None:
    driver = stable()
    deadline = driver.member.next_deadline()
    driver.now -= 500_000
    assert [] == driver.hand(Tick(), Poll())

    assert deadline == driver.member.next_deadline()
    driver.now += 500_000
    assert 1 == len(driver.wait(INTERVAL))


def test_one_that_is_answered_counts_as_sent() -> None:
    driver = acknowledging()
    assert "ACKNOWLEDGING" == driver.state

    driver.respond(1)
    assert "STABLE" == driver.state
