"""Rebalances: their start, the end of their two phases, and the expiry of sessions.

In PreparingRebalance the coordinator waits for all members to join; a group that was Empty waits for its initial delay
instead. In CompletingRebalance the coordinator waits for the leader's assignment. Each phase has a timer, and each
member has a session timer.

Source: the methods of GroupMetadataManager from `maybeCompleteJoinPhase` to `expirePendingSync`,
kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from assignor.coordinator.causes import AssignmentNotStored, SessionExpired, SyncTimedOut, TooManyMembers
from assignor.coordinator.records import group_record
from assignor.coordinator.responses import join_error, join_responses, sync_error, sync_response
from assignor.coordinator.state import COMPLETING, DEAD, EMPTY, PREPARING, STABLE, ErrorCode, GroupEvent
from assignor.coordinator.timers import TimerKind

if TYPE_CHECKING:
    from assignor.coordinator.causes import Fact
    from assignor.coordinator.context import Context, WriteCallback
    from assignor.coordinator.group import ClassicGroup
    from assignor.coordinator.members import GroupMember
    from assignor.coordinator.timers import Timer

__all__ = [
    "complete_join_if_all_joined",
    "expire_join_phase",
    "expire_session",
    "expire_sync_phase",
    "prepare_rebalance",
    "rebalance_or_complete_join",
    "refuse_waiting",
    "remove_id",
    "remove_member",
    "restart_session",
    "start_loaded_group",
    "store_assignment",
    "unload_group",
    "write_generation",
]

_CAN_REBALANCE = PREPARING.previous_valid_states


class _CollectorPause:
    """Pause of Python's garbage collector while objects are created for all members of a group.

    These objects are not part of cycles. Without the pause, their creation would start collections that visit all
    members.
    """

    __slots__ = ("_was_enabled",)

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_enabled:
            gc.enable()


# The start of a rebalance


def rebalance_or_complete_join(context: Context, group: ClassicGroup, fact: Fact) -> None:
    """Start a rebalance or, if one is in its join phase, end this phase if all members have joined."""
    if group.state in _CAN_REBALANCE:
        prepare_rebalance(context, group, fact)
    else:
        complete_join_if_all_joined(context, group)


def prepare_rebalance(context: Context, group: ClassicGroup, fact: Fact) -> None:
    """Start a rebalance, and report the cause that the fact gives."""
    if group.state is COMPLETING:
        reset_assignment(context, group, ErrorCode.REBALANCE_IN_PROGRESS)
    context.report_rebalance(group, fact)
    was_empty = group.state is EMPTY
    group.move(GroupEvent.REBALANCE, context.now)
    group.pending_syncs = {}
    all_joined, timeout_ms = group.all_joined, group.rebalance_timeout_ms
    context.timers.cancel(group)
    if was_empty:
        delay_ms = context.config.initial_rebalance_delay_ms
        group.initial_delay = (delay_ms, max(timeout_ms - delay_ms, 0))
        _set_phase_timer(context, group, TimerKind.JOIN_PHASE, delay_ms)
    elif all_joined:
        complete_join(context, group)
    else:
        _set_phase_timer(context, group, TimerKind.JOIN_PHASE, timeout_ms)


def reset_assignment(context: Context, group: ClassicGroup, error: ErrorCode) -> None:
    """Clear the assignments of an incomplete generation, and answer the waiting syncs with an error."""
    for member in group.members.values():
        member.assignment = b""
        if member.sync is not None:
            context.answer(member.sync, sync_error(error))
            member.sync = None
            restart_session(context, member)


def _set_phase_timer(context: Context, group: ClassicGroup, kind: TimerKind, delay_ms: int) -> None:
    """Set the timer of a phase. The phases of a group follow each other, so the group itself is the timer of both."""
    group.kind = kind
    context.timers.set(group, context.now + delay_ms)


# The join phase


def complete_join_if_all_joined(context: Context, group: ClassicGroup) -> None:
    """End the join phase if all members have joined and no initial delay is running."""
    if group.state is not PREPARING:
        return
    if not group.is_initial and group.all_joined:
        complete_join(context, group)
    elif group.is_overdue:
        _set_phase_timer(context, group, TimerKind.JOIN_PHASE, 0)


def complete_join(context: Context, group: ClassicGroup) -> None:
    """End the join phase: start the next generation with the members that joined and with absent static members."""
    context.timers.cancel(group)
    group.initial_delay = None
    group.is_overdue = False
    absent = [member for member in group.members.values() if member.join is None and member.group_instance_id is None]
    for member in absent:
        remove_id(context, group, member.member_id)
    if not group.elect_joined_leader() and group.members:
        # Only absent static members are left: wait until their sessions expire or a member joins. With a timeout of
        # 0, Kafka's timer fires repeatedly without effect until then.
        group.is_overdue = group.rebalance_timeout_ms <= 0
        if not group.is_overdue:
            _set_phase_timer(context, group, TimerKind.JOIN_PHASE, group.rebalance_timeout_ms)
        return
    group.next_generation(context.now)
    if group.state is EMPTY:
        _write_empty_generation(context, group)
        return
    group.is_server_assigned = context.assignor.assigns(group)
    members = group.members.in_order()
    waiting = [member.join for member in members if member.join is not None]
    with _CollectorPause():
        for pending, response in zip(waiting, join_responses(group, members), strict=True):
            context.answer(pending, response)
        for member in members:
            restart_session(context, member)
    group.await_syncs()
    _set_phase_timer(context, group, TimerKind.SYNC_PHASE, group.rebalance_timeout_ms)
    group.topic_sizes = context.topics.sizes(group.subscribed_topics)
    if group.is_server_assigned:
        assignment, problems = context.assignor.assign(group)
        for problem in problems:
            context.report_problem(problem)
        store_assignment(context, group, assignment)


def _write_empty_generation(context: Context, group: ClassicGroup) -> None:
    generation = group.generation

    def written(error: ErrorCode | None) -> None:
        if error is not None and group.state is not DEAD:
            context.report_problem(
                f"group {group.group_id!r}: the empty generation {generation} could not be written ({error.name})"
            )

    write_generation(context, group, {}, written)


def write_generation(
    context: Context, group: ClassicGroup, assignment: dict[str, bytes], written: WriteCallback
) -> None:
    """Write the record of the current generation, with the given assignments by member id."""
    context.write(group.group_id, [group_record(group, assignment)], written)


def expire_join_phase(context: Context, timer: Timer) -> None:
    """Extend the initial delay if a member joined during its current step; otherwise end the join phase."""
    group = context.groups[timer.group_id]
    if group.initial_delay is not None:
        delay, remaining = group.initial_delay
        if group.has_new_member and remaining:
            group.has_new_member = False
            step = min(context.config.initial_rebalance_delay_ms, remaining)
            group.initial_delay = (step, max(remaining - delay, 0))
            _set_phase_timer(context, group, TimerKind.JOIN_PHASE, step)
            return
    complete_join(context, group)


# The sync phase


def store_assignment(context: Context, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
    """Write an assignment, and pass it to the members when the write completes."""
    generation = group.generation

    def written(error: ErrorCode | None) -> None:
        if group.state is not COMPLETING or group.generation != generation:
            return
        if error is None:
            _distribute(context, group, assignment)
        else:
            reset_assignment(context, group, error)
            prepare_rebalance(context, group, AssignmentNotStored(generation, error))

    with _CollectorPause():
        write_generation(context, group, assignment, written)


def _distribute(context: Context, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
    """Pass each member its assignment, and answer the waiting syncs."""
    with _CollectorPause():
        for member in group.members.in_order():
            member.assignment = assignment.get(member.member_id, b"")
            if member.sync is not None:
                context.answer(member.sync, sync_response(group, member, member.sync))
                member.sync = None
                restart_session(context, member)
    group.move(GroupEvent.ASSIGNED, context.now)


def expire_sync_phase(context: Context, timer: Timer) -> None:
    """Remove the members that did not send SyncGroup in time."""
    group = context.groups[timer.group_id]
    if group.pending_syncs:
        late = sorted(group.pending_syncs)
        for member_id in late:
            remove_id(context, group, member_id)
        prepare_rebalance(context, group, SyncTimedOut(late))


# Sessions and removal of members


def restart_session(context: Context, member: GroupMember) -> None:
    """Restart a member's session, after a request from the member or an answer to it."""
    context.timers.set(member, context.now + member.session_timeout_ms)


