"""Handler of JoinGroup: new members, member ids, and static members that return.

Source: GroupCoordinatorService.joinGroup and the classicGroupJoin methods of GroupMetadataManager,
kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.coordinator import rebalancing
from assignor.coordinator.causes import MemberJoined, MemberRejoined, StaticMemberReturned
from assignor.coordinator.members import BrokenGroupError, GroupMember
from assignor.coordinator.records import new_group_record
from assignor.coordinator.requests import LONGEST_TEXT, is_text
from assignor.coordinator.responses import (
    JOIN_WITH_PROTOCOL_TYPE,
    JOIN_WITH_SKIP_ASSIGNMENT,
    JoinGroupResponse,
    join_error,
    join_response,
    make,
    visible_protocol,
)
from assignor.coordinator.state import ANSWERS, COMPLETING, DEAD, PREPARING, STABLE, Action, ErrorCode, RequestKind
from assignor.coordinator.timers import TimerKind
from assignor.errors import IllegalStateError
from assignor.validation import shown

if TYPE_CHECKING:
    from assignor.coordinator.context import Context
    from assignor.coordinator.group import ClassicGroup
    from assignor.coordinator.requests import JoinGroupRequest, PendingRequest

__all__ = ["join"]

WITH_MEMBER_ID_REQUIRED = 4
"""First version in which a new dynamic member must join again with the member id of the first answer."""

_JOIN, _JOIN_NEW = RequestKind.JOIN, RequestKind.JOIN_NEW
_WAIT, _ANSWER_IF_UNCHANGED_FOLLOWER = Action.WAIT, Action.ANSWER_IF_UNCHANGED_FOLLOWER


def join(context: Context, request: JoinGroupRequest, pending: PendingRequest) -> JoinGroupResponse | None:
    """Handle a JoinGroup request; return its answer, or None if the join waits."""
    config = context.config
    if not request.group_id:
        return join_error(ErrorCode.INVALID_GROUP_ID, request.member_id, pending)
    if not config.min_session_timeout_ms <= request.session_timeout_ms <= config.max_session_timeout_ms:
        return join_error(ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id, pending)
    group, new_group = context.groups.get(request.group_id), None
    if group is None:
        if request.member_id:
            return join_error(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id, pending)
        group = new_group = context.create_group(request.group_id)
    try:
        response = _join_group(context, group, request, pending)
    except Exception:
        if new_group is not None:
            context.discard_group(new_group)  # no record of it was written
        raise
    if new_group is not None:
        _write_new_group(context, new_group, pending)
    return response


def _join_group(
    context: Context, group: ClassicGroup, request: JoinGroupRequest, pending: PendingRequest
) -> JoinGroupResponse | None:
    """Handle a join to an existing group."""
    member_id = request.member_id
    answer = ANSWERS[group.state][_JOIN if member_id else _JOIN_NEW]
    if not _has_room(context, group, member_id):
        rebalancing.remove_id(context, group, member_id)
        return join_error(ErrorCode.GROUP_MAX_SIZE_REACHED, "", pending)
    if (not member_id or group.state is DEAD) and isinstance(answer, ErrorCode):
        return join_error(answer, member_id, pending)
    if not group.supports(request.protocol_type, request.protocols):
        return join_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id, pending)
    if not member_id:
        return _join_new_member(context, group, request, pending)
    if member_id in group.pending_joins:
        if request.group_instance_id is not None:
            raise BrokenGroupError(f"member id {member_id} was not issued to a static member")
        _add(context, group, member_id, request, pending)
        return None
    return _rejoin(context, group, request, pending, answer)


def _has_room(context: Context, group: ClassicGroup, member_id: str) -> bool:
    """Return True if a member may join. In PreparingRebalance only members whose joins wait count towards the limit."""
    limit, state = context.config.group_max_size, group.state
    if state is PREPARING:
        if group.waiting_joins < limit:
            return True
        member = group.members.get(member_id)
        return member is not None and member.join is not None
    if state is COMPLETING or state is STABLE:
        return member_id in group.members or len(group.members) < limit
    return True


# New members


def _join_new_member(
    context: Context, group: ClassicGroup, request: JoinGroupRequest, pending: PendingRequest
) -> JoinGroupResponse | None:
    """Handle a join without a member id."""
    instance_id = request.group_instance_id
    member_id = _new_member_id(context, group, request.client_id if instance_id is None else instance_id)
    if instance_id is not None:
        old = group.members.get(group.static_members.get(instance_id, ""))
        if old is not None:
            _replace(context, group, old, member_id, request, pending)
            return None
    elif request.version >= WITH_MEMBER_ID_REQUIRED:
        context.timers.set(group.await_member(member_id), context.now + request.session_timeout_ms)
        return join_error(ErrorCode.MEMBER_ID_REQUIRED, member_id, pending)
    _add(context, group, member_id, request, pending)
    return None


def _new_member_id(context: Context, group: ClassicGroup, prefix: str) -> str:
    member_id = context.make_member_id(prefix)
    if not is_text(member_id) or not member_id or member_id in group.members or member_id in group.pending_joins:
        raise IllegalStateError(
            f"member_ids({shown(prefix)}) returned {shown(member_id)}; it must return a new member id for group "
            f"{group.group_id!r}, of at most {LONGEST_TEXT} bytes of UTF-8"
        )
    return member_id


def _add(
    context: Context, group: ClassicGroup, member_id: str, request: JoinGroupRequest, pending: PendingRequest
) -> None:
    """Add a new member. Its join can expire, because a client that misses the answer joins again without this id."""
    assert request.rebalance_timeout_ms is not None
    issued = group.pending_joins.get(member_id)
    if issued is not None:
        context.timers.cancel(issued)
    member = GroupMember(
        TimerKind.SESSION,
        group.group_id,
        member_id,
        group_instance_id=request.group_instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        protocols=request.protocols,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        is_new=True,
        join=pending,
    )
    group.add(member, request.protocol_type)
    context.timers.set(member, context.now + context.config.new_member_join_timeout_ms)
    rebalancing.rebalance_or_complete_join(context, group, make(MemberJoined, (member_id, request.reason)))


# Members that join again


def _rejoin(
    context: Context,
    group: ClassicGroup,
    request: JoinGroupRequest,
    pending: PendingRequest,
    answer: Action | ErrorCode,
) -> JoinGroupResponse | None:
    """Handle the join of an existing member; `answer` is the entry of `ANSWERS` for the group's state."""
    member = group.find(request.member_id, request.group_instance_id)
    if not isinstance(member, GroupMember):
        return join_error(member, request.member_id, pending)
    member.is_connected = True
    if not isinstance(answer, Action):
        return join_error(answer, request.member_id, pending)
    if answer is _WAIT:
        group.update(member, request, pending)
        rebalancing.complete_join_if_all_joined(context, group)
        return None
    is_leader = group.is_led_by(member.member_id)
    if request.protocols == member.protocols and not (answer is _ANSWER_IF_UNCHANGED_FOLLOWER and is_leader):
        return join_response(group, member, pending)
    fact = MemberRejoined(
        member.member_id,
        is_leader,
        group.protocol_type,
        member.protocols,
        request.protocols,
        context.topics.changed_since(group.topic_sizes) if is_leader else None,
        request.reason,
    )
    group.update(member, request, pending)
    rebalancing.prepare_rebalance(context, group, fact)
    return None


