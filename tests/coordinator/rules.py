"""Wrong rules: one small thing changed in the coordinator at a time, which the recorded traces have to notice.

They are what one could believe of Kafka's coordinator, from its documentation, its older versions or common sense.
`RULES` has them by name; `timer_rules` has those about time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from assignor.coordinator import ErrorCode, GroupState, RebalanceCause, committing, group, joining, membership
from assignor.coordinator.committing import Committing
from assignor.coordinator.group import BrokenGroupError, ClassicGroup
from assignor.coordinator.joining import Joining
from assignor.coordinator.member_table import MemberTable
from assignor.coordinator.membership import Membership
from assignor.coordinator.rebalancing import Rebalancing
from assignor.coordinator.replies import generation_joined, join_failed, sync_failed
from assignor.coordinator.state import ANSWERS, Deed, RequestKind

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState

Change = Callable[[pytest.MonkeyPatch], None]


class Rule(NamedTuple):
    """A wrong rule.

    Attributes:
        change: Makes the coordinator follow it.
        profile: Of traces that notice it, which are tried first.
    """

    change: Change
    profile: str


RULES: dict[str, Rule] = {}
"""By what they say."""


def wrong(says: str, profile: str, owner: type, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Notes a rule: a method that does something else; it is given the right one first."""

    def note(instead: Callable[..., Any]) -> Callable[..., Any]:
        right = getattr(owner, name)

        def method(self: Any, *arguments: Any) -> Any:
            return instead(right, self, *arguments)

        RULES[says] = Rule(lambda patch: patch.setattr(owner, name, method), profile)
        return instead

    return note


def wrong_property(
    says: str, profile: str, owner: type, name: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Notes a rule: a property that is another."""

    def note(instead: Callable[..., Any]) -> Callable[..., Any]:
        RULES[says] = Rule(lambda patch: patch.setattr(owner, name, property(instead)), profile)
        return instead

    return note


def wrong_answer(says: str, profile: str, state: GroupState, kind: RequestKind, answer: Deed | ErrorCode) -> None:
    """Notes a rule: a state that answers otherwise."""
    row: Any = ANSWERS[state]
    RULES[says] = Rule(lambda patch: patch.setitem(row, kind, answer), profile)


def wrong_name(says: str, profile: str, module: object, name: str, value: object) -> None:
    """Notes a rule: a number or a function that is another."""
    RULES[says] = Rule(lambda patch: patch.setattr(module, name, value), profile)


def without(owner: Any, name: str, deed: Callable[[], Any]) -> Any:
    """Does something while a method of an object does nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, lambda *_: None)
        return deed()


# ---- tables

