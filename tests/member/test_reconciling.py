"""How a member turns what it has into what it was given: names, commit, callbacks, acknowledgement."""

from __future__ import annotations

from uuid import UUID

import pytest

from assignor import TopicPartition
from assignor.member.effects import (
    CallPartitionsAssigned,
    CallPartitionsLost,
    CallPartitionsRevoked,
    Commit,
    PauseFetching,
    ReleaseAssignment,
    RequestMetadata,
    SendHeartbeat,
)
from assignor.member.events import (
    CallbackDone,
    CallbackFailed,
    CommitDone,
    CommitFailed,
    MetadataArrived,
    Poll,
    TransportFailed,
)
from tests.member.driver import CLICKS, INTERVAL, ORDERS, Driver, joining, partitions, reconciling, stable

UNKNOWN, LATE = UUID(int=8), UUID(int=9)


def given(driver: Driver, assignment: dict[UUID, list[int]], epoch: int = 2) -> Driver:
    """The member, after its next heartbeat was answered with an assignment."""
    driver.wait(INTERVAL)
    driver.send()
    driver.effects.clear()
    driver.respond(epoch, assignment)
    return driver


def kinds(driver: Driver) -> list[str]:
    return [type(effect).__name__ for effect in driver.effects]


# ---- the order of things


def test_what_is_only_added_needs_no_poll() -> None:
    driver = given(stable(), {ORDERS: [0, 1], CLICKS: [4]})

    new, all_of_it = partitions("clicks", 4), partitions("clicks", 4) + partitions("orders", 0, 1)
    assert [CallPartitionsAssigned(2, new, all_of_it)] == driver.effects
    assert all_of_it == driver.member.assignment


def test_revoking_waits_for_a_poll_and_comes_before_assigning() -> None:
    driver = given(stable(), {ORDERS: [1], CLICKS: [0]})
    assert [] == driver.effects

    gone = partitions("orders", 0)
    assert [PauseFetching(gone), CallPartitionsRevoked(2, gone)] == driver.hand(Poll())
    assert partitions("orders", 0, 1) == driver.member.assignment
    (assigned,) = driver.call_back()
    assert CallPartitionsAssigned(3, partitions("clicks", 0), driver.member.assignment) == assigned
    assert partitions("clicks", 0) + partitions("orders", 1) == driver.member.assignment
    (heartbeat,) = driver.call_back()
    assert isinstance(heartbeat, SendHeartbeat)
    assert (2, {ORDERS: (1,), CLICKS: (0,)}) == (heartbeat.request.member_epoch, heartbeat.request.topic_partitions)


def test_a_commit_comes_before_the_callbacks_even_if_it_fails() -> None:
    for answer in (CommitDone, CommitFailed):
        driver = given(stable(auto_commit=True), {ORDERS: [0]})
        driver.hand(Poll())

        assert ["PauseFetching", "Commit"] == kinds(driver)
        commit = driver.last(Commit)
        assert driver.now + 300_000 == commit.deadline
        driver.hand(answer(commit.number))
        assert ["PauseFetching", "Commit", "CallPartitionsRevoked"] == kinds(driver)


def test_with_commits_even_what_is_only_added_waits_for_a_poll() -> None:
    driver = given(stable(auto_commit=True), {ORDERS: [0, 1, 2]})
    assert [] == driver.effects

    driver.hand(Poll())
    assert ["Commit"] == kinds(driver)


def test_a_commit_that_does_not_come_back_is_given_up_at_its_deadline() -> None:
    driver = given(stable(auto_commit=True), {ORDERS: [0]})
    driver.hand(Poll())
    commit = driver.last(Commit)
    driver.send()
    while driver.now < commit.deadline:
        driver.hand(Poll())
        driver.wait(INTERVAL)
        driver.send()
        driver.respond(2)

    assert partitions("orders", 1) == driver.last(CallPartitionsRevoked).partitions
    assert [] == driver.hand(CommitDone(commit.number))


def test_nothing_new_is_told_with_no_partitions() -> None:
    driver = given(stable(), {ORDERS: [0]})
    driver.hand(Poll())
    driver.call_back()

    assert CallPartitionsAssigned(3, (), partitions("orders", 0)) == driver.last(CallPartitionsAssigned)


def test_the_same_assignment_again_changes_nothing() -> None:
    driver = given(stable(), {ORDERS: [1, 0]})

    assert [] == driver.effects
    assert ("STABLE", 2) == (driver.state, driver.member.epoch)


