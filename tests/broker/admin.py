"""Requests other than heartbeats that tests send to a broker: topics, coordinators, descriptions of groups, commits."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from kio.schema.consumer_group_describe.v1 import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from kio.schema.consumer_group_describe.v1.response import Assignment
from kio.schema.create_partitions.v3 import CreatePartitionsRequest, CreatePartitionsResponse
from kio.schema.create_partitions.v3.request import CreatePartitionsTopic
from kio.schema.create_topics.v7 import CreateTopicsRequest, CreateTopicsResponse
from kio.schema.create_topics.v7.request import CreatableTopic
from kio.schema.delete_topics.v6 import DeleteTopicsRequest, DeleteTopicsResponse
from kio.schema.delete_topics.v6.request import DeleteTopicState
from kio.schema.describe_groups.v5 import DescribeGroupsRequest, DescribeGroupsResponse
from kio.schema.describe_groups.v5.response import DescribedGroup as DescribedClassicGroup
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v6 import FindCoordinatorRequest, FindCoordinatorResponse
from kio.schema.metadata.v13 import MetadataRequest, MetadataResponse
from kio.schema.metadata.v13.request import MetadataRequestTopic
from kio.schema.offset_commit.v10 import OffsetCommitRequest, OffsetCommitResponse
from kio.schema.offset_commit.v10.request import OffsetCommitRequestPartition, OffsetCommitRequestTopic
from kio.schema.offset_fetch.v10 import OffsetFetchRequest, OffsetFetchResponse
from kio.schema.offset_fetch.v10.request import OffsetFetchRequestGroup, OffsetFetchRequestTopics
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i16, i32, i64

from assignor import TopicPartition
from assignor.member import HeartbeatRequest, HeartbeatResponse
from assignor.member.messages import JOIN_EPOCH, LEAVE_EPOCH
from assignor.offsets import coordinator_partition
from tests.broker.connection import Connection, milliseconds
from tests.broker.heartbeat import ConsumerGroupHeartbeatResponse, from_wire, to_wire

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

_NOT_YET = {
    ErrorCode.coordinator_not_available,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.not_coordinator,
}
_WAIT = milliseconds(10_000)
_OFFSETS = "__consumer_offsets"


class RequestError(Exception):
    """Response with an error code."""

    def __init__(self, code: ErrorCode, message: str | None = None) -> None:
        super().__init__(f"{code.name}: {message}")
        self.code = code


@dataclass(frozen=True, slots=True)
class DescribedMember:
    """Coordinator's description of a member.

    Attributes:
        ordered_target: The target in the order of the coordinator's hash table.
    """

    epoch: int
    instance_id: str | None
    assigned: frozenset[TopicPartition]
    ordered_target: tuple[TopicPartition, ...]

    @property
    def target(self) -> frozenset[TopicPartition]:
        """Target assignment."""
        return frozenset(self.ordered_target)


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """Coordinator's description of a group."""

    state: str
    epoch: int
    assignor: str
    members: Mapping[str, DescribedMember] = field(default_factory=dict)


