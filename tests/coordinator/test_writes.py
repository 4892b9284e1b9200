"""Answers that depend on a write wait for it, and a failed write fails them."""

from __future__ import annotations

import pytest

from assignor.coordinator import (
    ErrorCode,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeavingMember,
    SyncGroupResponse,
)
from assignor.errors import IllegalStateError
from assignor.model import TopicPartition
from tests.coordinator.driver import GROUP, RANGE, GroupDriver

LOG_ERRORS = [
    (3, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    (6, ErrorCode.NOT_COORDINATOR),
    (7, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    (10, ErrorCode.UNKNOWN_SERVER_ERROR),
    (19, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    (56, ErrorCode.NOT_COORDINATOR),
]
"""Errors of a log, and the errors that members get (`appendGroupMetadataErrorToResponseError`)."""


def stable(**fields: object) -> GroupDriver:
    """Return a Stable group of one member, with confirmed writes; two writes are done."""
    driver = GroupDriver.begin(confirm_writes=True)
    driver.join("a", **fields)
    driver.collect(driver.coordinator.written(1, 0))
    driver.sync("a", {"a": b"x"})
    driver.collect(driver.coordinator.written(2, 0))
    return driver


def test_a_sync_waits_for_the_write_of_the_assignment() -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.join("a")

    assert driver.sync("a", {"a": b"x"}) is None
    assert "CompletingRebalance" == driver.state()
    driver.collect(driver.coordinator.written(2, 0))
    assert SyncGroupResponse(ErrorCode.NONE, assignment=b"x") == driver.answers["a", "sync"]
    assert "Stable" == driver.state()


@pytest.mark.parametrize(("error", "code"), LOG_ERRORS)
def test_a_failed_write_of_the_assignment_fails_the_sync_and_starts_a_rebalance(error: int, code: ErrorCode) -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.join("a")
    driver.sync("a", {"a": b"x"})

    driver.collect(driver.coordinator.write_failed(2, error, 0))

    assert SyncGroupResponse(code) == driver.answers["a", "sync"]
    assert "PreparingRebalance" == driver.state()


def test_an_assignment_that_is_written_too_late_is_dropped() -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.join("a")
    driver.sync("a", {"a": b"x"})
    driver.join("b")
    assert SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS) == driver.answers["a", "sync"]

    driver.collect(driver.coordinator.written(2, 0))

    assert "PreparingRebalance" == driver.state()
    assert {b""} == {member.assignment for member in driver.coordinator.describe(GROUP).members}


def test_an_offset_is_committed_when_it_is_written() -> None:
    driver = stable()

    assert driver.commit("a", 5) is None
    assert {} == driver.coordinator.committed(GROUP)
    driver.collect(driver.coordinator.written(3, 0))
    assert [TopicPartition("t0", 0)] == list(driver.coordinator.committed(GROUP))


@pytest.mark.parametrize(("error", "code"), LOG_ERRORS)
def test_a_failed_write_fails_the_commit_and_keeps_the_previous_offset(error: int, code: ErrorCode) -> None:
    driver = stable()
    driver.commit("a", 5)
    driver.collect(driver.coordinator.written(3, 0))
    driver.commit("a", 6)

    driver.collect(driver.coordinator.write_failed(4, error, 0))

    answer = driver.answers["a", "commit"]
    assert [code] == [each.error_code for each in answer.partitions]  # type: ignore[union-attr]  # a commit response
    assert [5] == [stored.offset for stored in driver.coordinator.committed(GROUP).values()]


def test_a_static_member_keeps_its_old_id_if_the_write_of_the_new_id_fails() -> None:
    driver = stable(group_instance_id="i", version=5)
    old = driver.ids["a"]
    assert driver.join("a", member_id="", group_instance_id="i", version=5) is None

    driver.collect(driver.coordinator.write_failed(3, 19, 0))

    failed = JoinGroupResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE, "", 1, protocol_name="range", leader=old)
    assert failed == driver.answers["a", "join"]
    assert [(old, b"x")] == [(each.member_id, each.assignment) for each in driver.coordinator.describe(GROUP).members]
    assert ErrorCode.NONE is driver.heartbeat("a", group_instance_id="i")
    assert old == driver.coordinator.describe(GROUP).leader


def test_the_last_leave_waits_for_the_write_of_the_empty_generation() -> None:
    driver = stable()

    assert driver.leave("a") is None
    driver.collect(driver.coordinator.written(3, 0))
    answer = driver.answers["a", "leave"]
    assert isinstance(answer, LeaveGroupResponse)
    assert [ErrorCode.NONE] == [member.error_code for member in answer.members]


def test_a_failed_write_of_the_empty_generation_fails_the_leave() -> None:
    driver = stable()
    driver.leave("a")

    driver.collect(driver.coordinator.write_failed(3, 6, 0))

    assert LeaveGroupResponse(ErrorCode.NOT_COORDINATOR) == driver.answers["a", "leave"]
    assert ["group 'orders': the empty generation 2 could not be written (NOT_COORDINATOR)"] == driver.problems


def test_a_new_group_is_discarded_if_its_write_fails() -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.join("a", version=4)
    joined = driver.coordinator.describe(GROUP).state
    driver.collect(driver.coordinator.write_failed(1, 19, 0))

    assert "Empty" == joined.value
    assert "Dead" == driver.state()


def test_a_write_can_be_confirmed_only_once() -> None:
    driver = stable()

    with pytest.raises(IllegalStateError, match=r"write 2 is not waiting for confirmation"):
        driver.coordinator.written(2, 0)


def test_unload_answers_waiting_requests() -> None:
    driver = GroupDriver.begin()
    driver.settle("a", "b")
    driver.join("a")
    driver.collect(driver.coordinator.unload(driver.now))

    answer = driver.answers["a", "join"]
    assert ErrorCode.NOT_COORDINATOR is answer.error_code  # type: ignore[union-attr]  # a join response has one
    assert "Dead" == driver.state()
    assert ErrorCode.COORDINATOR_NOT_AVAILABLE is driver.heartbeat("b")
    assert ErrorCode.COORDINATOR_NOT_AVAILABLE is driver.commit("b", 5)
    assert driver.coordinator.next_deadline() is None


WAIT_FOR_A_WRITE = (("a", "leave"), ("b", "delete"))
"""Two requests whose answers wait for a write."""


def test_unload_answers_requests_that_wait_for_a_write() -> None:
    driver = stable()
    driver.commit("a", 5)
    driver.leave("a")
    other = JoinGroupRequest("another", client_id="b", protocols=RANGE)
    driver.collect(driver.coordinator.join_group(other, driver.now, ("b", "join")))
    driver.collect(driver.coordinator.delete_group("another", driver.now, ("b", "delete")))

    driver.collect(driver.coordinator.unload(driver.now))

    errors = [driver.answers[who].error_code for who in WAIT_FOR_A_WRITE]  # type: ignore[union-attr]  # no commits
    assert [ErrorCode.NOT_COORDINATOR] * 2 == errors
    (committed,) = driver.answers["a", "commit"].partitions  # type: ignore[union-attr]  # a commit response
    assert ErrorCode.NOT_COORDINATOR is committed.error_code
    assert ["Dead", "Dead"] == [driver.coordinator.describe(each).state.value for each in (GROUP, "another")]
    assert [] == driver.problems
    assert driver.coordinator.next_deadline() is None


def test_unload_sends_one_answer_to_a_static_member_whose_new_id_is_not_written() -> None:
    driver = stable(group_instance_id="i", version=5)
    driver.join("a", member_id="", group_instance_id="i", version=5)

    effects = driver.collect(driver.coordinator.unload(driver.now))

    assert [ErrorCode.NOT_COORDINATOR] == [answer.response.error_code for answer in effects.answers]  # type: ignore[union-attr]  # join responses have one
    assert driver.coordinator.next_deadline() is None


def committed(driver: GroupDriver) -> list[int]:
    """Return the committed offsets of the group."""
    return [stored.offset for stored in driver.coordinator.committed(GROUP).values()]


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1), (2, 1, 3)])
def test_the_last_commit_in_the_log_wins_in_any_order_of_confirmations(order: tuple[int, ...]) -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    for offset in (1, 2, 3):
        driver.commit("", offset)

    for number in order:
        driver.collect(driver.coordinator.written(number, 0))

    after = GroupDriver.begin()
    after.collect(after.coordinator.load(driver.log, 0))
    assert [3] == committed(driver) == committed(after)


