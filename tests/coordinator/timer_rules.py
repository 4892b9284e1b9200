"""Wrong rules about time: which sessions start anew when, and what the timers of a group do.

Importing this adds them to `rules.RULES`.
"""

from __future__ import annotations

from typing import Any

from assignor.coordinator.committing import Committing
from assignor.coordinator.group import ClassicGroup, GroupMember
from assignor.coordinator.joining import Joining
from assignor.coordinator.membership import Membership
from assignor.coordinator.rebalancing import Rebalancing
from tests.coordinator.rules import COMPLETING, PREPARING, STABLE, without, wrong, wrong_property

# ---- sessions


@wrong("a sync in Stable restarts the session", "static", Rebalancing, "answer_sync")
def _(right: Any, self: Any, group: Any, member: Any, asked: Any) -> None:
    right(self, group, member, asked)
    if group.state is STABLE:
        self.restart_session(member)


@wrong("a session does not restart when the join is answered", "expiry", Rebalancing, "complete_join")
def _(right: Any, self: Any, group: Any) -> None:
    without(self, "restart_session", lambda: right(self, group))


@wrong("a session does not restart when the sync is answered", "expiry", Rebalancing, "_hand_out")
def _(right: Any, self: Any, *others: Any) -> None:
    without(self, "restart_session", lambda: right(self, *others))


@wrong(
    "a session does not restart when the sync is answered with an error",
    "special-parked",
    Rebalancing,
    "reset_assignment",
)
def _(right: Any, self: Any, *others: Any) -> None:
    without(self, "restart_session", lambda: right(self, *others))


@wrong("a heartbeat that says REBALANCE_IN_PROGRESS does not restart the session", "expiry", Membership, "_beat")
def _(right: Any, self: Any, request: Any) -> Any:
    group = self._groups.get(request.group_id)
    if group is None or group.state is not PREPARING:
        return right(self, request)
    return without(self._rebalancing, "restart_session", lambda: right(self, request))


@wrong("a commit does not restart the session", "special-commit_alive", Committing, "_may_commit")
def _(right: Any, self: Any, request: Any) -> Any:
    return without(self._rebalancing, "restart_session", lambda: right(self, request))


@wrong("a replaced member's session runs by the new timeout", "special-static_replaced_other", Joining, "_replace")
def _(right: Any, self: Any, group: Any, old: Any, member_id: str, *others: Any) -> None:
    right(self, group, old, member_id, *others)
    member = group.members.get(member_id)
    if member is not None:
        self._rebalancing.restart_session(member)


def unchanged(group: Any, request: Any) -> Any:
    """The member whose join is answered at once, as it brings nothing new."""
    member = group.members.get(request.member_id)
    if member is None or member.protocols != request.protocols:
        return None
    follows = group.state is STABLE and group.leader != member.member_id
    return member if follows or group.state is COMPLETING else None


@wrong("a rejoin that is answered at once takes over the timeouts", "special-retimed", Joining, "_join_known")
def _(right: Any, self: Any, group: Any, request: Any, asked: Any) -> None:
    if unchanged(group, request):
        self._take_over(group, unchanged(group, request), request, None)
    right(self, group, request, asked)


@wrong("a rejoin that is answered at once restarts the session", "expiry", Joining, "_join_known")
def _(right: Any, self: Any, group: Any, request: Any, asked: Any) -> None:
    if unchanged(group, request):
        self._rebalancing.restart_session(unchanged(group, request))
    right(self, group, request, asked)


@wrong_property("members whose join waits expire", "expiry", GroupMember, "counts_as_alive")
def _(_member: Any) -> bool:
    return False


@wrong_property("new members whose join waits never expire", "special-new_member", GroupMember, "counts_as_alive")
def _(member: Any) -> bool:
    return member.join is not None or member.sync is not None


@wrong("a pending id that is given up does not end the join phase", "pending", Rebalancing, "session_is_over")
def _(right: Any, self: Any, timer: Any) -> None:
    group = self._groups[timer.group_id]
    if timer.member_id in group.pending_joins:
        group.remove(timer.member_id)
    else:
        right(self, timer)


# ---- phases


@wrong_property("the rebalance timeout is the shortest", "rebalance", ClassicGroup, "rebalance_timeout_ms")
def _(group: Any) -> int:
    return max(min((member.rebalance_timeout_ms for member in group.members), default=0), 0)


@wrong_property("the rebalance timeout is the leader's", "rebalance", ClassicGroup, "rebalance_timeout_ms")
def _(group: Any) -> int:
    leader = group.members.get(group.leader)
    return 0 if leader is None else max(leader.rebalance_timeout_ms, 0)


@wrong("the initial delay is not extended", "special-delayed", Rebalancing, "join_time_is_over")
def _(right: Any, self: Any, timer: Any) -> None:
    self._groups[timer.group_id].new_member_added = False
    right(self, timer)


@wrong("the initial delay is extended without end", "special-capped", Rebalancing, "join_time_is_over")
def _(right: Any, self: Any, timer: Any) -> None:
    group = self._groups[timer.group_id]
    if group.initial_delay is not None:
        group.initial_delay = group.initial_delay[0], 10**9
    right(self, timer)


@wrong("nobody waits for syncs", "bothtimers", Rebalancing, "sync_time_is_over")
def _(_right: Any, _self: Any, _timer: Any) -> None:
    pass


@wrong("static members need not sync in time", "staticbig", Rebalancing, "sync_time_is_over")
def _(right: Any, self: Any, timer: Any) -> None:
    group = self._groups[timer.group_id]
    group.pending_syncs -= set(group.static_members.values())
    right(self, timer)
