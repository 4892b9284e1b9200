"""Committed offsets: who may commit what, how long offsets are kept, and when groups are deleted."""

from __future__ import annotations

import pytest

from assignor import PartitionInfo, TopicPartition
from assignor.coordinator import (
    Coordinator,
    CoordinatorConfig,
    DeleteGroupResponse,
    ErrorCode,
    JoinGroupRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetToCommit,
)
from tests.coordinator.driver import AT_ONCE, GROUP, RANGE, GroupDriver

DAY = 24 * 60 * 60 * 1000
CHECK = AT_ONCE.offsets_retention_check_interval_ms
T0 = TopicPartition("t0", 0)


def kept(driver: GroupDriver) -> list[TopicPartition]:
    """Return the partitions that have an offset."""
    return list(driver.coordinator.committed(GROUP))


def exists(driver: GroupDriver) -> bool:
    """Return True if the group exists."""
    return GROUP in driver.coordinator.groups()


def test_offsets_and_their_group_expire_seven_days_after_the_group_became_empty() -> None:
    driver = GroupDriver.begin()
    driver.settle("a")
    driver.commit("a", 5)
    driver.now = 5_000
    driver.leave("a")
    driver.wait(7 * DAY - 1)
    assert ([T0], True) == (kept(driver), exists(driver))

    driver.wait(CHECK)

    assert ([], False) == (kept(driver), exists(driver))
    assert [None, None] == [value for _, value in driver.log[-2:]]


def test_offsets_of_a_consumer_outside_the_group_expire_seven_days_after_the_commit() -> None:
    driver = GroupDriver.begin()
    driver.commit("", 5)
    driver.now = 4 * DAY
    driver.commit("", 6, partition=1)
    driver.wait(3 * DAY + CHECK)
    assert [TopicPartition("t0", 1)] == kept(driver)

    driver.wait(4 * DAY)

    assert not exists(driver)


def test_offsets_of_subscribed_topics_of_a_stable_group_do_not_expire() -> None:
    driver = GroupDriver.begin(CoordinatorConfig(initial_rebalance_delay_ms=0, max_session_timeout_ms=20 * DAY))
    driver.join("a", session_timeout_ms=20 * DAY)
    driver.sync("a")
    driver.commit("a", 5)
    driver.commit("a", 5, "other")

    driver.wait(8 * DAY)

    assert [T0] == kept(driver)
    assert "Stable" == driver.state()


def test_offsets_do_not_expire_while_subscriptions_are_unreadable() -> None:
    driver = GroupDriver.begin(CoordinatorConfig(initial_rebalance_delay_ms=0, max_session_timeout_ms=20 * DAY))
    driver.join("a", session_timeout_ms=20 * DAY, protocols=(("range", b""),))
    driver.sync("a")
    driver.commit("a", 5, "other")

    driver.wait(8 * DAY)

    assert [TopicPartition("other", 0)] == kept(driver)


def test_offsets_of_other_protocol_types_do_not_expire_while_there_are_members() -> None:
    driver = GroupDriver.begin(CoordinatorConfig(initial_rebalance_delay_ms=0, max_session_timeout_ms=20 * DAY))
    driver.join("a", session_timeout_ms=20 * DAY, protocol_type="connect")
    driver.sync("a")
    driver.commit("a", 5, "other")

    driver.wait(8 * DAY)

    assert [TopicPartition("other", 0)] == kept(driver)


def test_an_empty_group_without_offsets_is_deleted_at_the_next_check() -> None:
    driver = GroupDriver.begin()
    driver.settle("a")
    driver.leave("a")
    assert exists(driver)

    driver.wait(CHECK)

    assert not exists(driver)
    assert driver.coordinator.next_deadline() is None