def test_deleting_a_group_removes_an_offset_that_was_written_before_the_tombstone() -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.commit("", 5)
    driver.collect(driver.coordinator.written(1, 0))
    driver.commit("", 9)
    driver.collect(driver.coordinator.delete_group(GROUP, 0, ("admin", "delete")))

    driver.collect(driver.coordinator.written(2, 0))
    driver.collect(driver.coordinator.written(3, 0))

    assert [] == committed(driver)


def test_a_recreated_group_survives_a_late_confirmation_of_a_second_deletion() -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.commit("", 5)
    driver.collect(driver.coordinator.delete_group(GROUP, 0, ("admin", "delete")))
    driver.collect(driver.coordinator.delete_group(GROUP, 0, ("admin", "delete")))
    for number in (1, 2):
        driver.collect(driver.coordinator.written(number, 0))
    driver.join("a")

    driver.collect(driver.coordinator.written(3, 0))

    assert "CompletingRebalance" == driver.state()
    assert ErrorCode.NONE is driver.heartbeat("a")
    assert [5] == committed(driver)


def test_an_offset_does_not_expire_while_a_newer_one_is_written() -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.commit("", 5)
    driver.collect(driver.coordinator.written(1, 0))
    driver.now = driver.coordinator.config.offsets_retention_ms - 1
    driver.collect(driver.coordinator.expire(driver.now))
    driver.commit("", 9)

    effects = driver.wait(driver.coordinator.config.offsets_retention_check_interval_ms)
    driver.collect(driver.coordinator.written(2, driver.now))

    assert () == effects.writes
    assert [9] == committed(driver)


def test_a_static_member_can_expire_after_a_slow_write_of_its_new_id() -> None:
    driver = stable(group_instance_id="i", version=5)
    driver.join("a", member_id="", group_instance_id="i", version=5)
    driver.wait(30_000)

    driver.collect(driver.coordinator.written(3, driver.now))

    assert ErrorCode.NONE is driver.answers["a", "join"].error_code  # type: ignore[union-attr]  # a join response
    assert "Stable" == driver.state()
    driver.wait(10_000)
    assert "Empty" == driver.state()


@pytest.mark.parametrize("leaves", [False, True])
def test_a_static_member_that_left_or_returned_again_does_not_get_its_old_id_back(leaves: bool) -> None:
    driver = stable(group_instance_id="i", version=5)
    driver.join("a", member_id="", group_instance_id="i", version=5)
    if leaves:
        leaving = LeaveGroupRequest(GROUP, (LeavingMember("", "i"),))
        driver.collect(driver.coordinator.leave_group(leaving, driver.now, ("admin", "leave")))
    else:
        driver.join("a", member_id="", group_instance_id="i", version=5)

    for number in (3, 4):
        driver.collect(driver.coordinator.write_failed(number, 19, 0))

    members = driver.coordinator.describe(GROUP).members
    assert ([] if leaves else ["i-2"]) == [each.member_id for each in members]
    driver.wait(60_000)
    assert "Empty" == driver.state()
