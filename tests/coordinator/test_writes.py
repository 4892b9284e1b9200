"""What depends on a write waits for it: with confirmed writes, and with writes that fail."""

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
"""Errors of a log, and what members are told (`appendGroupMetadataErrorToResponseError`)."""


def stable(**fields: object) -> GroupDriver:
    """A group of one member whose writes are confirmed; two are written."""
    driver = GroupDriver.begin(confirm_writes=True)
    driver.join("a", **fields)
    driver.take(driver.coordinator.written(1, 0))
    driver.sync("a", {"a": b"x"})
    driver.take(driver.coordinator.written(2, 0))
    return driver


def test_a_sync_waits_until_the_assignment_is_written() -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.join("a")

    assert driver.sync("a", {"a": b"x"}) is None
    assert "CompletingRebalance" == driver.state()
    driver.take(driver.coordinator.written(2, 0))
    assert SyncGroupResponse(ErrorCode.NONE, assignment=b"x") == driver.answers["a", "sync"]
    assert "Stable" == driver.state()


@pytest.mark.parametrize(("error", "code"), LOG_ERRORS)
def test_a_sync_is_told_that_the_assignment_was_not_written_and_the_group_rebalances(
    error: int, code: ErrorCode
) -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.join("a")
    driver.sync("a", {"a": b"x"})

    driver.take(driver.coordinator.write_failed(2, error, 0))

    assert SyncGroupResponse(code) == driver.answers["a", "sync"]
    assert "PreparingRebalance" == driver.state()


def test_an_assignment_that_is_written_too_late_is_not_handed_out() -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.join("a")
    driver.sync("a", {"a": b"x"})
    driver.join("b")
    assert SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS) == driver.answers["a", "sync"]

    driver.take(driver.coordinator.written(2, 0))

    assert "PreparingRebalance" == driver.state()
    assert {b""} == {member.assignment for member in driver.coordinator.describe(GROUP).members}


def test_a_commit_counts_once_it_is_written() -> None:
    driver = stable()

    assert driver.commit("a", 5) is None
    assert {} == driver.coordinator.committed(GROUP)
    driver.take(driver.coordinator.written(3, 0))
    assert [TopicPartition("t0", 0)] == list(driver.coordinator.committed(GROUP))


@pytest.mark.parametrize(("error", "code"), LOG_ERRORS)
def test_a_commit_that_was_not_written_is_told_so_and_keeps_what_was(error: int, code: ErrorCode) -> None:
    driver = stable()
    driver.commit("a", 5)
    driver.take(driver.coordinator.written(3, 0))
    driver.commit("a", 6)

    driver.take(driver.coordinator.write_failed(4, error, 0))

    answer = driver.answers["a", "commit"]
    assert [code] == [each.error_code for each in answer.partitions]  # type: ignore[union-attr]  # that of a commit
    assert [5] == [stored.offset for stored in driver.coordinator.committed(GROUP).values()]


def test_a_static_member_gets_its_old_id_back_when_the_new_one_was_not_written() -> None:
    driver = stable(group_instance_id="i", version=5)
    old = driver.ids["a"]
    assert driver.join("a", member_id="", group_instance_id="i", version=5) is None

    driver.take(driver.coordinator.write_failed(3, 19, 0))

    failed = JoinGroupResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE, "", 1, protocol_name="range", leader=old)
    assert failed == driver.answers["a", "join"]
    assert [(old, b"x")] == [(each.member_id, each.assignment) for each in driver.coordinator.describe(GROUP).members]
    assert ErrorCode.NONE is driver.beat("a", group_instance_id="i")
    assert old == driver.coordinator.describe(GROUP).leader


def test_the_last_goodbye_waits_until_it_is_written_that_the_group_is_empty() -> None:
    driver = stable()

    assert driver.leave("a") is None
    driver.take(driver.coordinator.written(3, 0))
    answer = driver.answers["a", "leave"]
    assert isinstance(answer, LeaveGroupResponse)
    assert [ErrorCode.NONE] == [member.error_code for member in answer.members]


def test_a_goodbye_is_told_that_the_empty_group_was_not_written() -> None:
    driver = stable()
    driver.leave("a")

    driver.take(driver.coordinator.write_failed(3, 6, 0))

    assert LeaveGroupResponse(ErrorCode.NOT_COORDINATOR) == driver.answers["a", "leave"]
    assert ["group 'orders': the empty generation 2 could not be written (NOT_COORDINATOR)"] == driver.problems


def test_a_new_group_that_was_not_written_is_gone_and_its_joins_are_told() -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.join("a", version=4)
    joined = driver.coordinator.describe(GROUP).state
    driver.take(driver.coordinator.write_failed(1, 19, 0))

    assert "Empty" == joined.value
    assert "Dead" == driver.state()


def test_a_write_is_confirmed_once() -> None:
    driver = stable()

    with pytest.raises(IllegalStateError, match=r"no write of number 2 waits to be confirmed"):
        driver.coordinator.written(2, 0)


def test_a_coordinator_that_gives_its_groups_up_tells_those_who_wait() -> None:
    driver = GroupDriver.begin()
    driver.settle("a", "b")
    driver.join("a")
    driver.take(driver.coordinator.unload(driver.now))

    answer = driver.answers["a", "join"]
    assert ErrorCode.NOT_COORDINATOR is answer.error_code  # type: ignore[union-attr]  # that of a join has one
    assert "Dead" == driver.state()
    assert ErrorCode.COORDINATOR_NOT_AVAILABLE is driver.beat("b")
    assert ErrorCode.COORDINATOR_NOT_AVAILABLE is driver.commit("b", 5)
    assert driver.coordinator.next_deadline() is None


