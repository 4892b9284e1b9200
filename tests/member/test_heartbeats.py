"""Times and fields of a member's heartbeats."""

from __future__ import annotations

from assignor.member import HeartbeatRequest, HeartbeatResponse, Member
from assignor.member.effects import FindCoordinator, SendHeartbeat, WakeAt
from assignor.member.events import (
    CoordinatorFound,
    CoordinatorLost,
    HeartbeatSent,
    Poll,
    ResponseReceived,
    Subscribe,
    Tick,
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


def test_jitter_depends_only_on_the_member_id() -> None:
    def waits(member_id: str) -> list[int]:
        driver = Driver(Member("g", member_id, jitter=0.2))
        driver.handle(CoordinatorFound(), Subscribe(["orders"]), Poll())
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


def test_jitter_never_reduces_the_backoff_to_zero() -> None:
    driver = Driver(Member("g", "m-1", retry_backoff_ms=1, jitter=0.99))
    driver.handle(CoordinatorFound(), Subscribe(["orders"]), Poll())
    answer = HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=0)
    waits = set()
    for _ in range(20):
        driver.handle(ResponseReceived(driver.heartbeat.number, answer))
        waits.add((driver.member.next_deadline() or 0) - driver.now)
        driver.wait(1)

    assert {1} == waits


def test_joining_waits_for_the_backoff_unless_the_option_join_at_once_is_set() -> None:
    documented, coded = joining(), joining(join_at_once=True)
    documented.respond(error=14)
    coded.respond(error=14)

    assert (1, 2) == (documented.count(SendHeartbeat), coded.count(SendHeartbeat))
    documented.wait(100)
    assert 2 == documented.count(SendHeartbeat)


def test_a_member_that_prepares_to_leave_sends_no_heartbeats_unless_the_option_is_set() -> None:
    silent, active = preparing_to_leave(), preparing_to_leave(heartbeat_while_preparing_to_leave=True)
    sent = silent.count(SendHeartbeat), active.count(SendHeartbeat)
    silent.wait(INTERVAL)
    active.wait(INTERVAL)

    assert sent == (silent.count(SendHeartbeat), active.count(SendHeartbeat) - 1)
    assert 1 == active.request.member_epoch
    assert {} == changed(active.request)
    assert silent.member.next_deadline() is None


def test_a_fenced_member_sends_no_heartbeats_unless_the_option_is_set() -> None:
    silent, active = fenced(), fenced(heartbeat_while_fenced=True)

    assert 1 == silent.request.member_epoch
    assert (0, {}) == (active.request.member_epoch, active.request.topic_partitions)
    active.send()
    active.respond(7, {ORDERS: [0]})
    assert "FENCED" == active.member.state.name


# ---- the coordinator


def test_without_a_coordinator_no_heartbeat_is_sent_and_one_look_up_is_requested() -> None:
    driver = Driver(Member("g", "m-1"))
    driver.handle(Subscribe(["orders"]), Poll(), Tick())
    driver.wait(60_000)

    assert [FindCoordinator()] == driver.effects
    driver.handle(CoordinatorFound())
    assert 0 == driver.request.member_epoch


def test_a_member_outside_the_group_looks_for_no_coordinator() -> None:
    driver = Driver(Member("g", "m-1"))
    driver.handle(Poll(), CoordinatorLost())

    assert [] == driver.effects


def test_repeated_look_ups_of_the_coordinator_have_a_pause() -> None:
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
        driver.handle(CoordinatorFound())

    assert [0, 100, 200] == [at - asked[0] for at in asked]


def test_a_timeout_starts_a_look_up_of_the_coordinator() -> None:
    driver = stable(request_timeout_ms=2000)
    driver.wait(INTERVAL)
    driver.send()

    assert [] == driver.wait(1999)
    assert [FindCoordinator()] == driver.wait(1)


