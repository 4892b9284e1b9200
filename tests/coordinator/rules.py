"""Wrong rules: changes to the coordinator, one small rule each, that comparisons with a broker must detect.

Each rule is a plausible belief about Kafka's coordinator: from its documentation, an older version, or intuition.
`RULES` has them by name; `timer_rules` adds the rules about time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from assignor.coordinator import ErrorCode, GroupState, committing, group, joining, membership, rebalancing
from assignor.coordinator import coordinator as coordinators
from assignor.coordinator.causes import MembersLeft, StaticMemberReturned
from assignor.coordinator.group import ClassicGroup
from assignor.coordinator.members import BrokenGroupError, MemberTable
from assignor.coordinator.responses import join_error, join_response, sync_error
from assignor.coordinator.state import ANSWERS, Action, RequestKind

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState

Change = Callable[[pytest.MonkeyPatch], None]


class Rule(NamedTuple):
    """A wrong rule.

    Attributes:
        change: Function that makes the coordinator follow the rule.
        profile: Profile of traces that detect the rule; these traces are tried first.
    """

    change: Change
    profile: str


RULES: dict[str, Rule] = {}
"""Rules by their statements."""


def wrong(
    statement: str, profile: str, owner: type | ModuleType, name: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a rule that replaces a method, property or function; the replacement gets the original first."""

    def register(instead: Callable[..., Any]) -> Callable[..., Any]:
        original = getattr(owner, name)

        def replacement(*arguments: Any) -> Any:
            return instead(original, *arguments)

        def change(patch: pytest.MonkeyPatch) -> None:
            patch.setattr(owner, name, property(replacement) if isinstance(original, property) else replacement)
            for table in (coordinators.REQUEST_HANDLERS, coordinators.TIMER_HANDLERS):
                handlers: Any = table
                for kind in [kind for kind, handler in handlers.items() if handler is original]:
                    patch.setitem(handlers, kind, replacement)

        RULES[statement] = Rule(change, profile)
        return instead

    return register


def wrong_answer(
    statement: str, profile: str, state: GroupState, kind: RequestKind, answer: Action | ErrorCode
) -> None:
    """Register a rule that changes the answer of a state."""
    row: Any = ANSWERS[state]
    RULES[statement] = Rule(lambda patch: patch.setitem(row, kind, answer), profile)


def wrong_name(statement: str, profile: str, module: object, name: str, value: object) -> None:
    """Register a rule that replaces a number or function of a module."""
    RULES[statement] = Rule(lambda patch: patch.setattr(module, name, value), profile)