WAIT_FOR_A_WRITE = (("a", "leave"), ("b", "delete"))
"""Two who are answered once a write is done."""


def test_a_coordinator_that_gives_its_groups_up_tells_those_who_wait_for_a_write() -> None:
    driver = stable()
    driver.commit("a", 5)
    driver.leave("a")
    other = JoinGroupRequest("another", client_id="b", protocols=RANGE)
    driver.take(driver.coordinator.join_group(other, driver.now, ("b", "join")))
    driver.take(driver.coordinator.delete_group("another", driver.now, ("b", "delete")))

    driver.take(driver.coordinator.unload(driver.now))

    errors = [driver.answers[who].error_code for who in WAIT_FOR_A_WRITE]  # type: ignore[union-attr]  # not a commit's
    assert [ErrorCode.NOT_COORDINATOR] * 2 == errors
    (committed,) = driver.answers["a", "commit"].partitions  # type: ignore[union-attr]  # that of a commit
    assert ErrorCode.NOT_COORDINATOR is committed.error_code
    assert ["Dead", "Dead"] == [driver.coordinator.describe(each).state.value for each in (GROUP, "another")]
    assert [] == driver.problems
    assert driver.coordinator.next_deadline() is None


def test_a_static_member_whose_new_id_is_being_written_is_told_once_that_the_groups_are_given_up() -> None:
    driver = stable(group_instance_id="i", version=5)
    driver.join("a", member_id="", group_instance_id="i", version=5)

    effects = driver.take(driver.coordinator.unload(driver.now))

    assert [ErrorCode.NOT_COORDINATOR] == [answer.response.error_code for answer in effects.answers]  # type: ignore[union-attr]  # that of a join has one
    assert driver.coordinator.next_deadline() is None


def committed(driver: GroupDriver) -> list[int]:
    """The offsets of the group."""
    return [stored.offset for stored in driver.coordinator.committed(GROUP).values()]


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1), (2, 3, 1), (2, 1, 3)])
def test_the_commit_that_stands_last_in_the_log_counts_whichever_is_confirmed_first(order: tuple[int, ...]) -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    for offset in (1, 2, 3):
        driver.commit("", offset)

    for number in order:
        driver.take(driver.coordinator.written(number, 0))

    after = GroupDriver.begin()
    after.take(after.coordinator.load(driver.log, 0))
    assert [3] == committed(driver) == committed(after)


def test_a_commit_that_was_being_written_when_its_group_was_deleted_goes_if_its_partition_went_after_it() -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.commit("", 5)
    driver.take(driver.coordinator.written(1, 0))
    driver.commit("", 9)
    driver.take(driver.coordinator.delete_group(GROUP, 0, ("admin", "delete")))

    driver.take(driver.coordinator.written(2, 0))
    driver.take(driver.coordinator.written(3, 0))

    assert [] == committed(driver)


def test_a_group_that_came_back_stays_when_it_is_confirmed_that_the_former_was_deleted_twice() -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.commit("", 5)
    driver.take(driver.coordinator.delete_group(GROUP, 0, ("admin", "delete")))
    driver.take(driver.coordinator.delete_group(GROUP, 0, ("admin", "delete")))
    for number in (1, 2):
        driver.take(driver.coordinator.written(number, 0))
    driver.join("a")

    driver.take(driver.coordinator.written(3, 0))

    assert "CompletingRebalance" == driver.state()
    assert ErrorCode.NONE is driver.beat("a")
    assert [5] == committed(driver)


def test_an_offset_does_not_expire_while_a_newer_one_is_being_written() -> None:
    driver = GroupDriver.begin(confirm_writes=True)
    driver.commit("", 5)
    driver.take(driver.coordinator.written(1, 0))
    driver.now = driver.coordinator.config.offsets_retention_ms - 1
    driver.take(driver.coordinator.expire(driver.now))
    driver.commit("", 9)

    effects = driver.wait(driver.coordinator.config.offsets_retention_check_interval_ms)
    driver.take(driver.coordinator.written(2, driver.now))

    assert () == effects.writes
    assert [9] == committed(driver)


def test_a_static_member_whose_new_id_takes_long_to_be_written_can_expire_afterwards() -> None:
    driver = stable(group_instance_id="i", version=5)
    driver.join("a", member_id="", group_instance_id="i", version=5)
    driver.wait(30_000)

    driver.take(driver.coordinator.written(3, driver.now))

    assert ErrorCode.NONE is driver.answers["a", "join"].error_code  # type: ignore[union-attr]  # that of a join has one
    assert "Stable" == driver.state()
    driver.wait(10_000)
    assert "Empty" == driver.state()


@pytest.mark.parametrize("leaves", [False, True])
def test_a_static_member_that_is_gone_or_came_back_again_does_not_get_its_old_id_back(leaves: bool) -> None:
    driver = stable(group_instance_id="i", version=5)
    driver.join("a", member_id="", group_instance_id="i", version=5)
    if leaves:
        leaving = LeaveGroupRequest(GROUP, (LeavingMember("", "i"),))
        driver.take(driver.coordinator.leave_group(leaving, driver.now, ("admin", "leave")))
    else:
        driver.join("a", member_id="", group_instance_id="i", version=5)

    for number in (3, 4):
        driver.take(driver.coordinator.write_failed(number, 19, 0))

    members = driver.coordinator.describe(GROUP).members
    assert ([] if leaves else ["i-2"]) == [each.member_id for each in members]
    driver.wait(60_000)
    assert "Empty" == driver.state()
