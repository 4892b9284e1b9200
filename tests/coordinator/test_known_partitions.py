"""A coordinator that knows the topics rejects offsets of missing partitions, and stores the others."""

from __future__ import annotations

import pytest

from assignor import PartitionInfo, TopicPartition
from assignor.coordinator import Coordinator, ErrorCode, OffsetCommitRequest, OffsetCommitResponse, OffsetToCommit

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
