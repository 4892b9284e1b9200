"""Reconciliation of an assignment by a member: topic names, commit, callbacks, acknowledgement."""

from __future__ import annotations

from uuid import UUID

from assignor import TopicPartition
from assignor.member.effects import (
    CallPartitionsAssigned,
    CallPartitionsLost,
    CallPartitionsRevoked,
    Commit,
    RequestMetadata,
    SendHeartbeat,
)
from assignor.member.events import (
    CallbackDone,
    CallbackFailed,
    CommitDone,
    MetadataArrived,
    Poll,
    TransportFailed,
)
from tests.member.driver import CLICKS, INTERVAL, ORDERS, Driver, joining, partitions, reconciling, stable

UNKNOWN, LATE = UUID(int=8), UUID(int=9)


def given(driver: Driver, assignment: dict[UUID, list[int]], epoch: int = 2) -> Driver:
    """Return the member after an answer with this assignment to its next heartbeat."""
    driver.wait(INTERVAL)
    driver.send()
    driver.effects.clear()
    driver.respond(epoch, assignment)
    return driver


# ---- order of steps


def test_a_commit_without_an_answer_is_abandoned_at_its_deadline() -> None:
    driver = given(stable(auto_commit=True), {ORDERS: [0]})
    driver.handle(Poll())
    commit = driver.last(Commit)
    driver.send()
    while driver.now < commit.deadline:
        driver.handle(Poll())
        driver.wait(INTERVAL)
        driver.send()
        driver.respond(2)

    assert partitions("orders", 1) == driver.last(CallPartitionsRevoked).partitions
    assert [] == driver.handle(CommitDone(commit.number))


def test_partitions_that_may_be_added_before_the_answer_are_reported() -> None:
    driver = given(stable(), {ORDERS: [0, 1, 2]})  # partition 2 is being added, its callback is pending
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(3, {ORDERS: [0], CLICKS: [5]})
    driver.wait(INTERVAL)
    driver.handle(TransportFailed(driver.heartbeat.number, retriable=True))
    driver.wait(100)

    assert {ORDERS: (0, 1, 2), CLICKS: (5,)} == driver.request.topic_partitions


# ---- end of a reconciliation


def test_a_callback_of_an_earlier_join_does_not_complete_a_later_reconciliation() -> None:
    driver = given(stable(), {ORDERS: [0]})
    driver.handle(Poll())
    revoked = driver.last(CallPartitionsRevoked).number
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=110)
    driver.handle(CallbackDone(driver.last(CallPartitionsLost).number))
    driver.send()
    driver.respond(5, {ORDERS: [3]})
    assigned = driver.count(CallPartitionsAssigned)

    assert "RECONCILING" == driver.state
    driver.handle(CallbackDone(revoked))  # callbacks run one at a time, so the next one starts only now
    assert assigned + 1 == driver.count(CallPartitionsAssigned)
    assert partitions("orders", 3) == driver.last(CallPartitionsAssigned).assignment


# ---- missing topic names


def test_a_partly_reconciled_assignment_is_acknowledged_only_once() -> None:
    driver = joining()
    driver.respond(1, {ORDERS: [0], LATE: [0, 1]})
    driver.call_back()
    sent = driver.count(SendHeartbeat)
    for _ in range(5):
        driver.send()
        driver.respond(1)
        driver.wait(INTERVAL)

    assert sent + 5 == driver.count(SendHeartbeat)
    assert "RECONCILING" == driver.state
    driver.handle(MetadataArrived({LATE: "late"}))
    assert CallPartitionsAssigned(
        2, partitions("late", 0, 1), partitions("late", 0, 1) + partitions("orders", 0)
    ) == driver.last(CallPartitionsAssigned)


def test_missing_names_are_requested_again_at_intervals() -> None:
    driver = joining(retry_backoff_max_ms=1000)
    driver.respond(1, {LATE: [0]})
    driver.call_back()
    driver.send()
    driver.respond(1)
    asked = driver.count(RequestMetadata)
    driver.handle(MetadataArrived({}))
    assert asked == driver.count(RequestMetadata)

    driver.wait(1000)
    assert asked + 1 == driver.count(RequestMetadata)