wrong_answer(
    "a heartbeat in CompletingRebalance says REBALANCE_IN_PROGRESS",
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
    Deed.ANSWER_IF_UNCHANGED,
)
wrong_answer(
    "a rejoin in CompletingRebalance with the same protocols rebalances",
    "rebalance",
    COMPLETING,
    RequestKind.JOIN,
    Deed.PARK,
)
wrong_answer("a commit in CompletingRebalance is accepted", "commit", COMPLETING, RequestKind.COMMIT, Deed.STORE)
wrong_answer(
    "a commit in PreparingRebalance is refused",
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
wrong_name("SkipAssignment is there before version 9", "static", joining, "JOIN_WITH_SKIP_ASSIGNMENT", 5)
wrong_name("vote ties go to whom the first member votes for", "crowd", group, "text_order", list)
wrong_name("vote ties go by the alphabet", "crowd", group, "text_order", sorted)
wrong_name(
    "static replacement before version 9 shows the new leader",
    "static",
    joining,
    "generation_joined",
    lambda *arguments, leader=None, right=generation_joined, **named: right(*arguments, **named),  # noqa: ARG005 - the right one's signature
)
wrong_name(
    "there is no SkipAssignment",
    "static",
    joining,
    "generation_joined",
    lambda *arguments, right=generation_joined, **named: right(*arguments, **{**named, "skip_assignment": False}),
)


# ---- joins


@wrong("static replacement in Stable always rebalances", "static", Joining, "_write_successor")
def _(_right: Any, self: Any, group: Any, *_: Any) -> None:
    self._rebalancing.prepare(group, RebalanceCause.STATIC_MEMBER_RETURNED, "")


@wrong("a replaced join that waits is not answered", "static", Joining, "_replace")
def _(right: Any, self: Any, group: Any, old: Any, *others: Any) -> None:
    group.await_join(old, None)
    right(self, group, old, *others)


@wrong("a replaced static member still counts as new", "special-static", Joining, "_succeed")
def _(right: Any, self: Any, group: Any, old: Any, member_id: str) -> Any:
    new = right(self, group, old, member_id)
    new.is_new = old.is_new
    return new


@wrong("a second join that waits answers the first", "special-parked_twice", Joining, "_take_over")
def _(right: Any, self: Any, group: Any, member: Any, request: Any, asked: Any) -> None:
    if member.join is not None:
        self._out.answer(member.join, join_failed(ErrorCode.UNKNOWN_MEMBER_ID, "", member.join))
    right(self, group, member, request, asked)


@wrong("a refused first join does not create the group", "special-no_group", Joining, "_write_new")
def _(right: Any, self: Any, group: Any, asked: Any) -> None:
    right(self, group, asked)
    if not len(group.members) and not group.pending_joins:
        self._groups.discard(group)


@wrong("a pending id that is used with an instance id is forgotten", "pending", Joining, "_join_known")
def _(right: Any, self: Any, group: Any, request: Any, asked: Any) -> None:
    try:
        right(self, group, request, asked)
    except BrokenGroupError:
        self._rebalancing.remove(group, request.member_id)
        raise


@wrong("in a full group members are accepted while it prepares", "special-full", Joining, "_has_room")
def _(right: Any, self: Any, group: Any, member_id: str) -> bool:
    return member_id in group.members or bool(right(self, group, member_id))


@wrong("pending ids count towards the size of the group", "crowd", Joining, "_has_room")
def _(right: Any, self: Any, group: Any, member_id: str) -> bool:
    size = len(group.members) + len(group.pending_joins)
    known = member_id in group.members or member_id in group.pending_joins
    return bool(right(self, group, member_id)) and (known or size < self._config.group_max_size)


@wrong("a full group keeps a member that it refuses", "special-full", Joining, "join")
def _(right: Any, self: Any, request: Any, asked: Any) -> None:
    group = self._groups.get(request.group_id)
    if group is None or self._has_room(group, request.member_id):
        right(self, request, asked)
    else:
        without(self._rebalancing, "remove", lambda: right(self, request, asked))


@wrong("protocols are checked before the size of the group", "crowd", Joining, "join")
def _(right: Any, self: Any, request: Any, asked: Any) -> None:
    group = self._groups.get(request.group_id)
    if group is None or group.supports(request.protocol_type, request.protocols):
        right(self, request, asked)
    else:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self, "_has_room", lambda *_: True)
            right(self, request, asked)


# ---- what members ask


@wrong("the first of two assignments for a member counts", "special-twice_assigned", Membership, "sync")
def _(right: Any, self: Any, request: Any, asked: Any) -> None:
    right(self, dataclasses.replace(request, assignments=request.assignments[::-1]), asked)


@wrong("a batch that leaves rebalances per member", "special-batch_mixed", Membership, "leave")
def _(right: Any, self: Any, request: Any, asked: Any) -> None:
    leave, go_on = self._leave, self._after_leaving

    def leave_alone(group: Any, leaving: Any) -> Any:
        error = leave(group, leaving)
        if error is ErrorCode.NONE:
            go_on(group, [leaving])
        return error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(self, "_leave", leave_alone)
        patch.setattr(self, "_after_leaving", lambda *_: None)
        right(self, request, asked)


@wrong("who leaves by an instance id needs the member id", "batch", Membership, "_leave")
def _(right: Any, self: Any, group: Any, leaving: Any) -> Any:
    return right(self, group, leaving) if leaving.member_id else ErrorCode.UNKNOWN_MEMBER_ID