class Admin:
    """Admin client with one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def create_topics(self, counts: Mapping[str, int]) -> dict[str, UUID]:
        """Create topics with the given partition counts, wait until the broker has them, and return their ids."""
        request = CreateTopicsRequest(
            topics=tuple(
                CreatableTopic(
                    name=TopicName(name),
                    num_partitions=i32(count),
                    replication_factor=i16(1),
                    assignments=(),
                    configs=(),
                )
                for name, count in counts.items()
            ),
            timeout=_WAIT,
        )
        for answer in self._connection.ask(request, CreateTopicsResponse).topics:
            _check(answer.error_code, answer.error_message)
        self._until_known(counts)
        return self.topic_ids(counts)

    def grow_topic(self, name: str, count: int) -> None:
        """Grow a topic to a partition count."""
        request = CreatePartitionsRequest(
            topics=(CreatePartitionsTopic(name=TopicName(name), count=i32(count), assignments=None),),
            timeout=_WAIT,
            validate_only=False,
        )
        for answer in self._connection.ask(request, CreatePartitionsResponse).results:
            _check(answer.error_code, answer.error_message)
        self._until_known({name: count})

    def delete_topics(self, names: Collection[str]) -> None:
        """Delete topics."""
        request = DeleteTopicsRequest(
            topics=tuple(DeleteTopicState(name=TopicName(name), topic_id=None) for name in names), timeout=_WAIT
        )
        for answer in self._connection.ask(request, DeleteTopicsResponse).responses:
            _check(answer.error_code, answer.error_message)

    def partition_counts(self, names: Iterable[str]) -> dict[str, int]:
        """Return, for each existing topic, the number of partitions that have a leader."""
        answer = self._connection.ask(names_request(names), MetadataResponse)
        return {
            str(topic.name): sum(partition.error_code == ErrorCode.none for partition in topic.partitions)
            for topic in answer.topics
            if topic.error_code == ErrorCode.none
        }

    def topic_ids(self, names: Iterable[str]) -> dict[str, UUID]:
        """Return the ids of the existing topics."""
        answer = self._connection.ask(names_request(names), MetadataResponse)
        return {name: topic_id for topic_id, name in names_by_id(answer).items()}

    def await_coordinator(self, group_id: str, timeout: float = 60) -> None:
        """Wait until the group has a coordinator that has loaded its state."""
        self._until_coordinated(lambda: self.find_coordinator(group_id), timeout)
        self._until_coordinated(lambda: self.describe(group_id), timeout)

    def await_coordinators(self) -> None:
        """Wait until every group has a coordinator that has loaded its state."""
        for number in range(8):  # names in both coordinator partitions
            self.await_coordinator(f"any-{number}")

    def await_topics(
        self, group_id: str, counts: Mapping[str, int], ids: Mapping[str, UUID], timeout: float = 60
    ) -> None:
        """Wait until the coordinator of a group sees topics with these partition counts; 0 if a topic is deleted.

        Clients see a change of a topic before the coordinator. So a member joins and leaves another group with the same
        coordinator partition, until it is assigned all partitions.
        """
        expected = {ids[name]: list(range(count)) for name, count in counts.items() if count}
        other = self._beside(group_id, "sees-topics")
        end = time.monotonic() + timeout
        while (found := self._assigned_alone(other, counts)) != expected:
            if time.monotonic() > end:
                raise TimeoutError(f"the coordinator does not see {dict(counts)} after {timeout} s, but {found}")
            time.sleep(0.005)

    def await_patterns(self, group_id: str, topic: str, timeout: float = 60) -> None:
        """Wait until the coordinator of a group has resolved the patterns that earlier heartbeats made it resolve.

        Neither responses nor descriptions show this. So the first member of a new group with the same coordinator
        partition subscribes by pattern, until it is assigned partitions: the coordinator's only background thread
        resolves the patterns of all groups in order.

        Args:
            group_id: The group.
            topic: An existing topic.
            timeout: Limit in seconds.
        """
        other, member = self._beside(group_id, f"sees-patterns-{uuid4()}"), str(uuid4())
        join = HeartbeatRequest(
            other,
            member,
            JOIN_EPOCH,
            rebalance_timeout_ms=5_000,
            subscribed_topic_names=(),
            subscribed_topic_regex=topic,
            topic_partitions={},
        )
        answer = self._heartbeat(join)
        end = time.monotonic() + timeout
        while not answer.assignment:
            if time.monotonic() > end:
                raise TimeoutError(f"the coordinator has not resolved the pattern {topic!r} after {timeout} s")
            answer = self._heartbeat(HeartbeatRequest(other, member, answer.member_epoch))
        self._heartbeat(HeartbeatRequest(other, member, LEAVE_EPOCH))

    def _beside(self, group_id: str, prefix: str) -> str:
        """Return the name of another group with the same coordinator partition."""
        number = self.partition_counts([_OFFSETS])[_OFFSETS]
        place = coordinator_partition(group_id, number)
        candidates = (f"{prefix}-{index}" for index in itertools.count())
        return next(name for name in candidates if coordinator_partition(name, number) == place)

    def _heartbeat(self, request: HeartbeatRequest) -> HeartbeatResponse:
        answer = from_wire(self._connection.ask(to_wire(request), ConsumerGroupHeartbeatResponse))
        assert 0 == answer.error_code, answer
        return answer

    def _assigned_alone(self, group_id: str, topics: Iterable[str]) -> dict[UUID, list[int]]:
        """Return the partitions that the only member of a group is assigned when it joins."""
        member = str(uuid4())
        join = HeartbeatRequest(
            group_id,
            member,
            JOIN_EPOCH,
            rebalance_timeout_ms=5_000,
            subscribed_topic_names=tuple(sorted(topics)),
            topic_partitions={},
        )
        answer = self._heartbeat(join)
        self._heartbeat(HeartbeatRequest(group_id, member, LEAVE_EPOCH))
        return {topic_id: sorted(partitions) for topic_id, partitions in (answer.assignment or {}).items()}

    def find_coordinator(self, group_id: str) -> tuple[str, int]:
        """Return host and port of the group's coordinator."""
        answer = self._connection.ask(coordinator_request(group_id), FindCoordinatorResponse).coordinators[0]
        _check(answer.error_code, answer.error_message)
        return answer.host, int(answer.port)

    def describe(self, group_id: str) -> DescribedGroup:
        """Return the coordinator's description of a group."""
        request = ConsumerGroupDescribeRequest(group_ids=(GroupId(group_id),), include_authorized_operations=False)
        group = self._connection.ask(request, ConsumerGroupDescribeResponse).groups[0]
        _check(group.error_code, group.error_message)
        members = {
            member.member_id: DescribedMember(
                int(member.member_epoch),
                member.instance_id,
                frozenset(_partitions(member.assignment)),
                _partitions(member.target_assignment),
            )
            for member in group.members
        }
        return DescribedGroup(group.group_state, int(group.group_epoch), group.assignor_name, members)

    def describe_classic(self, group_id: str) -> DescribedClassicGroup:
        """Return the coordinator's description of a group of the classic protocol."""
        request = DescribeGroupsRequest(groups=(GroupId(group_id),), include_authorized_operations=False)
        group = self._connection.ask(request, DescribeGroupsResponse).groups[0]
        _check(group.error_code, None)
        return group

    def commit(
        self, group_id: str, offsets: Mapping[UUID, Mapping[int, int]], member_id: str = "", epoch: int = -1
    ) -> set[ErrorCode]:
        """Commit offsets by topic id and partition, and return the error codes of the response."""
        answer = self._connection.ask(commit_request(group_id, offsets, member_id, epoch), OffsetCommitResponse)
        return {partition.error_code for topic in answer.topics for partition in topic.partitions}

    def committed(self, group_id: str, ids: Mapping[str, UUID], counts: Mapping[str, int]) -> dict[TopicPartition, int]:
        """Return the committed offsets of a group in topics with the given partition counts."""
        wanted = tuple(
            OffsetFetchRequestTopics(topic_id=ids[name], partition_indexes=tuple(map(i32, range(count))))
            for name, count in counts.items()
        )
        group = OffsetFetchRequestGroup(group_id=GroupId(group_id), topics=wanted)
        answer = self._connection.ask(OffsetFetchRequest(groups=(group,)), OffsetFetchResponse).groups[0]
        _check(answer.error_code, None)
        names = {topic_id: name for name, topic_id in ids.items()}
        return {
            TopicPartition(names[topic.topic_id], int(partition.partition_index)): int(partition.committed_offset)
            for topic in answer.topics
            if topic.topic_id is not None
            for partition in topic.partitions
            if partition.committed_offset >= 0
        }

    def _until_coordinated(self, question: Callable[[], object], timeout: float) -> None:
        end = time.monotonic() + timeout
        while True:
            try:
                question()
            except RequestError as error:
                if error.code == ErrorCode.group_id_not_found:
                    return
                if error.code not in _NOT_YET or time.monotonic() > end:
                    raise
                time.sleep(0.02)
            else:
                return

    def _until_known(self, counts: Mapping[str, int], timeout: float = 60) -> None:
        end = time.monotonic() + timeout
        while self.partition_counts(counts) != dict(counts):
            if time.monotonic() > end:
                raise TimeoutError(f"the broker does not have the topics {dict(counts)} after {timeout} s")
            time.sleep(0.02)