def test_partitions_are_in_javas_order_of_topics_then_by_id() -> None:
    driver = joining()
    driver.handle(MetadataArrived({UNKNOWN: "\uff5e", LATE: "\U0001f600"}))
    driver.respond(1, {UNKNOWN: [10, 9], LATE: [0], ORDERS: [2]})

    wanted = [("orders", 2), ("\U0001f600", 0), ("\uff5e", 9), ("\uff5e", 10)]
    assert tuple(TopicPartition(*each) for each in wanted) == driver.last(CallPartitionsAssigned).partitions


# ---- failed callbacks


def test_a_failed_revocation_is_retried_at_the_next_poll() -> None:
    driver = given(stable(), {ORDERS: [0]})
    driver.handle(Poll())
    first = driver.last(CallPartitionsRevoked)
    assert [] == driver.handle(CallbackFailed(first.number, "boom"))
    assert "RECONCILING" == driver.state
    assert [] == driver.wait(100)

    driver.handle(Poll())
    assert (first.partitions, first.number + 1) == (
        driver.last(CallPartitionsRevoked).partitions,
        driver.last(CallPartitionsRevoked).number,
    )


def test_a_failed_assignment_callback_is_retried_at_the_next_poll() -> None:
    driver = reconciling()
    first = driver.last(CallPartitionsAssigned)
    assert [] == driver.handle(CallbackFailed(first.number, "boom"))
    assert [] == driver.wait(100)

    driver.handle(Poll())
    again = driver.last(CallPartitionsAssigned)
    assert (first.number + 1, first.partitions) == (again.number, again.partitions)
    driver.call_back()
    assert "ACKNOWLEDGING" == driver.state


def test_a_failed_callback_does_not_delay_the_next_join() -> None:
    driver = reconciling()
    driver.handle(CallbackFailed(driver.last(CallPartitionsAssigned).number))
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=110)
    driver.call_back()
    driver.send()
    assigned = driver.count(CallPartitionsAssigned)
    driver.respond(2, {ORDERS: [0]})

    assert assigned + 1 == driver.count(CallPartitionsAssigned)


def test_partitions_of_a_failed_callback_that_are_taken_away_are_revoked() -> None:
    driver = reconciling()
    driver.handle(CallbackFailed(driver.last(CallPartitionsAssigned).number))
    given(driver, {ORDERS: [1]})
    driver.handle(Poll())

    assert partitions("orders", 0) == driver.last(CallPartitionsRevoked).partitions
    driver.call_back()
    assert partitions("orders", 1) == driver.last(CallPartitionsAssigned).partitions


def test_partitions_of_a_failed_callback_are_reported_until_they_are_revoked() -> None:
    driver = reconciling()
    driver.handle(CallbackFailed(driver.last(CallPartitionsAssigned).number))
    given(driver, {ORDERS: [1]})
    driver.handle(Poll())
    assert partitions("orders", 0) == driver.last(CallPartitionsRevoked).partitions
    driver.wait(INTERVAL)
    driver.handle(TransportFailed(driver.heartbeat.number, retriable=True))
    driver.wait(100)

    assert partitions("orders", 0, 1) == driver.member.assignment
    assert {ORDERS: (0, 1)} == driver.request.topic_partitions


def test_partitions_that_return_after_a_revocation_are_announced_again() -> None:
    driver = given(stable(), {ORDERS: [1]})
    driver.handle(Poll())
    driver.call_back()
    driver.handle(CallbackFailed(driver.last(CallPartitionsAssigned).number))
    assert partitions("orders", 1) == driver.member.assignment
    given(driver, {ORDERS: [0, 1]})
    driver.handle(Poll())

    assert partitions("orders", 0) == driver.last(CallPartitionsAssigned).partitions
    assert partitions("orders", 0, 1) == driver.member.assignment