@wrong("a pending id that leaves with an instance id is checked", "hostile", Membership, "_leave")
def _(right: Any, self: Any, group: Any, leaving: Any) -> Any:
    checked = leaving.member_id in group.pending_joins and leaving.group_instance_id is not None
    return ErrorCode.UNKNOWN_MEMBER_ID if checked else right(self, group, leaving)


@wrong("a sync that waits is answered when its member leaves", "special-sync_parked", Rebalancing, "dismiss")
def _(right: Any, self: Any, group: Any, member: Any) -> None:
    if member.sync is not None:
        self._out.answer(member.sync, sync_failed(ErrorCode.UNKNOWN_MEMBER_ID))
    right(self, group, member)


@wrong(
    "a commit with a generation to a missing group is UNKNOWN_MEMBER_ID", "special-no_group", Committing, "_may_commit"
)
def _(right: Any, self: Any, request: Any) -> Any:
    missing = request.group_id not in self._groups and request.generation_id >= 0
    return ErrorCode.UNKNOWN_MEMBER_ID if missing else right(self, request)


# ---- groups


@wrong("the members are in the order in which they joined", "basic", MemberTable, "__iter__")
def _(_right: Any, self: Any) -> Any:
    return iter(self.in_any_order())


@wrong("the oldest member becomes the leader", "churn", MemberTable, "first")
def _(_right: Any, self: Any) -> Any:
    return next(iter(self.in_any_order()), None)


@wrong("the table of members never grows", "special-many_members", MemberTable, "put")
def _(right: Any, self: Any, member: Any) -> None:
    right(self, member)
    self._capacity, self._firsts = 16, None


@wrong("the protocol type of an emptied group binds newcomers", "special-retype", ClassicGroup, "supports")
def _(right: Any, self: Any, protocol_type: str, protocols: Any) -> bool:
    return bool(right(self, protocol_type, protocols)) and self.protocol_type in (None, protocol_type)


@wrong("the protocol is the one that the leader likes best", "protocols", ClassicGroup, "select_protocol")
def _(_right: Any, self: Any) -> Any:
    everybodys = {name for name, count in self._supported.items() if count == len(self.members)}
    return self.members.get(self.leader).vote(everybodys)


@wrong("the generation does not grow when the group becomes empty", "basic", ClassicGroup, "next_generation")
def _(right: Any, self: Any, now: int) -> None:
    right(self, now)
    self.generation -= self.state is EMPTY


@wrong("the join phase ends though nobody joined again", "special-nobody_rejoins", ClassicGroup, "elect_joined_leader")
def _(right: Any, self: Any) -> bool:
    return bool(right(self)) or True


@wrong("a replaced member's id is no longer awaited for its sync", "special-replaced", ClassicGroup, "replace")
def _(right: Any, self: Any, old: Any, new: Any) -> None:
    right(self, old, new)
    self.pending_syncs.discard(old.member_id)


@wrong("a replaced member's successor is awaited for its sync", "special-replaced", ClassicGroup, "replace")
def _(right: Any, self: Any, old: Any, new: Any) -> None:
    right(self, old, new)
    if old.member_id in self.pending_syncs:
        self.pending_syncs.add(new.member_id)


@wrong("assignments are cleared when a group is Stable no more", "basic", Rebalancing, "prepare")
def _(right: Any, self: Any, group: Any, *others: Any) -> None:
    if group.state is STABLE:
        for member in group.members:
            member.assignment = b""
    right(self, group, *others)


@wrong("absent static members go when the join phase ends", "static", Rebalancing, "complete_join")
def _(right: Any, self: Any, group: Any) -> None:
    for member in list(group.members):
        if member.join is None:
            self.remove(group, member.member_id)
    right(self, group)


@wrong_property("pending ids do not hold up the join phase", "pending", ClassicGroup, "all_joined")
def _(group: Any) -> bool:
    return bool(len(group.members) == group.awaiting_join)


@wrong_property("a newcomer to an initial rebalance ends it at once", "special-delayed", ClassicGroup, "is_initial")
def _(_group: Any) -> bool:
    return False