def names_request(names: Iterable[str]) -> MetadataRequest:
    """Return a Metadata request for topics by name."""
    return _metadata_request(tuple(MetadataRequestTopic(topic_id=None, name=TopicName(name)) for name in names))


def ids_request(ids: Iterable[UUID]) -> MetadataRequest:
    """Return a Metadata request for topics by id."""
    return _metadata_request(tuple(MetadataRequestTopic(topic_id=topic_id, name=None) for topic_id in ids))


def names_by_id(answer: MetadataResponse) -> dict[UUID, str]:
    """Return the topic names in a response by topic id."""
    return {
        topic.topic_id: str(topic.name)
        for topic in answer.topics
        if topic.error_code == ErrorCode.none and topic.topic_id is not None
    }


def coordinator_request(group_id: str) -> FindCoordinatorRequest:
    """Return a FindCoordinator request for a group."""
    return FindCoordinatorRequest(coordinator_keys=(group_id,))


def commit_request(
    group_id: str, offsets: Mapping[UUID, Mapping[int, int]], member_id: str, epoch: int, instance_id: str | None = None
) -> OffsetCommitRequest:
    """Return an OffsetCommit request for offsets by topic id and partition."""
    return OffsetCommitRequest(
        group_id=GroupId(group_id),
        generation_id_or_member_epoch=i32(epoch),
        member_id=member_id,
        group_instance_id=instance_id,
        topics=tuple(
            OffsetCommitRequestTopic(
                topic_id=topic_id,
                partitions=tuple(
                    OffsetCommitRequestPartition(
                        partition_index=i32(partition), committed_offset=i64(offset), committed_metadata=""
                    )
                    for partition, offset in by_partition.items()
                ),
            )
            for topic_id, by_partition in offsets.items()
        ),
    )


def _metadata_request(topics: tuple[MetadataRequestTopic, ...]) -> MetadataRequest:
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=False)


def _partitions(assignment: Assignment) -> tuple[TopicPartition, ...]:
    return tuple(
        TopicPartition(str(topic.topic_name), int(partition))
        for topic in assignment.topic_partitions
        for partition in topic.partitions
    )


def _check(code: ErrorCode, message: str | None) -> None:
    if code != ErrorCode.none:
        raise RequestError(code, message)
