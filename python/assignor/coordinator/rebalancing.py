"""From one generation to the next: what begins a rebalance, what ends its phases, and whose time is over.

A rebalance has two phases. In PreparingRebalance the coordinator waits until all members have joined; a group that was
empty waits for its initial delay instead. In CompletingRebalance it waits for the leader's assignment. Each phase has a
timer, and so has each member's session.

Source: the methods of GroupMetadataManager from `maybeCompleteJoinPhase` to `expirePendingSync`,
kafka-group-coordinator 4.3.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.coordinator.cause import RebalanceCause
from assignor.coordinator.error_codes import ErrorCode
from assignor.coordinator.records import group_record
from assignor.coordinator.replies import generation_joined, generation_synced, join_failed, sync_failed
from assignor.coordinator.state import GroupEvent, GroupState
from assignor.coordinator.timers import Timer

if TYPE_CHECKING:
    from assignor.coordinator.config import CoordinatorConfig
    from assignor.coordinator.group import ClassicGroup, GroupMember
    from assignor.coordinator.groups import Groups
    from assignor.coordinator.leading import Leading
    from assignor.coordinator.outbox import Asked, Outbox
    from assignor.coordinator.timers import Timers

__all__ = ["Rebalancing"]

_CAN_REBALANCE = GroupState.PREPARING_REBALANCE.previous_valid_states


class Rebalancing:
    """The rebalances of all groups."""

    def __init__(
        self, config: CoordinatorConfig, groups: Groups, timers: Timers, outbox: Outbox, leading: Leading
    ) -> None:
        self._config = config
        self._groups = groups
        self._timers = timers
        self._out = outbox
        self._leading = leading

    # Beginning

    def rebalance_or_complete(self, group: ClassicGroup, cause: RebalanceCause, reason: str) -> None:
        """Begin a rebalance, or end the join phase of the one that is under way if nobody is missing."""
        if group.state in _CAN_REBALANCE:
            self.prepare(group, cause, reason)
        else:
            self.complete_if_joined(group)

    def prepare(self, group: ClassicGroup, cause: RebalanceCause, reason: str) -> None:
        """Begin a rebalance."""
        if group.state is GroupState.COMPLETING_REBALANCE:
            self.reset_assignment(group, ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_syncs.clear()
        self._timers.cancel(group.sync_timer)
        self._out.rebalance(group, cause, reason)
        was_empty = group.state is GroupState.EMPTY
        if was_empty:
            delay = self._config.initial_rebalance_delay_ms
            group.initial_delay = (delay, max(group.rebalance_timeout_ms - delay, 0))
            self._timers.set(group.join_timer, self._out.now + delay)
        group.move(GroupEvent.REBALANCE, self._out.now)
        if not was_empty:
            if group.all_joined:
                self.complete_join(group)
            else:
                self._timers.set(group.join_timer, self._out.now + group.rebalance_timeout_ms)

    def reset_assignment(self, group: ClassicGroup, error: ErrorCode) -> None:
        """Forget the assignments of a generation that will not be, and tell those who wait for them."""
        for member in group.members.in_any_order():
            member.assignment = b""
            if member.sync is not None:
                self._out.answer(member.sync, sync_failed(error))
                member.sync = None
                self.restart_session(member)

    # The join phase

    def complete_if_joined(self, group: ClassicGroup) -> None:
        """End the join phase if everybody joined; the initial delay runs to its end."""
        if group.state is not GroupState.PREPARING_REBALANCE:
            return
        if not group.is_initial and group.all_joined:
            self.complete_join(group)
        elif group.overdue:
            self._timers.set(group.join_timer, self._out.now)

    def complete_join(self, group: ClassicGroup) -> None:
        """End the join phase: begin the next generation with those who joined, and with absent static members."""
        self._timers.cancel(group.join_timer)
        group.initial_delay = None
        group.overdue = False
        absent = [
            member
            for member in group.members.in_any_order()
            if member.join is None and member.group_instance_id is None
        ]
        for member in absent:
            self.remove(group, member.member_id)
        if not group.elect_joined_leader() and len(group.members):
            # Only absent static members: their sessions end, or somebody joins. Where there is no time to wait for that
            # Kafka's timer fires again and again, and finds nothing to do until something happens.
            group.overdue = group.rebalance_timeout_ms <= 0
            if not group.overdue:
                self._timers.set(group.join_timer, self._out.now + group.rebalance_timeout_ms)
            return
        group.next_generation(self._out.now)
        if group.state is GroupState.EMPTY:
            self._write_empty(group)
            return
        group.led_here = self._leading.leads(group)
        for member in group.members:
            if member.join is not None:
                self._out.answer(member.join, generation_joined(group, member, member.join))
                group.await_join(member, None)
            self.restart_session(member)
            member.is_new = False
            group.pending_syncs.add(member.member_id)
        self._timers.set(group.sync_timer, self._out.now + group.rebalance_timeout_ms)
        self._leading.remember_topics(group)
        if group.led_here:
            self.store_assignment(group, self._leading.assign(group))

    def _write_empty(self, group: ClassicGroup) -> None:
        generation = group.generation

        def done(error: ErrorCode | None) -> None:
            if error is not None and group.state is not GroupState.DEAD:
                self._out.problem(
                    f"group {group.group_id!r}: the empty generation {generation} could not be written ({error.name})"
                )

        self._out.write(group.group_id, [group_record(group, {})], done)

    def join_time_is_over(self, timer: Timer) -> None:
        """The join timer ended: extend the initial delay if somebody came meanwhile, else end the join phase."""
        group = self._groups[timer.group_id]
        if group.initial_delay is not None:
            delay, remaining = group.initial_delay
            if group.new_member_added and remaining:
                group.new_member_added = False
                step = min(self._config.initial_rebalance_delay_ms, remaining)
                group.initial_delay = (step, max(remaining - delay, 0))
                self._timers.set(timer, self._out.now + step)
                return
        self.complete_join(group)

    # The sync phase

    def store_assignment(self, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
        """Write the leader's assignment, and hand it out once it is written."""
        generation = group.generation

        def done(error: ErrorCode | None) -> None:
            if group.state is not GroupState.COMPLETING_REBALANCE or group.generation != generation:
                return
            if error is None:
                self._hand_out(group, assignment)
            else:
                self.reset_assignment(group, error)
                self.prepare(
                    group,
                    RebalanceCause.ASSIGNMENT_NOT_STORED,
                    f"The assignment of generation {generation} could not be written ({error.name}).",
                )

        self._out.write(group.group_id, [group_record(group, assignment)], done)

    def _hand_out(self, group: ClassicGroup, assignment: dict[str, bytes]) -> None:
        for member in group.members:
            member.assignment = assignment.get(member.member_id, b"")
            if member.sync is not None:
                self.answer_sync(group, member, member.sync)
                member.sync = None
                self.restart_session(member)
        group.move(GroupEvent.ASSIGNED, self._out.now)

    def answer_sync(self, group: ClassicGroup, member: GroupMember, asked: Asked) -> None:
        """Give a member its assignment."""
        self._out.answer(asked, generation_synced(group, member, asked))

    def sync_time_is_over(self, timer: Timer) -> None:
        """The sync timer ended: those who did not ask for their assignment go."""
        group = self._groups[timer.group_id]
        if group.pending_syncs:
            late = sorted(group.pending_syncs)
            for member_id in late:
                self.remove(group, member_id)
            shown = ", ".join(late[:3]) + (f" and {len(late) - 3} more" if len(late) > 3 else "")
            self.prepare(group, RebalanceCause.SYNC_TIMED_OUT, f"No SyncGroup came in time from {shown}.")

    # Sessions

    def restart_session(self, member: GroupMember) -> None:
        """A member has been heard of, or has been told something."""
        self._timers.set(member.timer, self._out.now + member.session_timeout_ms)

    def session_is_over(self, timer: Timer) -> None:
        """Nothing was heard of a member, or of a member id that was given out, within its session timeout."""
        group = self._groups[timer.group_id]
        if timer.member_id in group.pending_joins:
            group.remove(timer.member_id)
            if group.state is GroupState.PREPARING_REBALANCE and group.all_joined:
                self.complete_join(group)
            return
        member = group.members.get(timer.member_id)
        if member is None or member.counts_as_alive:
            return
        self.dismiss(group, member)
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            cause = RebalanceCause.CONSUMER_DEAD if member.connected else RebalanceCause.APPLICATION_CRASHED
            silence = f"no heartbeat for {member.session_timeout_ms} ms"
            if not member.connected:
                silence = f"its connection ended, and there was {silence}"
            self.prepare(group, cause, f"Member {member.member_id}: {silence}.")
        elif group.state is GroupState.PREPARING_REBALANCE and group.all_joined:
            self.complete_join(group)

    # Members that go

    def dismiss(self, group: ClassicGroup, member: GroupMember) -> None:
        """Take a member out; its join that waits is answered, its sync that waits is not."""
        if member.join is not None:
            self._out.answer(member.join, join_failed(ErrorCode.UNKNOWN_MEMBER_ID, "", member.join))
            group.await_join(member, None)
        self.remove(group, member.member_id)

    def remove(self, group: ClassicGroup, member_id: str) -> None:
        """Take a member, or a member id that is not used yet, and its timer out."""
        member = group.members.get(member_id)
        timer = group.pending_joins.get(member_id) if member is None else member.timer
        if timer is not None:
            self._timers.cancel(timer)
        group.remove(member_id)