# Static members that return with a new member id


def _replace(
    context: Context,
    group: ClassicGroup,
    old: GroupMember,
    member_id: str,
    request: JoinGroupRequest,
    pending: PendingRequest,
) -> None:
    """Replace a static member that joins without its member id, and fence waiting requests with the old id."""
    leader = group.leader
    rebalancing.refuse_waiting(context, group, old, ErrorCode.FENCED_INSTANCE_ID)
    new = _put_successor(context, group, old, member_id)
    group.update(new, request, pending)
    is_stable = group.state is STABLE
    if is_stable and group.protocol_name == group.select_protocol():
        _write_successor(context, group, old, new, leader, pending)
    else:
        # In CompletingRebalance the leader may already have the old id in its answer.
        fact = StaticMemberReturned(
            request.group_instance_id, member_id, changes_protocol=is_stable, reason=request.reason
        )
        rebalancing.rebalance_or_complete_join(context, group, fact)


def _put_successor(context: Context, group: ClassicGroup, old: GroupMember, member_id: str) -> GroupMember:
    """Replace a member with a copy that has another member id; as in Kafka, its session has the timeout of the old."""
    context.timers.cancel(old)
    new = group.replace(old, member_id)
    rebalancing.restart_session(context, new)
    return new


def _write_successor(
    context: Context,
    group: ClassicGroup,
    old: GroupMember,
    new: GroupMember,
    leader: str | None,
    pending: PendingRequest,
) -> None:
    """Write the new member id, and answer the join without a rebalance."""

    def written(error: ErrorCode | None) -> None:
        if group.state is DEAD:
            return  # the join was answered when the group was unloaded
        if error is not None:
            restore(error)
        elif new.join is not None:
            skip_assignment = new.join.version >= JOIN_WITH_SKIP_ASSIGNMENT
            named_leader = None if skip_assignment else leader
            response = join_response(group, new, new.join, leader=named_leader, skip_assignment=skip_assignment)
            context.answer(new.join, response)
            group.await_join(new, None)
            if new.deadline is None:
                # The session expired while the write was pending, although the member may be alive.
                rebalancing.restart_session(context, new)

    def restore(error: ErrorCode) -> None:
        if group.members.get(new.member_id) is new:  # the member has neither left nor been replaced
            group.update(new, old, None)
            _put_successor(context, group, new, old.member_id)
        protocol_type = group.protocol_type if pending.version >= JOIN_WITH_PROTOCOL_TYPE else None
        protocol_name = visible_protocol(group.protocol_name, pending)
        context.answer(
            pending, JoinGroupResponse(error, "", group.generation, protocol_type, protocol_name, leader or "")
        )

    assignment = {member.member_id: member.assignment for member in group.members.values()}
    rebalancing.write_generation(context, group, assignment, written)


# Groups that a join creates


def _write_new_group(context: Context, group: ClassicGroup, pending: PendingRequest) -> None:
    """Write the record of a new group; if that fails, the waiting joins fail and the group is discarded."""

    def written(error: ErrorCode | None) -> None:
        if error is None:
            return
        context.answer(pending, join_error(error, "", pending))
        if group.generation or group.offsets or group.state is DEAD:
            # The group already has a generation or offsets, whose records replace this one, or it was unloaded.
            return
        for member in group.members.values():
            rebalancing.refuse_waiting(context, group, member, error)
        context.discard_group(group)

    context.write(group.group_id, [new_group_record(group)], written)