def expire_session(context: Context, timer: Timer) -> None:
    """Remove a member, or a pending member id, that sent no request within the session timeout."""
    group = context.groups[timer.group_id]
    if timer.member_id in group.pending_joins:
        group.remove(timer.member_id)
    else:
        member = group.members.get(timer.member_id)
        if member is None or member.has_satisfied_heartbeat:
            return
        remove_member(context, group, member)
        if group.state in (STABLE, COMPLETING):
            fact = SessionExpired(member.member_id, member.session_timeout_ms, member.is_connected)
            prepare_rebalance(context, group, fact)
            return
    if group.state is PREPARING and group.all_joined:
        complete_join(context, group)


def remove_member(context: Context, group: ClassicGroup, member: GroupMember) -> None:
    """Remove a member and answer its waiting join; as in Kafka, its waiting sync gets no answer."""
    if member.join is not None:
        context.answer(member.join, join_error(ErrorCode.UNKNOWN_MEMBER_ID, "", member.join))
        group.await_join(member, None)
    remove_id(context, group, member.member_id)


def refuse_waiting(context: Context, group: ClassicGroup, member: GroupMember, error: ErrorCode) -> None:
    """Answer the waiting requests of a member with an error."""
    if member.join is not None:
        context.answer(member.join, join_error(error, member.member_id, member.join))
        group.await_join(member, None)
    if member.sync is not None:
        context.answer(member.sync, sync_error(error))
        member.sync = None


def remove_id(context: Context, group: ClassicGroup, member_id: str) -> None:
    """Remove a member, or a pending member id, with its timer."""
    member = group.members.get(member_id)
    timer = group.pending_joins.get(member_id) if member is None else member
    if timer is not None:
        context.timers.cancel(timer)
    group.remove(member_id)


# Loading and unloading


def start_loaded_group(context: Context, group: ClassicGroup) -> None:
    """Start the sessions of a loaded group, and a rebalance if its members or topics require one."""
    # Start the sessions first, so that absent members expire even if the rest fails.
    for member in group.members.values():
        restart_session(context, member)
    group.subscribed_topics = group.find_topics()
    group.is_server_assigned = context.assignor.assigns(group)
    group.topic_sizes = context.assignor.sizes_when_loaded(group)
    changed_topic = context.topics.changed_since(group.topic_sizes)
    limit = context.config.group_max_size
    if len(group.members) > limit:
        prepare_rebalance(context, group, TooManyMembers(len(group.members), limit))
    elif group.is_server_assigned and changed_topic is not None and group.state is STABLE:
        prepare_rebalance(context, group, changed_topic)


def unload_group(context: Context, group: ClassicGroup) -> None:
    """Answer waiting requests with NOT_COORDINATOR, and mark the group Dead."""
    for member in group.members.in_order():
        refuse_waiting(context, group, member, ErrorCode.NOT_COORDINATOR)
    group.move(GroupEvent.REMOVED, context.now)
    context.cancel_timers(group)
