"""Coordinators with one wrong rule each; the comparison must notice all of them."""

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


def _members_in_join_order(patch: pytest.MonkeyPatch) -> None:
    def in_join_order(table: MemberTable) -> list[GroupMember]:
        return list(table.values())

    patch.setattr(MemberTable, "in_order", in_join_order)


def _alphabetical_votes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("assignor.coordinator.group.text_order", sorted)


def _pending_ids_are_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ClassicGroup, "all_joined", property(lambda group: len(group.members) == group.waiting_joins))


def _absent_static_members_are_removed(patch: pytest.MonkeyPatch) -> None:
    original = rebalancing.complete_join

    def complete_join(context: Context, group: ClassicGroup) -> None:
        for member in group.members.in_order():
            if member.join is None:
                rebalancing.remove_id(context, group, member.member_id)
        original(context, group)

    patch.setattr(rebalancing, "complete_join", complete_join)


def _assignments_are_reset_in_stable(patch: pytest.MonkeyPatch) -> None:
    original = rebalancing.prepare_rebalance

    def prepare_rebalance(context: Context, group: ClassicGroup, fact: Fact) -> None:
        rebalancing.reset_assignment(context, group, ErrorCode.REBALANCE_IN_PROGRESS)
        original(context, group, fact)

    patch.setattr(rebalancing, "prepare_rebalance", prepare_rebalance)


def _no_generation_for_an_empty_group(patch: pytest.MonkeyPatch) -> None:
    original = ClassicGroup.next_generation

    def next_generation(self: ClassicGroup, now: int) -> None:
        original(self, now)
        if self.state is GroupState.EMPTY:
            self.generation -= 1

    patch.setattr(ClassicGroup, "next_generation", next_generation)


def _doubled_session(patch: pytest.MonkeyPatch) -> None:
    def restart_session(context: Context, member: GroupMember) -> None:
        context.timers.set(member, context.now + 2 * member.session_timeout_ms)

    patch.setattr(rebalancing, "restart_session", restart_session)


def _unlimited_group_size(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(joining, "_has_room", lambda *_: True)


def _empty_group_loses_its_protocol_type(patch: pytest.MonkeyPatch) -> None:
    original = ClassicGroup.move

    def move(self: ClassicGroup, event: GroupEvent, now: int) -> None:
        original(self, event, now)
        if self.state is GroupState.EMPTY:
            self.protocol_type = None

    patch.setattr(ClassicGroup, "move", move)


MISTAKES: dict[str, Patch] = {
    "a heartbeat in CompletingRebalance gets REBALANCE_IN_PROGRESS": _answer(
        GroupState.COMPLETING_REBALANCE, RequestKind.HEARTBEAT, ErrorCode.REBALANCE_IN_PROGRESS
    ),
    "a commit in CompletingRebalance is stored": _answer(
        GroupState.COMPLETING_REBALANCE, RequestKind.COMMIT, Action.STORE
    ),
    "a commit in PreparingRebalance is rejected": _answer(
        GroupState.PREPARING_REBALANCE, RequestKind.COMMIT, ErrorCode.REBALANCE_IN_PROGRESS
    ),
    "a join of the leader in Stable starts no rebalance": _answer(
        GroupState.STABLE, RequestKind.JOIN, Action.ANSWER_IF_UNCHANGED
    ),
    "members are listed in the order of their joins": _members_in_join_order,
    "between protocols with equal votes the alphabet decides": _alphabetical_votes,
    "a pending member id does not delay the join phase": _pending_ids_are_ignored,
    "absent static members are removed when the others have joined": _absent_static_members_are_removed,
    "assignments are removed when a rebalance starts in Stable": _assignments_are_reset_in_stable,
    "the generation is not incremented when the last member leaves": _no_generation_for_an_empty_group,
    "session timeouts are doubled": _doubled_session,
    "group_max_size is ignored": _unlimited_group_size,
    "an empty group has no protocol type": _empty_group_loses_its_protocol_type,
    "a sync without a protocol is accepted in every version": lambda patch: patch.setattr(
        membership, "SYNC_WITH_PROTOCOL", 6
    ),
    "a commit for a missing group gets the same error in all versions": lambda patch: patch.setattr(
        committing, "WITH_GROUP_ID_NOT_FOUND", 11
    ),
    "a new member joins without a member id in all versions": lambda patch: patch.setattr(
        joining, "WITH_MEMBER_ID_REQUIRED", 10
    ),
    "a returning static leader keeps its leadership in all versions": lambda patch: patch.setattr(
        joining, "JOIN_WITH_SKIP_ASSIGNMENT", 0
    ),
}
"""Patches by the description of the wrong rule that each introduces."""
