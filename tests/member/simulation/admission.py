"""Checks of heartbeats, and the errors with which the coordinator rejects them.

Source: org.apache.kafka.coordinator.group.GroupCoordinatorService (throwIfConsumerGroupHeartbeatRequestIsInvalid) and
GroupMetadataManager (throwIf...), Kafka 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kio.schema.errors import ErrorCode

from assignor.member.messages import JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH

if TYPE_CHECKING:
    from collections.abc import Container

    from assignor.member.messages import HeartbeatRequest
    from tests.member.simulation.consumer_group import ConsumerGroup
    from tests.member.simulation.group_member import GroupMember, Partitions

__all__ = ["RequestError", "check_epoch", "check_instance", "static_member", "unknown_member", "validate"]


class RequestError(Exception):
    """Error code and message with which the coordinator answers a request."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def validate(request: HeartbeatRequest, assignors: Container[str]) -> None:
    """Reject fields that are invalid in any state of the group."""

    def need(condition: object, message: str, code: ErrorCode = ErrorCode.invalid_request) -> None:
        if not condition:
            raise RequestError(code, message)

    need(request.member_id.strip(), "MemberId can't be empty.")
    need(request.group_id.strip(), "GroupId can't be empty.")
    need(request.instance_id is None or request.instance_id.strip(), "InstanceId can't be empty.")
    need(request.rack_id is None or request.rack_id.strip(), "RackId can't be empty.")
    if request.member_epoch == JOIN_EPOCH:
        need(request.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request.")
        owned = request.topic_partitions
        need(owned is not None and not owned, "TopicPartitions must be empty when (re-)joining.")
        subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        need(subscribes, "SubscribedTopicNames or SubscribedTopicRegex must be given when (re-)joining.")
    elif request.member_epoch == LEAVE_STATIC_EPOCH:
        need(request.instance_id is not None, "InstanceId can't be null.")
    else:
        need(request.member_epoch >= LEAVE_EPOCH, "MemberEpoch is invalid.")
    known = request.server_assignor is None or request.server_assignor in assignors
    need(known, f"ServerAssignor {request.server_assignor} is not supported.", ErrorCode.unsupported_assignor)


def static_member(group: ConsumerGroup, request: HeartbeatRequest) -> GroupMember:
    """Return the member with the instance id; raise an error if it does not exist."""
    member_id = group.static_members.get(request.instance_id or "")
    if member_id is None:
        raise RequestError(ErrorCode.unknown_member_id, f"Instance id {request.instance_id} is unknown.")
    return group.members[member_id]


def check_instance(member: GroupMember, request: HeartbeatRequest) -> None:
    """Reject a member if another member now has its instance id."""
    if member.member_id != request.member_id:
        raise RequestError(ErrorCode.fenced_instance_id, f"Fenced by member {member.member_id}.")


def check_epoch(member: GroupMember, epoch: int, owned: Partitions | None) -> None:
    """Reject an epoch other than the member's.

    The previous epoch is valid too if the member reports its partitions, and the member's assignment contains all
    of them. The epoch of a join is always valid.
    """
    late = epoch == member.previous_epoch and owned is not None and owned <= member.assigned
    if epoch not in (JOIN_EPOCH, member.epoch) and not (epoch < member.epoch and late):
        raise RequestError(ErrorCode.fenced_member_epoch, f"Epoch {epoch}, but {member.epoch} is known: rejoin.")


def unknown_member(request: HeartbeatRequest) -> RequestError:
    """Return the error for a member that is not in the group."""
    message = f"Member {request.member_id} is not a member of group {request.group_id}."
    return RequestError(ErrorCode.unknown_member_id, message)
