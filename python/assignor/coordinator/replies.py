"""How answers are put together: which fields a failure has, and which of them a version of the request carries.

Source: GroupMetadataManager, kafka-group-coordinator 4.3.1, and JoinGroupResponse and KafkaApis, Kafka 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.coordinator.error_codes import ErrorCode
from assignor.coordinator.group import BrokenGroupError
from assignor.coordinator.requests import HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest, SyncGroupRequest
from assignor.coordinator.responses import (
    DescribedMember,
    GroupDescription,
    HeartbeatResponse,
    JoinGroupMember,
    JoinGroupResponse,
    LeaveGroupResponse,
    OffsetCommitResponse,
    PartitionResponse,
    SyncGroupResponse,
)
from assignor.coordinator.state import GroupState

if TYPE_CHECKING:
    from assignor.coordinator.group import ClassicGroup, GroupMember
    from assignor.coordinator.outbox import Asked
    from assignor.coordinator.requests import Request
    from assignor.coordinator.responses import Response

__all__ = [
    "describe_group",
    "failure",
    "generation_joined",
    "generation_synced",
    "join_failed",
    "shown_protocol",
    "sync_failed",
]

JOIN_WITH_INSTANCE_ID = 5
JOIN_WITH_PROTOCOL_TYPE = 7
JOIN_WITH_SKIP_ASSIGNMENT = 9
SYNC_WITH_PROTOCOL = 5


def join_failed(error: ErrorCode, member_id: str, asked: Asked) -> JoinGroupResponse:
    """The answer to a join that failed."""
    return JoinGroupResponse(error, member_id, protocol_name=shown_protocol(None, asked))


def shown_protocol(name: str | None, asked: Asked) -> str | None:
    """A protocol's name as a join is told it: never null before version 7, and never empty from then on."""
    return (name or None) if asked.version >= JOIN_WITH_PROTOCOL_TYPE else name or ""


def generation_joined(
    group: ClassicGroup,
    member: GroupMember,
    asked: Asked,
    *,
    leader: str | None = None,
    skip_assignment: bool = False,
) -> JoinGroupResponse:
    """The generation that a member is in; its leader gets all members.

    Args:
        group: The group.
        member: Whom it is for.
        asked: Its join.
        leader: Whom to show as the leader instead of the real one; then nobody gets the members.
        skip_assignment: Whether the leader shall keep the assignment that is in force.
    """
    leads = leader is None and group.is_led_by(member.member_id)
    shown = group.leader if leader is None else leader
    return JoinGroupResponse(
        ErrorCode.NONE,
        member.member_id,
        group.generation,
        group.protocol_type if asked.version >= JOIN_WITH_PROTOCOL_TYPE else None,
        shown_protocol(group.protocol_name, asked),
        # Where the coordinator leads, nobody may find its own id here.
        "" if group.led_here else shown or "",
        _members(group, asked) if leads else (),
        skip_assignment and leads,
    )


def _members(group: ClassicGroup, asked: Asked) -> tuple[JoinGroupMember, ...]:
    named = asked.version >= JOIN_WITH_INSTANCE_ID
    return tuple(
        JoinGroupMember(
            member.member_id, member.group_instance_id if named else None, member.metadata(group.protocol_name)
        )
        for member in group.members
    )


def sync_failed(error: ErrorCode) -> SyncGroupResponse:
    """The answer to a sync that failed."""
    return SyncGroupResponse(error)


def generation_synced(group: ClassicGroup, member: GroupMember, asked: Asked) -> SyncGroupResponse:
    """A member's assignment."""
    named = asked.version >= SYNC_WITH_PROTOCOL
    return SyncGroupResponse(
        ErrorCode.NONE,
        group.protocol_type if named else None,
        group.protocol_name if named else None,
        member.assignment,
    )


def describe_group(group: ClassicGroup) -> GroupDescription:
    """A group that is there, as DescribeGroups shows it."""
    stable = group.state is GroupState.STABLE
    members: tuple[DescribedMember, ...] = ()
    error = ErrorCode.NONE
    try:
        members = tuple(
            DescribedMember(
                member.member_id,
                member.group_instance_id,
                member.client_id,
                member.client_host,
                member.metadata(group.protocol_name) if stable else b"",
                member.assignment,
            )
            for member in group.members
        )
    except BrokenGroupError:
        error = ErrorCode.UNKNOWN_SERVER_ERROR
    return GroupDescription(
        group.group_id,
        group.state,
        group.protocol_type or "",
        group.protocol_name or "" if stable else "",
        members,
        group.generation,
        group.leader,
        error,
    )


def failure(request: Request, error: ErrorCode, asked: Asked) -> Response:
    """The answer to any request that failed as a whole, of a version that may not be known."""
    if isinstance(request, JoinGroupRequest):
        return join_failed(error, "", asked)
    if isinstance(request, SyncGroupRequest):
        return sync_failed(error)
    if isinstance(request, HeartbeatRequest):
        return HeartbeatResponse(error)
    if isinstance(request, LeaveGroupRequest):
        return LeaveGroupResponse(error)
    return OffsetCommitResponse(
        tuple(PartitionResponse(entry.topic, entry.partition, error) for entry in request.offsets)
    )