def test_an_answer_after_the_timeout_is_ignored() -> None:
    driver = stable(request_timeout_ms=2000)
    driver.wait(INTERVAL)
    driver.send()
    driver.wait(2000)

    assert [] == driver.respond(9, {CLICKS: [0]})
    assert ("STABLE", 1) == (driver.state, driver.member.epoch)


# ---- time


def test_wake_at_is_returned_only_when_the_deadline_changes() -> None:
    member = Member("g", "m-1", jitter=0)
    member.handle(CoordinatorFound(), 0)
    member.handle(Subscribe(["orders"]), 0)

    assert WakeAt(30_000) == member.handle(Poll(), 0)[-1]
    assert () == member.handle(HeartbeatSent(1), 1)
    answer = HeartbeatResponse(member_epoch=1, heartbeat_interval_ms=500, assignment={})
    *_, wake = member.handle(ResponseReceived(1, answer), 2)
    assert WakeAt(502) == wake
    assert 502 == member.next_deadline()


def test_behaviour_does_not_depend_on_the_origin_of_time() -> None:
    def run_member(origin: int) -> list[object]:
        driver = Driver(Member("g", "m-1", jitter=0, rebalance_timeout_ms=20_000), origin)
        driver.handle(Subscribe(["orders"]), Poll(), CoordinatorFound())
        for error in (14, 16, 110, 0, 14):
            driver.respond(1, {ORDERS: []} if not error else None, error)
            driver.wait(100)
            driver.handle(CoordinatorFound())
        found: list[object] = list(driver.effects)
        for _ in range(3):
            deadline = driver.member.next_deadline()
            assert deadline is not None
            found.append(deadline - origin)
            driver.wait(deadline - driver.now)
        return found

    assert run_member(0) == run_member(-(2**62)) == run_member(2**62)


def test_an_earlier_time_counts_as_the_previous_one() -> None:
    driver = stable()
    deadline = driver.member.next_deadline()
    driver.now -= 500_000
    assert [] == driver.handle(Tick(), Poll())

    assert deadline == driver.member.next_deadline()
    driver.now += 500_000
    assert 1 == len(driver.wait(INTERVAL))


def test_an_answered_heartbeat_counts_as_sent() -> None:
    driver = acknowledging()
    assert "ACKNOWLEDGING" == driver.state

    driver.respond(1)
    assert "STABLE" == driver.state


# ---- fields


def next_request(driver: Driver) -> HeartbeatRequest:
    """Return the next heartbeat after the interval."""
    driver.wait(INTERVAL)
    driver.send()
    return driver.request


def test_a_join_without_a_pattern_sends_an_empty_pattern_only_if_the_coordinator_may_store_a_pattern() -> None:
    assert joining().request.subscribed_topic_regex is None
    # An earlier member with the instance id may have had a pattern, which the coordinator keeps.
    assert "" == joining(instance_id="i").request.subscribed_topic_regex


def test_equal_partitions_are_sent_again_after_another_assignment() -> None:
    driver = stable()
    for assignment in ({}, {ORDERS: [0, 1]}):
        driver.wait(INTERVAL)
        driver.send()
        driver.respond(1, assignment)

    assert {"topic_partitions": {ORDERS: (0, 1)}} == changed(driver.request)


def test_a_removed_pattern_is_sent_again_after_a_failure() -> None:
    driver = stable()
    driver.handle(Subscribe(pattern="ord.*"))
    next_request(driver)
    driver.respond(1)
    driver.handle(Subscribe(["orders"]))
    next_request(driver)
    driver.respond(error=14)
    driver.wait(100)

    assert "" == driver.request.subscribed_topic_regex


def test_a_removed_pattern_is_sent_again_by_a_member_that_rejoins() -> None:
    driver = stable()
    driver.handle(Subscribe(pattern="ord.*"))
    next_request(driver)
    driver.respond(1)
    driver.handle(Subscribe(["orders"]))
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=110)
    driver.call_back()

    assert (0, "") == (driver.request.member_epoch, driver.request.subscribed_topic_regex)
