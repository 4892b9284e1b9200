"""SyncGroup, Heartbeat and LeaveGroup: what members ask while they are members.

Source: GroupCoordinatorService, KafkaApis, and classicGroupSync, classicGroupHeartbeat and classicGroupLeave of
GroupMetadataManager, Kafka 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.coordinator.cause import RebalanceCause
from assignor.coordinator.error_codes import ErrorCode
from assignor.coordinator.replies import SYNC_WITH_PROTOCOL, sync_failed
from assignor.coordinator.responses import HeartbeatResponse, LeaveGroupResponse, LeavingMemberResponse
from assignor.coordinator.state import ANSWERS, Deed, GroupState, RequestKind

if TYPE_CHECKING:
    from assignor.coordinator.group import ClassicGroup, GroupMember
    from assignor.coordinator.groups import Groups
    from assignor.coordinator.outbox import Asked, Outbox
    from assignor.coordinator.rebalancing import Rebalancing
    from assignor.coordinator.requests import HeartbeatRequest, LeaveGroupRequest, LeavingMember, SyncGroupRequest
    from assignor.coordinator.timers import Timers

__all__ = ["Membership"]

LEAVE_WITH_MEMBERS = 3
"""From this version on the answer has an entry per member."""

_BEATS = {error: HeartbeatResponse(error) for error in ErrorCode}


class Membership:
    """What becomes of syncs, heartbeats and goodbyes."""

    def __init__(self, groups: Groups, timers: Timers, outbox: Outbox, rebalancing: Rebalancing) -> None:
        self._groups = groups
        self._timers = timers
        self._out = outbox
        self._rebalancing = rebalancing

    def sync(self, request: SyncGroupRequest, asked: Asked) -> None:
        """Handle a sync."""
        found = self._may_sync(request)
        if isinstance(found, ErrorCode):
            self._out.answer(asked, sync_failed(found))
            return
        group, member = found
        member.connected = True
        answer = ANSWERS[group.state][RequestKind.SYNC]
        if isinstance(answer, ErrorCode):
            self._out.answer(asked, sync_failed(answer))
            return
        group.pending_syncs.discard(member.member_id)
        if not group.pending_syncs:
            self._timers.cancel(group.sync_timer)
        if answer is Deed.ASSIGN:
            self._rebalancing.answer_sync(group, member, asked)
            return
        member.sync = asked
        if group.is_led_by(member.member_id):
            self._rebalancing.store_assignment(group, dict(request.assignments))

    def _may_sync(self, request: SyncGroupRequest) -> tuple[ClassicGroup, GroupMember] | ErrorCode:
        """The group and the member, or why not."""
        if request.version >= SYNC_WITH_PROTOCOL and (request.protocol_type is None or request.protocol_name is None):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        group = self._groups.get(request.group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        answer = ANSWERS[group.state][RequestKind.SYNC]
        if group.state in (GroupState.EMPTY, GroupState.DEAD) and isinstance(answer, ErrorCode):
            return answer
        member = group.find(request.member_id, request.group_instance_id)
        if isinstance(member, ErrorCode):
            return member
        if request.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol_name):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        return group, member

    def heartbeat(self, request: HeartbeatRequest, asked: Asked) -> None:
        """Handle a heartbeat."""
        self._out.answer(asked, _BEATS[self._beat(request)])

    def _beat(self, request: HeartbeatRequest) -> ErrorCode:
        if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        group = self._groups.get(request.group_id)
        if group is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        answer = ANSWERS[group.state][RequestKind.HEARTBEAT]
        if group.state is GroupState.DEAD and isinstance(answer, ErrorCode):
            return answer
        member = group.find(request.member_id, request.group_instance_id)
        if isinstance(member, ErrorCode):
            return member
        if request.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        # A member that is told to join again is alive as well.
        member.connected = True
        self._rebalancing.restart_session(member)
        return answer if isinstance(answer, ErrorCode) else ErrorCode.NONE

    def leave(self, request: LeaveGroupRequest, asked: Asked) -> None:
        """Handle members that leave."""
        if not request.group_id:
            self._out.answer(asked, LeaveGroupResponse(ErrorCode.INVALID_GROUP_ID))
            return
        group = self._groups.get(request.group_id)
        if group is None:
            gone = [
                LeavingMemberResponse(member.member_id, member.group_instance_id, ErrorCode.UNKNOWN_MEMBER_ID)
                for member in request.members
            ]
            self._out.answer(asked, _left(gone, asked))
            return
        answer = ANSWERS[group.state][RequestKind.LEAVE]
        if isinstance(answer, ErrorCode):
            self._out.answer(asked, LeaveGroupResponse(answer))
            return
        results = [
            LeavingMemberResponse(member.member_id, member.group_instance_id, self._leave(group, member))
            for member in request.members
        ]
        left = [member for member, result in zip(request.members, results, strict=True) if not result.error_code]
        writes = self._out.last_write
        if left:
            self._after_leaving(group, left)
        response = _left(results, asked)

        def done(error: ErrorCode | None) -> None:
            self._out.answer(asked, response if error is None else LeaveGroupResponse(error))

        if self._out.last_write > writes:
            self._out.after(self._out.last_write, done)
        else:
            done(None)

    def _leave(self, group: ClassicGroup, leaving: LeavingMember) -> ErrorCode:
        """Take one member out, without a rebalance yet."""
        member_id = leaving.member_id
        if not member_id:
            if leaving.group_instance_id is None or leaving.group_instance_id not in group.static_members:
                return ErrorCode.UNKNOWN_MEMBER_ID
            member_id = group.static_members[leaving.group_instance_id]
            member = group.members.get(member_id) or ErrorCode.UNKNOWN_MEMBER_ID
        elif member_id in group.pending_joins:
            self._rebalancing.remove(group, member_id)
            return ErrorCode.NONE
        else:
            member = group.find(member_id, leaving.group_instance_id)
        if isinstance(member, ErrorCode):
            return member
        self._rebalancing.dismiss(group, member)
        return ErrorCode.NONE

    def _after_leaving(self, group: ClassicGroup, left: list[LeavingMember]) -> None:
        """Go on without those who left: one rebalance for all of them."""
        if group.state is GroupState.PREPARING_REBALANCE:
            self._rebalancing.complete_if_joined(group)
        elif group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            by_themselves = [member for member in left if member.member_id]
            cause = RebalanceCause.CONSUMER_CLOSED if by_themselves else RebalanceCause.MEMBER_REMOVED
            first = (by_themselves or left)[0]
            who = f"Member {first.member_id}" if first.member_id else f"Static member {first.group_instance_id!r}"
            if len(left) > 1:
                who += f" and {len(left) - 1} more"
            verb = "left" if by_themselves else "was removed"
            reason = f"{who} {verb}: {first.reason}." if first.reason else f"{who} {verb}."
            self._rebalancing.prepare(group, cause, reason)


def _differs(given: str | None, known: str | None) -> bool:
    """Whether a sync names another protocol than the group's; one that names none agrees with any."""
    return given is not None and known is not None and given != known


def _left(results: list[LeavingMemberResponse], asked: Asked) -> LeaveGroupResponse:
    """The answer in the form of the request's version."""
    if asked.version >= LEAVE_WITH_MEMBERS:
        return LeaveGroupResponse(ErrorCode.NONE, tuple(results))
    return LeaveGroupResponse(results[0].error_code if results else ErrorCode.NONE)