@pytest.mark.parametrize("step", [CHECK, 7 * CHECK + 1, 4 * DAY])
def test_one_long_wait_deletes_what_many_short_ones_do(step: int) -> None:
    """Offsets that expire at different times are deleted by the same searches."""

    def deletions(steps: list[int]) -> list[object]:
        driver = GroupDriver.begin()
        found: list[object] = []
        for partition, wait in enumerate([0, 3 * CHECK // 2, 2 * DAY]):
            driver.wait(wait)
            driver.commit("", 5 + partition, partition=partition)
        for wait in steps:
            found += [write.records for write in driver.wait(wait).writes]
        return found

    found = deletions([12 * DAY])

    assert len(found) == 3
    assert found == deletions([step] * (12 * DAY // step) + [12 * DAY % step])


@pytest.mark.parametrize("confirm_writes", [False, True])
def test_a_wait_until_the_last_time_ends(confirm_writes: bool) -> None:
    driver = GroupDriver.begin(confirm_writes=confirm_writes)
    driver.commit("", 5)

    effects = driver.coordinator.expire(2**63 - 1)

    assert exists(driver) is confirm_writes
    assert len(effects.writes) == (0 if confirm_writes else 1)


def test_an_offset_with_a_retention_time_expires_after_that_time() -> None:
    driver = GroupDriver.begin()
    driver.commit("", 5, retention_time_ms=1_000, version=2)
    driver.commit("", 5, partition=1)

    driver.wait(CHECK)

    assert [TopicPartition("t0", 1)] == kept(driver)


@pytest.mark.parametrize(("version", "code"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_commit_with_a_generation_requires_the_group(version: int, code: ErrorCode) -> None:
    driver = GroupDriver.begin()

    assert code is driver.commit("a", 5, generation_id=1, member_id="a-1", version=version)
    assert not exists(driver)


def test_too_long_metadata_fails_only_its_partition() -> None:
    driver = GroupDriver.begin()
    long = AT_ONCE.offset_metadata_max_size
    offsets = [
        OffsetToCommit("t0", 0, 1, "x" * (long + 1)),
        OffsetToCommit("t0", 1, 1, "x" * long),
        OffsetToCommit("t0", 2, 1, "\U0001f600" * (long // 2 + 1)),
    ]

    driver.commit("a", 0, offsets=offsets, member_id="", generation_id=-1)

    codes = [each.error_code for each in driver.answers["a", "commit"].partitions]  # type: ignore[union-attr]  # a commit's
    assert [ErrorCode.OFFSET_METADATA_TOO_LARGE, ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE] == codes
    assert [TopicPartition("t0", 1)] == kept(driver)


def test_an_empty_commit_creates_no_group() -> None:
    driver = GroupDriver.begin()

    driver.collect(driver.coordinator.offset_commit(OffsetCommitRequest(GROUP), 0, ("a", "commit")))

    assert () == driver.answers["a", "commit"].partitions  # type: ignore[union-attr]  # a commit response has them
    assert not exists(driver)


def test_a_group_with_an_empty_id_stores_offsets() -> None:
    driver = GroupDriver.begin()
    effects = driver.coordinator.offset_commit(OffsetCommitRequest("", [OffsetToCommit("t0", 0, 5)]), 0)

    assert ErrorCode.NONE is effects.answers[0].response.partitions[0].error_code  # type: ignore[union-attr]  # a commit's
    assert [T0] == list(driver.coordinator.committed(""))


def delete(driver: GroupDriver) -> ErrorCode:
    """Delete the group; return the error code of the answer."""
    effects = driver.collect(driver.coordinator.delete_group(GROUP, driver.now, ("admin", "delete")))
    response = effects.answers[0].response
    assert isinstance(response, DeleteGroupResponse)
    return response.error_code


def test_only_an_empty_group_can_be_deleted() -> None:
    driver = GroupDriver.begin()
    assert ErrorCode.GROUP_ID_NOT_FOUND is delete(driver)
    driver.settle("a")
    driver.commit("a", 5)
    assert ErrorCode.NON_EMPTY_GROUP is delete(driver)
    driver.leave("a")

    assert ErrorCode.NONE is delete(driver)
    assert not exists(driver)
    assert [None, None] == [value for _, value in driver.log[-2:]]


def test_pending_member_ids_are_removed_with_their_group() -> None:
    driver = GroupDriver.begin()
    driver.coordinator.join_group(JoinGroupRequest(GROUP, protocols=RANGE), 0)
    assert ErrorCode.NONE is delete(driver)

    assert driver.coordinator.next_deadline() is None


# ---- a coordinator that knows the topics rejects offsets of missing partitions, and stores the others

TOPICS = [{"orders": 2}, {"orders": [0, 1]}, {"orders": [PartitionInfo(0), PartitionInfo(1)]}]
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("topics", TOPICS)
def test_offsets_of_missing_partitions_are_rejected(topics: dict[str, int | list[int]]) -> None:
    coordinator = Coordinator(partitions_per_topic=topics)
    asked = [("orders", 2), ("orders", 1), ("orders", -1), ("clicks", 0)]
    offsets = tuple(OffsetToCommit(topic, partition, 17) for topic, partition in asked)
    (answer,) = coordinator.offset_commit(OffsetCommitRequest("g", offsets), 0).answers
    assert isinstance(answer.response, OffsetCommitResponse)
    assert [
        ("orders", 2, UNKNOWN),
        ("orders", -1, UNKNOWN),
        ("orders", 1, ErrorCode.NONE),
        ("clicks", 0, UNKNOWN),
    ] == list(answer.response.partitions)
    assert [TopicPartition("orders", 1)] == list(coordinator.committed("g"))


def test_a_commit_of_missing_partitions_only_does_not_reach_the_group() -> None:
    coordinator = Coordinator(partitions_per_topic={"orders": 2})
    request = OffsetCommitRequest("g", (OffsetToCommit("orders", 2, 17),), generation_id=5)
    (answer,) = coordinator.offset_commit(request, 0).answers
    assert isinstance(answer.response, OffsetCommitResponse)
    assert [UNKNOWN] == [each.error_code for each in answer.response.partitions]
    assert () == coordinator.groups()


def test_a_failed_write_fails_only_the_existing_partitions() -> None:
    coordinator = Coordinator(partitions_per_topic={"orders": 2}, confirm_writes=True)
    asked = (OffsetToCommit("orders", 1, 17), OffsetToCommit("orders", 2, 17))
    (write,) = coordinator.offset_commit(OffsetCommitRequest("g", asked), 0).writes
    (answer,) = coordinator.write_failed(write.number, 19, 0).answers
    assert isinstance(answer.response, OffsetCommitResponse)
    assert [
        ("orders", 2, UNKNOWN),
        ("orders", 1, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ] == list(answer.response.partitions)


def test_without_topics_any_partition_is_accepted() -> None:
    coordinator = Coordinator()
    coordinator.offset_commit(OffsetCommitRequest("g", (OffsetToCommit("orders", 99, 17),)), 0)
    assert [TopicPartition("orders", 99)] == list(coordinator.committed("g"))