def without(owner: Any, name: str, action: Callable[[], Any]) -> Any:
    """Run an action while a function of a module does nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, lambda *_: None)
        return action()


# ---- tables

wrong_answer(
    "a heartbeat in CompletingRebalance is answered REBALANCE_IN_PROGRESS",
    "rebalance",
    COMPLETING,
    RequestKind.HEARTBEAT,
    ErrorCode.REBALANCE_IN_PROGRESS,
)
wrong_answer(
    "the leader's rejoin in Stable does not rebalance",
    "rebalance",
    STABLE,
    RequestKind.JOIN,
    Action.ANSWER_IF_UNCHANGED,
)
wrong_answer(
    "a rejoin in CompletingRebalance with the same protocols rebalances",
    "rebalance",
    COMPLETING,
    RequestKind.JOIN,
    Action.WAIT,
)
wrong_answer("a commit in CompletingRebalance is accepted", "commit", COMPLETING, RequestKind.COMMIT, Action.STORE)
wrong_answer(
    "a commit in PreparingRebalance is rejected",
    "commit",
    PREPARING,
    RequestKind.COMMIT,
    ErrorCode.REBALANCE_IN_PROGRESS,
)
wrong_name("a null protocol in SyncGroup v5 matches", "hostile", membership, "SYNC_WITH_PROTOCOL", 99)
wrong_name(
    "a commit to a missing group is always ILLEGAL_GENERATION",
    "special-no_group",
    committing,
    "WITH_GROUP_ID_NOT_FOUND",
    99,
)
wrong_name("a new member joins without a member id in all versions", "basic", joining, "WITH_MEMBER_ID_REQUIRED", 10)
wrong_name("SkipAssignment exists before version 9", "static", joining, "JOIN_WITH_SKIP_ASSIGNMENT", 5)
wrong_name("the first member's vote breaks ties", "crowd", group, "text_order", list)
wrong_name("alphabetical order breaks ties of votes", "crowd", group, "text_order", sorted)
wrong_name(
    "static replacement before version 9 shows the new leader",
    "static",
    joining,
    "join_response",
    lambda *arguments, leader=None, original=join_response, **named: original(*arguments, **named),  # noqa: ARG005 - the original signature
)
wrong_name(
    "SkipAssignment does not exist",
    "static",
    joining,
    "join_response",
    lambda *arguments, original=join_response, **named: original(*arguments, **{**named, "skip_assignment": False}),
)


# ---- joins


@wrong("static replacement in Stable always rebalances", "static", joining, "_write_successor")
def _(_original: Any, context: Any, group: Any, *_: Any) -> None:
    rebalancing.prepare_rebalance(context, group, StaticMemberReturned("", "", False, None))


@wrong("a waiting join that is replaced gets no answer", "static", joining, "_replace")
def _(original: Any, context: Any, group: Any, old: Any, *others: Any) -> None:
    group.await_join(old, None)
    original(context, group, old, *others)


@wrong("a replaced static member still counts as new", "special-static", joining, "_put_successor")
def _(original: Any, context: Any, group: Any, old: Any, member_id: str) -> Any:
    new = original(context, group, old, member_id)
    new.is_new = old.is_new
    return new


@wrong("a second waiting join answers the first", "special-parked_twice", joining, "_rejoin")
def _(original: Any, context: Any, group: Any, request: Any, pending: Any, *answer: Any) -> Any:
    member = group.members.get(request.member_id)
    if member is not None and member.join is not None:
        context.answer(member.join, join_error(ErrorCode.UNKNOWN_MEMBER_ID, "", member.join))
    return original(context, group, request, pending, *answer)


@wrong("a rejected first join does not create the group", "special-no_group", joining, "_write_new_group")
def _(original: Any, context: Any, group: Any, pending: Any) -> None:
    original(context, group, pending)
    if not group.members and not group.pending_joins:
        context.discard_group(group)


@wrong("a pending id that joins with an instance id is removed", "pending", joining, "_join_group")
def _(original: Any, context: Any, group: Any, request: Any, pending: Any) -> Any:
    try:
        return original(context, group, request, pending)
    except BrokenGroupError:
        if request.member_id:
            rebalancing.remove_id(context, group, request.member_id)
        raise


@wrong("a full group accepts members while it prepares a rebalance", "special-full", joining, "_has_room")
def _(original: Any, context: Any, group: Any, member_id: str) -> bool:
    return member_id in group.members or bool(original(context, group, member_id))


@wrong("the size of the group is not limited", "special-full", joining, "_has_room")
def _(*_: Any) -> bool:
    return True


@wrong("pending ids count towards the size of the group", "crowd", joining, "_has_room")
def _(original: Any, context: Any, group: Any, member_id: str) -> bool:
    size = len(group.members) + len(group.pending_joins)
    known = member_id in group.members or member_id in group.pending_joins
    return bool(original(context, group, member_id)) and (known or size < context.config.group_max_size)


@wrong("a full group keeps a member that it rejects", "special-full", joining, "join")
def _(original: Any, context: Any, request: Any, pending: Any) -> Any:
    group = context.groups.get(request.group_id)
    if group is None or joining._has_room(context, group, request.member_id):
        return original(context, request, pending)
    return without(rebalancing, "remove_id", lambda: original(context, request, pending))


@wrong("protocols are checked before the size of the group", "crowd", joining, "join")
def _(original: Any, context: Any, request: Any, pending: Any) -> Any:
    group = context.groups.get(request.group_id)
    if group is None or group.supports(request.protocol_type, request.protocols):
        return original(context, request, pending)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joining, "_has_room", lambda *_: True)
        return original(context, request, pending)


# ---- requests of members


@wrong("the first of two assignments for a member wins", "special-twice_assigned", membership, "sync")
def _(original: Any, context: Any, request: Any, pending: Any) -> Any:
    return original(context, dataclasses.replace(request, assignments=request.assignments[::-1]), pending)


@wrong("a batch of leaving members causes one rebalance per member", "special-batch_mixed", membership, "leave")
def _(original: Any, context: Any, request: Any, pending: Any) -> Any:
    remove, rebalance = membership._remove, rebalancing.rebalance_or_complete_join

    def leave_alone(context: Any, group: Any, leaving: Any) -> Any:
        error = remove(context, group, leaving)
        if error is ErrorCode.NONE and group.state is not EMPTY:
            rebalance(context, group, MembersLeft([leaving]))
        return error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership, "_remove", leave_alone)
        return without(rebalancing, "rebalance_or_complete_join", lambda: original(context, request, pending))


@wrong("leaving by instance id requires the member id", "batch", membership, "_remove")
def _(original: Any, context: Any, group: Any, leaving: Any) -> Any:
    return original(context, group, leaving) if leaving.member_id else ErrorCode.UNKNOWN_MEMBER_ID


@wrong("the instance id of a pending id that leaves is checked", "hostile", membership, "_remove")
def _(original: Any, context: Any, group: Any, leaving: Any) -> Any:
    checked = leaving.member_id in group.pending_joins and leaving.group_instance_id is not None
    return ErrorCode.UNKNOWN_MEMBER_ID if checked else original(context, group, leaving)


@wrong("a waiting sync is answered when its member leaves", "special-sync_parked", rebalancing, "remove_member")
def _(original: Any, context: Any, group: Any, member: Any) -> None:
    if member.sync is not None:
        context.answer(member.sync, sync_error(ErrorCode.UNKNOWN_MEMBER_ID))
    original(context, group, member)


@wrong(
    "a commit with a generation to a missing group is UNKNOWN_MEMBER_ID",
    "special-no_group",
    committing,
    "_check_commit",
)
def _(original: Any, context: Any, request: Any) -> Any:
    missing = request.group_id not in context.groups and request.generation_id >= 0
    return ErrorCode.UNKNOWN_MEMBER_ID if missing else original(context, request)


# ---- groups


@wrong("members are in the order of their joins", "basic", MemberTable, "in_order")
def _(_original: Any, self: Any) -> Any:
    return list(self.values())


@wrong("the oldest member becomes the leader", "churn", MemberTable, "first")
def _(_original: Any, self: Any) -> Any:
    return next(iter(self.values()), None)


@wrong("the table of members never grows", "special-many_members", MemberTable, "put")
def _(original: Any, self: Any, member: Any) -> None:
    original(self, member)
    self._capacity, self._firsts = 16, None


@wrong("an Empty group keeps its protocol type for new members", "special-retype", ClassicGroup, "supports")
def _(original: Any, self: Any, protocol_type: str, protocols: Any) -> bool:
    return bool(original(self, protocol_type, protocols)) and self.protocol_type in (None, protocol_type)


@wrong("an Empty group has no protocol type", "basic", ClassicGroup, "move")
def _(original: Any, self: Any, event: Any, now: int) -> None:
    original(self, event, now)
    if self.state is EMPTY:
        self.protocol_type = None


@wrong("the leader's preferred protocol is selected", "protocols", ClassicGroup, "select_protocol")
def _(_original: Any, self: Any) -> Any:
    supported = {name for name, count in self._supported.items() if count == len(self.members)}
    return self.members.get(self.leader).vote(supported)


@wrong("the generation stays the same when the group becomes Empty", "basic", ClassicGroup, "next_generation")
def _(original: Any, self: Any, now: int) -> None:
    original(self, now)
    self.generation -= self.state is EMPTY


@wrong("the join phase ends although no member rejoined", "special", ClassicGroup, "elect_joined_leader")
def _(original: Any, self: Any) -> bool:
    return bool(original(self)) or True


@wrong("the sync of a replaced member's old id is not awaited", "special-replaced", ClassicGroup, "replace")
def _(original: Any, self: Any, old: Any, member_id: str) -> Any:
    self.pending_syncs.pop(old.member_id, None)
    return original(self, old, member_id)


@wrong("the sync of a replaced member's successor is awaited", "special-replaced", ClassicGroup, "replace")
def _(original: Any, self: Any, old: Any, member_id: str) -> Any:
    if old.member_id in self.pending_syncs:
        self.pending_syncs[member_id] = None
    return original(self, old, member_id)


@wrong("assignments are cleared when a group leaves Stable", "basic", rebalancing, "prepare_rebalance")
def _(original: Any, context: Any, group: Any, fact: Any) -> None:
    if group.state is STABLE:
        for member in group.members.values():
            member.assignment = b""
    original(context, group, fact)


@wrong("absent static members are removed when the join phase ends", "static", rebalancing, "complete_join")
def _(original: Any, context: Any, group: Any) -> None:
    for member in group.members.in_order():
        if member.join is None:
            rebalancing.remove_id(context, group, member.member_id)
    original(context, group)


@wrong("pending ids do not delay the end of the join phase", "pending", ClassicGroup, "all_joined")
def _(_original: Any, group: Any) -> bool:
    return bool(len(group.members) == group.waiting_joins)


@wrong("a new member ends an initial rebalance immediately", "special-delayed", ClassicGroup, "is_initial")
def _(_original: Any, _group: Any) -> bool:
    return False
