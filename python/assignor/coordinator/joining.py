"""JoinGroup: who is let in, who is told to come back, and who replaces whom.

Source: GroupCoordinatorService.joinGroup and the classicGroupJoin methods of GroupMetadataManager,
kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.coordinator.cause import RebalanceCause
from assignor.coordinator.error_codes import ErrorCode
from assignor.coordinator.group import BrokenGroupError, GroupMember
from assignor.coordinator.records import group_record, new_group_record
from assignor.coordinator.replies import (
    JOIN_WITH_PROTOCOL_TYPE,
    JOIN_WITH_SKIP_ASSIGNMENT,
    generation_joined,
    join_failed,
    shown_protocol,
    sync_failed,
)
from assignor.coordinator.requests import LONGEST_TEXT, is_text
from assignor.coordinator.responses import JoinGroupResponse
from assignor.coordinator.state import ANSWERS, Deed, GroupState, RequestKind
from assignor.coordinator.subscribed_topics import subscribes_anew
from assignor.errors import IllegalStateError
from assignor.validation import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.coordinator.config import CoordinatorConfig
    from assignor.coordinator.group import ClassicGroup
    from assignor.coordinator.groups import Groups
    from assignor.coordinator.leading import Leading
    from assignor.coordinator.outbox import Asked, Outbox
    from assignor.coordinator.rebalancing import Rebalancing
    from assignor.coordinator.requests import JoinGroupRequest
    from assignor.coordinator.timers import Timer, Timers

__all__ = ["Joining"]

WITH_MEMBER_ID_REQUIRED = 4
"""From this version on a dynamic member has to come back with the id it was given."""


class Joining:
    """What becomes of joins."""

    def __init__(
        self,
        config: CoordinatorConfig,
        groups: Groups,
        timers: Timers,
        outbox: Outbox,
        rebalancing: Rebalancing,
        leading: Leading,
        member_ids: Callable[[str], str],
    ) -> None:
        self._config = config
        self._groups = groups
        self._timers = timers
        self._out = outbox
        self._rebalancing = rebalancing
        self._leading = leading
        self._member_ids = member_ids

    def join(self, request: JoinGroupRequest, asked: Asked) -> None:
        """Handle a join."""
        if not request.group_id:
            self._fail(asked, ErrorCode.INVALID_GROUP_ID, request.member_id)
            return
        shortest, longest = self._config.min_session_timeout_ms, self._config.max_session_timeout_ms
        if not shortest <= request.session_timeout_ms <= longest:
            self._fail(asked, ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id)
            return
        group = self._groups.get(request.group_id)
        is_new = group is None
        if group is None:
            if request.member_id:
                self._fail(asked, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id)
                return
            group = self._groups.create(request.group_id)
        try:
            self._admit(group, request, asked)
        except Exception:
            if is_new:
                self._groups.discard(group)  # nothing was written of it
            raise
        if is_new:
            self._write_new(group, asked)

    def _admit(self, group: ClassicGroup, request: JoinGroupRequest, asked: Asked) -> None:
        """Handle a join to a group that is there."""
        if not self._has_room(group, request.member_id):
            self._rebalancing.remove(group, request.member_id)
            self._fail(asked, ErrorCode.GROUP_MAX_SIZE_REACHED, "")
        elif request.member_id:
            self._join_known(group, request, asked)
        else:
            self._join_new(group, request, asked)

    def _write_new(self, group: ClassicGroup, asked: Asked) -> None:
        """Write down that the group exists."""

        def done(error: ErrorCode | None) -> None:
            if error is None:
                return
            self._fail(asked, error, "")
            if group.generation or group.offsets or group.state is GroupState.DEAD:
                # Its members were told of a generation; the records that carry it make up for this one.
                return
            for member in group.members.in_any_order():
                if member.join is not None:
                    self._fail(member.join, error, member.member_id)
            self._groups.discard(group)

        self._out.write(group.group_id, [new_group_record(group)], done)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        """Whether somebody may join. While joins are collected only they count: the last to join have to go."""
        most = self._config.group_max_size
        member = group.members.get(member_id)
        if group.state is GroupState.PREPARING_REBALANCE:
            return (member is not None and member.join is not None) or group.awaiting_join < most
        if group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            return member is not None or len(group.members) < most
        return True

    def _join_new(self, group: ClassicGroup, request: JoinGroupRequest, asked: Asked) -> None:
        """A join without a member id."""
        answer = ANSWERS[group.state][RequestKind.JOIN_NEW]
        if isinstance(answer, ErrorCode):
            self._fail(asked, answer, "")
            return
        if not group.supports(request.protocol_type, request.protocols):
            self._fail(asked, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
            return
        instance_id = request.group_instance_id
        member_id = self._make_id(group, request.client_id if instance_id is None else instance_id)
        if instance_id is not None:
            old = group.members.get(group.static_members.get(instance_id, ""))
            if old is not None:
                self._replace(group, old, member_id, request, asked)
                return
        elif request.version >= WITH_MEMBER_ID_REQUIRED:
            timer = group.pending_joins[member_id] = self._groups.session_timer(group, member_id)
            self._timers.set(timer, self._out.now + request.session_timeout_ms)
            self._out.answer(asked, join_failed(ErrorCode.MEMBER_ID_REQUIRED, member_id, asked))
            return
        self._add(group, member_id, request, asked)

    def _join_known(self, group: ClassicGroup, request: JoinGroupRequest, asked: Asked) -> None:
        """A join with a member id."""
        member_id = request.member_id
        answer = ANSWERS[group.state][RequestKind.JOIN]
        if group.state is GroupState.DEAD and isinstance(answer, ErrorCode):
            self._fail(asked, answer, member_id)
            return
        if not group.supports(request.protocol_type, request.protocols):
            self._fail(asked, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id)
            return
        if member_id in group.pending_joins:
            if request.group_instance_id is not None:
                raise BrokenGroupError(f"the member id {member_id} was not given to a static member")
            self._add(group, member_id, request, asked)
            return
        member = group.find(member_id, request.group_instance_id)
        if isinstance(member, ErrorCode):
            self._fail(asked, member, member_id)
            return
        member.connected = True
        if isinstance(answer, ErrorCode):
            self._fail(asked, answer, member_id)
        elif answer is Deed.PARK:
            self._take_over(group, member, request, asked)
            self._rebalancing.complete_if_joined(group)
        elif request.protocols != member.protocols or (
            answer is Deed.ANSWER_IF_UNCHANGED_FOLLOWER and group.is_led_by(member_id)
        ):
            cause, reason = self._why(group, member, request)
            self._take_over(group, member, request, asked)
            self._rebalancing.prepare(group, cause, reason)
        else:
            self._out.answer(asked, generation_joined(group, member, asked))

    def _add(self, group: ClassicGroup, member_id: str, request: JoinGroupRequest, asked: Asked) -> None:
        """Let a new member in. Its join can expire: whoever lost the answer will ask again, as somebody else."""
        timer = group.pending_joins.get(member_id) or self._groups.session_timer(group, member_id)
        member = _member_of(request, member_id, timer)
        member.is_new = True
        member.join = asked
        if group.is_initial:
            group.new_member_added = True
        group.add(member)
        self._timers.set(timer, self._out.now + self._config.new_member_join_timeout_ms)
        self._rebalancing.rebalance_or_complete(
            group, RebalanceCause.CONSUMER_SUBSCRIBED, _sentence(f"Member {member_id} joined", request)
        )

    def _why(self, group: ClassicGroup, member: GroupMember, request: JoinGroupRequest) -> tuple[RebalanceCause, str]:
        """Why a member joins again, as far as what it brings tells."""
        leads = group.is_led_by(member.member_id)
        name = f"{'Leader' if leads else 'Member'} {member.member_id} joined again"
        if subscribes_anew(group.protocol_type, member.protocols, request.protocols):
            return RebalanceCause.SUBSCRIPTION_CHANGED, _sentence(name, request)
        changed = self._leading.changed_topic(group) if leads else None
        if changed is not None:
            return changed[0], f"{changed[1]} {_sentence(name, request)}"
        if leads:
            return RebalanceCause.LEADER_REJOINED, _sentence(name, request)
        return RebalanceCause.OWNED_PARTITIONS_CHANGED, _sentence(name, request)

    def _take_over(self, group: ClassicGroup, member: GroupMember, request: JoinGroupRequest, asked: Asked) -> None:
        assert request.rebalance_timeout_ms is not None
        group.update(member, request.protocols, request.rebalance_timeout_ms, request.session_timeout_ms, asked)

    # Static members that come back

    def _replace(
        self, group: ClassicGroup, old: GroupMember, member_id: str, request: JoinGroupRequest, asked: Asked
    ) -> None:
        """Put a static member that lost its member id in the place of what it was, whose requests are fenced."""
        leader = group.leader
        if old.join is not None:
            self._out.answer(old.join, join_failed(ErrorCode.FENCED_INSTANCE_ID, old.member_id, old.join))
            group.await_join(old, None)
        if old.sync is not None:
            self._out.answer(old.sync, sync_failed(ErrorCode.FENCED_INSTANCE_ID))
            old.sync = None
        new = self._succeed(group, old, member_id)
        # The session runs by the old timeout until the member is heard of.
        self._rebalancing.restart_session(new)
        self._take_over(group, new, request, asked)
        name = f"Static member {request.group_instance_id!r} came back as {member_id}"
        if group.state is GroupState.STABLE:
            if group.protocol_name == group.select_protocol():
                self._write_successor(group, old, new, leader, asked)
            else:
                self._rebalancing.prepare(group, RebalanceCause.PROTOCOL_CHANGED, _sentence(name, request))
        elif group.state is GroupState.COMPLETING_REBALANCE:
            # The leader may have the old id in its hands already.
            self._rebalancing.prepare(group, RebalanceCause.STATIC_MEMBER_RETURNED, _sentence(name, request))
        else:
            self._rebalancing.complete_if_joined(group)

    def _succeed(self, group: ClassicGroup, old: GroupMember, member_id: str) -> GroupMember:
        """Put a copy with another member id in a member's place."""
        self._timers.cancel(old.timer)
        new = GroupMember(
            member_id,
            self._groups.session_timer(group, member_id),
            group_instance_id=old.group_instance_id,
            client_id=old.client_id,
            client_host=old.client_host,
            protocol_type=old.protocol_type,
            protocols=old.protocols,
            session_timeout_ms=old.session_timeout_ms,
            rebalance_timeout_ms=old.rebalance_timeout_ms,
            assignment=old.assignment,
        )
        group.replace(old, new)
        return new

    def _write_successor(
        self, group: ClassicGroup, old: GroupMember, new: GroupMember, leader: str | None, asked: Asked
    ) -> None:
        """Write the new member id down, and answer the join without a rebalance."""

        def done(error: ErrorCode | None) -> None:
            if group.state is GroupState.DEAD:
                return  # whoever waited was told
            if error is not None:
                if group.members.get(new.member_id) is new:  # and has no successor of its own yet, nor left
                    group.update(new, old.protocols, old.rebalance_timeout_ms, old.session_timeout_ms, None)
                    restored = self._succeed(group, new, old.member_id)
                    self._rebalancing.restart_session(restored)
                named = asked.version >= JOIN_WITH_PROTOCOL_TYPE
                protocol_type = group.protocol_type if named else None
                failed = JoinGroupResponse(
                    error,
                    "",
                    group.generation,
                    protocol_type,
                    shown_protocol(group.protocol_name, asked),
                    leader or "",
                )
                self._out.answer(asked, failed)
            elif new.join is not None:
                if new.join.version >= JOIN_WITH_SKIP_ASSIGNMENT:
                    response = generation_joined(group, new, new.join, skip_assignment=True)
                else:
                    response = generation_joined(group, new, new.join, leader=leader)
                self._out.answer(new.join, response)
                group.await_join(new, None)
                if new.timer.deadline is None:
                    # Its session ended while the write took its time, which is no fault of the member's.
                    self._rebalancing.restart_session(new)

        assignment = {member.member_id: member.assignment for member in group.members.in_any_order()}
        self._out.write(group.group_id, [group_record(group, assignment)], done)

    def _make_id(self, group: ClassicGroup, prefix: str) -> str:
        member_id = self._member_ids(prefix)
        if not is_text(member_id) or not member_id or member_id in group.members or member_id in group.pending_joins:
            raise IllegalStateError(
                f"member_ids({shown(prefix)}) gave {shown(member_id)}; it must give an id that group "
                f"{group.group_id!r} never had, of at most {LONGEST_TEXT} bytes of UTF-8"
            )
        return member_id

    def _fail(self, asked: Asked, error: ErrorCode, member_id: str) -> None:
        self._out.answer(asked, join_failed(error, member_id, asked))


def _member_of(request: JoinGroupRequest, member_id: str, timer: Timer) -> GroupMember:
    assert request.rebalance_timeout_ms is not None
    return GroupMember(
        member_id,
        timer,
        group_instance_id=request.group_instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        protocol_type=request.protocol_type,
        protocols=request.protocols,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
    )


def _sentence(what: str, request: JoinGroupRequest) -> str:
    return f"{what}: {request.reason}." if request.reason else f"{what}."
