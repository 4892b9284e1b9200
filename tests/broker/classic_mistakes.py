"""Coordinators that are wrong in one rule each, to see whether a comparison would notice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.coordinator import ErrorCode, GroupState, committing, joining, membership, rebalancing, state
from assignor.coordinator.group import ClassicGroup
from assignor.coordinator.members import GroupMember, MemberTable
from assignor.coordinator.state import Action, GroupEvent, RequestKind

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from assignor.coordinator.causes import Fact
    from assignor.coordinator.context import Context

    Patch = Callable[[pytest.MonkeyPatch], None]

_ANSWERS: Any = state.ANSWERS


def _answer(where: GroupState, what: RequestKind, answer: Action | ErrorCode) -> Patch:
    return lambda patch: patch.setitem(_ANSWERS[where], what, answer)


def _members_as_they_came(patch: pytest.MonkeyPatch) -> None:
    def as_they_came(table: MemberTable) -> list[GroupMember]:
        return sorted(table.values(), key=lambda member: member.insertion)

    patch.setattr(MemberTable, "in_order", as_they_came)


def _alphabetical_votes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("assignor.coordinator.group.text_order", sorted)


def _pending_ids_do_not_count(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ClassicGroup, "all_joined", property(lambda group: len(group.members) == group.waiting_joins))


def _absent_static_members_go(patch: pytest.MonkeyPatch) -> None:
    right = rebalancing.complete_join

    def complete_join(context: Context, group: ClassicGroup) -> None:
        for member in group.members.in_order():
            if member.join is None:
                rebalancing.remove_id(context, group, member.member_id)
        right(context, group)

    patch.setattr(rebalancing, "complete_join", complete_join)


def _assignments_go_with_stable(patch: pytest.MonkeyPatch) -> None:
    right = rebalancing.prepare_rebalance

    def prepare_rebalance(context: Context, group: ClassicGroup, fact: Fact) -> None:
        rebalancing.reset_assignment(context, group, ErrorCode.REBALANCE_IN_PROGRESS)
        right(context, group, fact)

    patch.setattr(rebalancing, "prepare_rebalance", prepare_rebalance)


def _no_generation_for_nobody(patch: pytest.MonkeyPatch) -> None:
    right = ClassicGroup.next_generation

    def next_generation(self: ClassicGroup, now: int) -> None:
        right(self, now)
        if self.state is GroupState.EMPTY:
            self.generation -= 1

    patch.setattr(ClassicGroup, "next_generation", next_generation)


def _twice_the_session(patch: pytest.MonkeyPatch) -> None:
    def restart_session(context: Context, member: GroupMember) -> None:
        context.timers.set(member.timer, context.now + 2 * member.session_timeout_ms)

    patch.setattr(rebalancing, "restart_session", restart_session)


def _room_for_everybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(joining, "_has_room", lambda *_: True)


def _emptied_group_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    right = ClassicGroup.move

    def move(self: ClassicGroup, event: GroupEvent, now: int) -> None:
        right(self, event, now)
        if self.state is GroupState.EMPTY:
            self.protocol_type = None

    patch.setattr(ClassicGroup, "move", move)


MISTAKES: dict[str, Patch] = {
    "a heartbeat is told to join again while the leader is awaited": _answer(
        GroupState.COMPLETING_REBALANCE, RequestKind.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS
    ),
    "a commit is stored while the leader is awaited": _answer(
        GroupState.COMPLETING_REBALANCE, RequestKind.COMMIT, Action.STORE
    ),
    "a commit is refused while members join": _answer(
        GroupState.PREPARING_REBALANCE, RequestKind.COMMIT, ErrorCode.REBALANCE_IN_PROGRESS
    ),
    "the leader's join in Stable changes nothing": _answer(
        GroupState.STABLE, RequestKind.JOIN, Action.ANSWER_IF_UNCHANGED
    ),
    "members are listed as they came": _members_as_they_came,
    "of protocols with as many votes the first by the alphabet is chosen": _alphabetical_votes,
    "a member id that is not used yet holds nothing up": _pending_ids_do_not_count,
    "absent static members go when the others have joined": _absent_static_members_go,
    "assignments go when a rebalance begins in Stable": _assignments_go_with_stable,
    "the generation stays when the last member goes": _no_generation_for_nobody,
    "sessions last twice as long": _twice_the_session,
    "groups are never full": _room_for_everybody,
    "an emptied group has no protocol type": _emptied_group_is_forgotten,
    "a sync without a protocol is well in every version": lambda patch: patch.setattr(
        membership, "SYNC_WITH_PROTOCOL", 6
    ),
    "a commit for a missing group is answered alike in all versions": lambda patch: patch.setattr(
        committing, "WITH_GROUP_ID_NOT_FOUND", 11
    ),
    "a new member is let in without an id of its own": lambda patch: patch.setattr(
        joining, "WITH_MEMBER_ID_REQUIRED", 10
    ),
    "a static member that comes back leads again in all versions": lambda patch: patch.setattr(
        joining, "JOIN_WITH_SKIP_ASSIGNMENT", 0
    ),
}
"""What is wrong, and how to make it so."""