def test_an_answer_without_assignment_leaves_everything_as_it_is() -> None:
    driver = reconciling()
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(3)

    assert ("RECONCILING", 3) == (driver.state, driver.member.epoch)


def test_an_assignment_that_comes_meanwhile_is_reconciled_next() -> None:
    driver = reconciling()
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(2, {ORDERS: [0, 1, 2]})
    driver.call_back()
    driver.send()

    assert "RECONCILING" == driver.state
    assert partitions("orders", 2) == driver.last(CallPartitionsAssigned).partitions


def test_what_may_be_taken_before_the_answer_comes_is_claimed_already() -> None:
    driver = given(stable(), {ORDERS: [0, 1, 2]})  # 2 is being taken, its callback at work
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(3, {ORDERS: [0], CLICKS: [5]})
    driver.wait(INTERVAL)
    driver.hand(TransportFailed(driver.heartbeat.number, retriable=True))
    driver.wait(100)

    assert {ORDERS: (0, 1, 2), CLICKS: (5,)} == driver.request.topic_partitions


def test_what_is_given_up_is_claimed_no_more() -> None:
    driver = given(stable(), {ORDERS: [1]})
    driver.hand(Poll())
    driver.call_back()
    driver.call_back()

    assert {ORDERS: (1,)} == driver.request.topic_partitions


# ---- what ends it


def test_being_fenced_ends_it_and_its_callback_means_nothing_any_more() -> None:
    driver = given(stable(), {ORDERS: [0]})
    driver.hand(Poll())
    revoked = driver.last(CallPartitionsRevoked).number
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=25)
    lost = driver.last(CallPartitionsLost)
    assert partitions("orders", 0, 1) == lost.partitions

    assert [] == driver.hand(CallbackDone(revoked))
    released = driver.hand(CallbackDone(lost.number))
    assert ["ReleaseAssignment", "SendHeartbeat"] == [type(effect).__name__ for effect in released]
    assert ("JOINING", 0, ()) == (driver.state, driver.member.epoch, driver.member.assignment)


def test_what_began_in_an_earlier_life_does_not_end_in_the_next() -> None:
    driver = given(stable(), {ORDERS: [0]})
    driver.hand(Poll())
    revoked = driver.last(CallPartitionsRevoked).number
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=110)
    driver.hand(CallbackDone(driver.last(CallPartitionsLost).number))
    driver.send()
    driver.respond(5, {ORDERS: [3]})
    assigned = driver.count(CallPartitionsAssigned)

    assert "RECONCILING" == driver.state
    driver.hand(CallbackDone(revoked))  # only now may the next begin: callbacks run one after the other
    assert assigned + 1 == driver.count(CallPartitionsAssigned)
    assert partitions("orders", 3) == driver.last(CallPartitionsAssigned).assignment


# ---- names that are missing


def test_names_are_asked_for_and_the_rest_is_reconciled_meanwhile() -> None:
    driver = joining()
    driver.effects.clear()
    driver.respond(1, {ORDERS: [0], LATE: [0, 1], UNKNOWN: [7]})

    assert [
        RequestMetadata((UNKNOWN, LATE)),
        CallPartitionsAssigned(1, partitions("orders", 0), partitions("orders", 0)),
    ] == driver.effects


def test_what_is_reconciled_in_part_is_acknowledged_once_and_not_over_and_over() -> None:
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
    driver.hand(MetadataArrived({LATE: "late"}))
    assert CallPartitionsAssigned(
        2, partitions("late", 0, 1), partitions("late", 0, 1) + partitions("orders", 0)
    ) == driver.last(CallPartitionsAssigned)


def test_names_that_do_not_come_are_asked_for_again_at_intervals() -> None:
    driver = joining(retry_backoff_max_ms=1000)
    driver.respond(1, {LATE: [0]})
    driver.call_back()
    driver.send()
    driver.respond(1)
    asked = driver.count(RequestMetadata)
    driver.hand(MetadataArrived({}))
    assert asked == driver.count(RequestMetadata)

    driver.wait(1000)
    assert asked + 1 == driver.count(RequestMetadata)


def test_a_topic_that_was_made_anew_under_its_name_is_the_same_to_the_application() -> None:
    driver = given(stable(), {LATE: [0, 1]})
    driver.hand(MetadataArrived({LATE: "orders"}), Poll())

    assert CallPartitionsAssigned(2, (), partitions("orders", 0, 1)) == driver.last(CallPartitionsAssigned)


