"""Wrong rules about time: when the timers of sessions restart, and how the timers of a group work.

Importing this module adds them to `RULES`.
"""

from __future__ import annotations

from typing import Any

from assignor.coordinator import ErrorCode, committing, joining, membership, rebalancing
from assignor.coordinator.group import ClassicGroup
from assignor.coordinator.members import GroupMember
from tests.coordinator.rules import COMPLETING, PREPARING, RULES, STABLE, without, wrong

__all__ = ["RULES"]

# ---- sessions


@wrong("a sync in Stable restarts the session", "static", membership, "sync")
def _(original: Any, context: Any, request: Any, pending: Any) -> Any:
    group = context.groups.get(request.group_id)
    is_stable = group is not None and group.state is STABLE
    response = original(context, request, pending)
    if is_stable and response.error_code is ErrorCode.NONE:
        rebalancing.restart_session(context, group.members[request.member_id])
    return response


@wrong("session timeouts are doubled", "expiry", rebalancing, "restart_session")
def _(_original: Any, context: Any, member: Any) -> None:
    context.timers.set(member, context.now + 2 * member.session_timeout_ms)


@wrong("a session does not restart when the join is answered", "expiry", rebalancing, "complete_join")
def _(original: Any, *arguments: Any) -> None:
    without(rebalancing, "restart_session", lambda: original(*arguments))


@wrong("a session does not restart when the sync is answered", "expiry", rebalancing, "_distribute")
def _(original: Any, *arguments: Any) -> None:
    without(rebalancing, "restart_session", lambda: original(*arguments))


@wrong(
    "a session does not restart when the sync is answered with an error",
    "special-parked",
    rebalancing,
    "reset_assignment",
)
def _(original: Any, *arguments: Any) -> None:
    without(rebalancing, "restart_session", lambda: original(*arguments))


@wrong("a heartbeat answered REBALANCE_IN_PROGRESS does not restart the session", "expiry", membership, "heartbeat")
def _(original: Any, context: Any, request: Any) -> Any:
    group = context.groups.get(request.group_id)
    if group is None or group.state is not PREPARING:
        return original(context, request)
    return without(rebalancing, "restart_session", lambda: original(context, request))


@wrong("a commit does not restart the session", "special-commit_alive", committing, "_check_commit")
def _(original: Any, *arguments: Any) -> Any:
    return without(rebalancing, "restart_session", lambda: original(*arguments))


@wrong("a replaced member's session has the new timeout", "special-static_replaced_other", joining, "_replace")
def _(original: Any, context: Any, group: Any, old: Any, member_id: str, *others: Any) -> None:
    original(context, group, old, member_id, *others)
    member = group.members.get(member_id)
    if member is not None:
        rebalancing.restart_session(context, member)


def unchanged(group: Any, request: Any) -> Any:
    """Return the member if its join is answered immediately because its protocols are unchanged, else None."""
    member = group.members.get(request.member_id)
    if member is None or member.protocols != request.protocols:
        return None
    follows = group.state is STABLE and group.leader != member.member_id
    return member if follows or group.state is COMPLETING else None


@wrong("a rejoin that is answered immediately changes the timeouts", "special-retimed", joining, "_join_group")
def _(original: Any, context: Any, group: Any, request: Any, pending: Any) -> Any:
    if unchanged(group, request):
        group.update(unchanged(group, request), request, None)
    return original(context, group, request, pending)


@wrong("a rejoin that is answered immediately restarts the session", "expiry", joining, "_join_group")
def _(original: Any, context: Any, group: Any, request: Any, pending: Any) -> Any:
    if unchanged(group, request):
        rebalancing.restart_session(context, unchanged(group, request))
    return original(context, group, request, pending)


@wrong("members with a waiting join expire", "expiry", GroupMember, "has_satisfied_heartbeat")
def _(_original: Any, _member: Any) -> bool:
    return False


@wrong("new members with a waiting join never expire", "special-new_member", GroupMember, "has_satisfied_heartbeat")
def _(_original: Any, member: Any) -> bool:
    return member.join is not None or member.sync is not None


@wrong("the expiry of a pending id does not end the join phase", "pending", rebalancing, "expire_session")
def _(original: Any, context: Any, timer: Any) -> None:
    group = context.groups[timer.group_id]
    if timer.member_id in group.pending_joins:
        group.remove(timer.member_id)
    else:
        original(context, timer)


# ---- phases


@wrong("the rebalance timeout is the shortest", "rebalance", ClassicGroup, "rebalance_timeout_ms")
def _(_original: Any, group: Any) -> int:
    return max(min((member.rebalance_timeout_ms for member in group.members.values()), default=0), 0)


@wrong("the rebalance timeout is the leader's", "rebalance", ClassicGroup, "rebalance_timeout_ms")
def _(_original: Any, group: Any) -> int:
    leader = group.members.get(group.leader)
    return 0 if leader is None else max(leader.rebalance_timeout_ms, 0)


@wrong("the initial delay is not extended", "special-delayed", rebalancing, "expire_join_phase")
def _(original: Any, context: Any, timer: Any) -> None:
    context.groups[timer.group_id].has_new_member = False
    original(context, timer)


@wrong("the initial delay is extended without limit", "special-capped", rebalancing, "expire_join_phase")
def _(original: Any, context: Any, timer: Any) -> None:
    group = context.groups[timer.group_id]
    if group.initial_delay is not None:
        group.initial_delay = group.initial_delay[0], 10**9
    original(context, timer)


@wrong("the sync phase has no timeout", "bothtimers", rebalancing, "expire_sync_phase")
def _(_original: Any, _context: Any, _timer: Any) -> None:
    pass


@wrong("static members may sync late", "staticbig", rebalancing, "expire_sync_phase")
def _(original: Any, context: Any, timer: Any) -> None:
    group = context.groups[timer.group_id]
    for member_id in group.static_members.values():
        group.pending_syncs.pop(member_id, None)
    original(context, timer)
