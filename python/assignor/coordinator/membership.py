"""Handlers of SyncGroup, Heartbeat and LeaveGroup.

Source: GroupCoordinatorService, KafkaApis, and classicGroupSync, classicGroupHeartbeat and classicGroupLeave of
GroupMetadataManager, Kafka 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.coordinator import rebalancing
from assignor.coordinator.causes import MembersLeft
from assignor.coordinator.members import GroupMember
from assignor.coordinator.responses import (
    SYNC_WITH_PROTOCOL,
    HeartbeatResponse,
    LeaveGroupResponse,
    LeavingMemberResponse,
    SyncGroupResponse,
    make,
    sync_error,
    sync_response,
)
from assignor.coordinator.state import ANSWERS, DEAD, EMPTY, Action, ErrorCode, RequestKind

if TYPE_CHECKING:
    from assignor.coordinator.context import Context
    from assignor.coordinator.group import ClassicGroup
    from assignor.coordinator.requests import (
        HeartbeatRequest,
        LeaveGroupRequest,
        LeavingMember,
        PendingRequest,
        SyncGroupRequest,
    )

__all__ = ["heartbeat", "leave", "sync"]

LEAVE_WITH_MEMBERS = 3
"""First version whose answer has an entry per member."""

_SYNC, _HEARTBEAT, _ASSIGN = RequestKind.SYNC, RequestKind.HEARTBEAT, Action.ASSIGN
_ALIVE = HeartbeatResponse(ErrorCode.NONE)

# SyncGroup


def sync(context: Context, request: SyncGroupRequest, pending: PendingRequest) -> SyncGroupResponse | None:
    """Handle a SyncGroup request; return its answer, or None if the sync waits."""
    found = _check_sync(context, request)
    if not isinstance(found, tuple):
        return sync_error(found)
    group, member = found
    member.is_connected = True
    answer = ANSWERS[group.state][_SYNC]
    if not isinstance(answer, Action):
        return sync_error(answer)
    if group.end_sync(member.member_id):
        context.timers.cancel(group)
    if answer is _ASSIGN:
        return sync_response(group, member, pending)
    member.sync = pending
    if group.is_led_by(member.member_id):
        rebalancing.store_assignment(context, group, dict(request.assignments))
    return None


def _check_sync(context: Context, request: SyncGroupRequest) -> tuple[ClassicGroup, GroupMember] | ErrorCode:
    """Return the group and the member, or an error if the sync does not match them."""
    if request.version >= SYNC_WITH_PROTOCOL and (request.protocol_type is None or request.protocol_name is None):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if not request.group_id:
        return ErrorCode.INVALID_GROUP_ID
    group = context.groups.get(request.group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.state is EMPTY or group.state is DEAD:
        answer = ANSWERS[group.state][_SYNC]
        if isinstance(answer, ErrorCode):
            return answer
    member = group.find(request.member_id, request.group_instance_id)
    if not isinstance(member, GroupMember):
        return member
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return group, member


def _differs(requested: str | None, selected: str | None) -> bool:
    """Return True if a sync names a different protocol than the group's; an absent name matches any."""
    return requested != selected and requested is not None and selected is not None


# Heartbeat


def heartbeat(context: Context, request: HeartbeatRequest) -> HeartbeatResponse:
    """Handle a Heartbeat request, which never waits: restart the session of a member."""
    if not request.group_id:
        return HeartbeatResponse(ErrorCode.INVALID_GROUP_ID)
    group = context.groups.get(request.group_id)
    if group is None:
        return HeartbeatResponse(ErrorCode.UNKNOWN_MEMBER_ID)
    answer = ANSWERS[group.state][_HEARTBEAT]
    if group.state is DEAD and isinstance(answer, ErrorCode):
        return HeartbeatResponse(answer)
    member = group.find(request.member_id, request.group_instance_id)
    if not isinstance(member, GroupMember):
        return HeartbeatResponse(member)
    if request.generation_id != group.generation:
        return HeartbeatResponse(ErrorCode.ILLEGAL_GENERATION)
    # A member that must join again is alive too.
    member.is_connected = True
    rebalancing.restart_session(context, member)
    return _ALIVE if isinstance(answer, Action) else HeartbeatResponse(answer)


# LeaveGroup


def leave(context: Context, request: LeaveGroupRequest, pending: PendingRequest) -> LeaveGroupResponse | None:
    """Handle a LeaveGroup request, with one rebalance for all its members.

    Return the answer, or None if the answer waits for a write.
    """
    if not request.group_id:
        return LeaveGroupResponse(ErrorCode.INVALID_GROUP_ID)
    group = context.groups.get(request.group_id)
    answer = None if group is None else ANSWERS[group.state][RequestKind.LEAVE]
    if isinstance(answer, ErrorCode):
        return LeaveGroupResponse(answer)
    results = [
        LeavingMemberResponse(
            member.member_id,
            member.group_instance_id,
            ErrorCode.UNKNOWN_MEMBER_ID if group is None else _remove(context, group, member),
        )
        for member in request.members
    ]
    left = [member for member, result in zip(request.members, results, strict=True) if not result.error_code]
    previous_write = context.last_write
    if group is not None and left and group.state is not EMPTY:
        rebalancing.rebalance_or_complete_join(context, group, make(MembersLeft, (left,)))
    response = _leave_response(results, pending)
    if context.last_write == previous_write:
        return response

    def written(error: ErrorCode | None) -> None:
        context.answer(pending, response if error is None else LeaveGroupResponse(error))

    context.after_write(context.last_write, written)
    return None


def _remove(context: Context, group: ClassicGroup, leaving: LeavingMember) -> ErrorCode:
    """Remove one member, without starting a rebalance."""
    member_id = leaving.member_id
    if not member_id:
        if leaving.group_instance_id is None or leaving.group_instance_id not in group.static_members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        member_id = group.static_members[leaving.group_instance_id]
        member = group.members.get(member_id) or ErrorCode.UNKNOWN_MEMBER_ID
    elif member_id in group.pending_joins:
        rebalancing.remove_id(context, group, member_id)
        return ErrorCode.NONE
    else:
        member = group.find(member_id, leaving.group_instance_id)
    if isinstance(member, ErrorCode):
        return member
    rebalancing.remove_member(context, group, member)
    return ErrorCode.NONE


def _leave_response(results: list[LeavingMemberResponse], pending: PendingRequest) -> LeaveGroupResponse:
    """Return the answer in the format of the request's version."""
    if pending.version >= LEAVE_WITH_MEMBERS:
        return LeaveGroupResponse(ErrorCode.NONE, tuple(results))
    return LeaveGroupResponse(results[0].error_code if results else ErrorCode.NONE)