def test_partitions_come_in_javas_order_of_topics_and_by_id() -> None:
    driver = joining()
    driver.hand(MetadataArrived({UNKNOWN: "\uff5e", LATE: "\U0001f600"}))
    driver.respond(1, {UNKNOWN: [10, 9], LATE: [0], ORDERS: [2]})

    wanted = [("orders", 2), ("\U0001f600", 0), ("\uff5e", 9), ("\uff5e", 10)]
    assert tuple(TopicPartition(*each) for each in wanted) == driver.last(CallPartitionsAssigned).partitions


# ---- callbacks that fail


def test_a_failed_revocation_is_tried_again_at_the_next_poll() -> None:
    driver = given(stable(), {ORDERS: [0]})
    driver.hand(Poll())
    first = driver.last(CallPartitionsRevoked)
    assert [] == driver.hand(CallbackFailed(first.number, "boom"))
    assert "RECONCILING" == driver.state
    assert [] == driver.wait(100)

    driver.hand(Poll())
    assert (first.partitions, first.number + 1) == (
        driver.last(CallPartitionsRevoked).partitions,
        driver.last(CallPartitionsRevoked).number,
    )


def test_partitions_that_were_not_told_well_are_told_again_at_the_next_poll() -> None:
    driver = reconciling()
    first = driver.last(CallPartitionsAssigned)
    assert [] == driver.hand(CallbackFailed(first.number, "boom"))
    assert [] == driver.wait(100)

    driver.hand(Poll())
    again = driver.last(CallPartitionsAssigned)
    assert (first.number + 1, first.partitions) == (again.number, again.partitions)
    driver.call_back()
    assert "ACKNOWLEDGING" == driver.state


def test_a_callback_that_failed_does_not_hold_up_the_next_life() -> None:
    driver = reconciling()
    driver.hand(CallbackFailed(driver.last(CallPartitionsAssigned).number))
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=110)
    driver.call_back()
    driver.send()
    assigned = driver.count(CallPartitionsAssigned)
    driver.respond(2, {ORDERS: [0]})

    assert assigned + 1 == driver.count(CallPartitionsAssigned)


def test_what_was_not_told_well_and_is_taken_away_is_revoked() -> None:
    driver = reconciling()
    driver.hand(CallbackFailed(driver.last(CallPartitionsAssigned).number))
    given(driver, {ORDERS: [1]})
    driver.hand(Poll())

    assert partitions("orders", 0) == driver.last(CallPartitionsRevoked).partitions
    driver.call_back()
    assert partitions("orders", 1) == driver.last(CallPartitionsAssigned).partitions


def test_what_was_not_told_well_is_claimed_until_it_is_given_up() -> None:
    driver = reconciling()
    driver.hand(CallbackFailed(driver.last(CallPartitionsAssigned).number))
    given(driver, {ORDERS: [1]})
    driver.hand(Poll())
    assert partitions("orders", 0) == driver.last(CallPartitionsRevoked).partitions
    driver.wait(INTERVAL)
    driver.hand(TransportFailed(driver.heartbeat.number, retriable=True))
    driver.wait(100)

    assert partitions("orders", 0, 1) == driver.member.assignment
    assert {ORDERS: (0, 1)} == driver.request.topic_partitions


def test_what_comes_back_after_it_was_given_up_is_told_again() -> None:
    driver = given(stable(), {ORDERS: [1]})
    driver.hand(Poll())
    driver.call_back()
    driver.hand(CallbackFailed(driver.last(CallPartitionsAssigned).number))
    assert partitions("orders", 1) == driver.member.assignment
    given(driver, {ORDERS: [0, 1]})
    driver.hand(Poll())

    assert partitions("orders", 0) == driver.last(CallPartitionsAssigned).partitions
    assert partitions("orders", 0, 1) == driver.member.assignment


@pytest.mark.parametrize("failed", [True, False])
def test_losing_partitions_goes_on_even_if_its_callback_fails(failed: bool) -> None:
    driver = stable()
    driver.wait(INTERVAL)
    driver.send()
    driver.respond(error=110)
    number = driver.last(CallPartitionsLost).number
    driver.hand(CallbackFailed(number, "boom") if failed else CallbackDone(number))

    assert "JOINING" == driver.state
    assert 1 == driver.count(ReleaseAssignment)
