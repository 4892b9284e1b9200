"""Events of members: joined, left, expired, replaced, and changed subscription."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.reference.replay import LogRecord
from assignor.reference.replay.causes import EXPIRED, departure_causes
from assignor.reference.replay.commits import forget_commits
from assignor.reference.replay.events import event
from assignor.reference.replay.known_member import epoch_member
from assignor.reference.replay.state import PendingLeave, StaticReturn

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.reference.offsets import Record
    from assignor.reference.replay.difference import Difference
    from assignor.reference.replay.events import Event
    from assignor.reference.replay.known_member import KnownMember
    from assignor.reference.replay.state import GroupState

__all__ = ["apply_member", "delete_members", "flush_pending", "last_commit", "member_events"]


def member_event(
    state: GroupState,
    entry: LogRecord,
    action: str,
    member: KnownMember,
    generation: int | None,
    previous: str | None = None,
    causes: list[str] | None = None,
    kind: str | None = None,
) -> Event:
    """Build an event of a member."""
    values = (member.id, member.instance_id, member.client_id, member.client_host, previous, generation, causes or [])
    return event("member", state.common(entry.timestamp, entry.offset, kind), action, *values)


def last_commit(state: GroupState, member: KnownMember) -> int | None:
    """Return the time of the last commit for a partition of a member; None without one."""
    commit_times = state.commit_times.get(member.id)
    return None if commit_times is None else commit_times.last


def member_events(
    state: GroupState, entry: LogRecord, changes: Difference, generation: int, began: int | None, until: int
) -> list[Event]:
    """Return the events of the members of a classic group, from the difference to its previous record.

    `began` and `until` are the ends of the join phases of the two generations.
    """
    events = []
    for old in changes.left:
        causes = departure_causes(old, began, until, last_commit(state, old))[0]
        events.append(member_event(state, entry, "left", old, generation, causes=causes, kind="classic"))
    for old, new in changes.replaced:
        events.append(member_event(state, entry, "replaced", new, generation, old.id, kind="classic"))
    events += [member_event(state, entry, "joined", new, generation, kind="classic") for new in changes.joined]
    for _, new in sorted(changes.changed, key=lambda pair: pair[1].id):
        events.append(member_event(state, entry, "subscription_changed", new, generation, kind="classic"))
    return events


def apply_member(state: GroupState, entry: LogRecord, record: Record, kind: str) -> list[Event]:
    """Apply a record of a member of a group with an epoch; return its events."""
    id, epoch = record.key["memberId"], state.generation_of(kind)
    if record.value is None:
        events = forget_commits(state, id, entry.timestamp, entry.offset)
        member = state.members.pop(id, None)
        if member is not None:
            state.pending.append(
                PendingLeave(member, entry.timestamp, (state.clock or 0) + 1, entry.offset, kind, epoch)
            )
        return events
    new = epoch_member(id, record.value)
    old = state.members.get(id) or take_pending(state, lambda member: member.id == id)
    state.members[id] = new
    if old is not None:
        if new.subscribes_like(old):
            return []
        return [member_event(state, entry, "subscription_changed", new, epoch, kind=kind)]
    if new.instance_id is not None:
        replaced = take_pending(state, lambda member: member.instance_id == new.instance_id)
        if replaced is not None:
            state.returned.append(StaticReturn(entry.timestamp, replaced.id, new))
            return [member_event(state, entry, "replaced", new, epoch, replaced.id, kind=kind)]
    return [member_event(state, entry, "joined", new, epoch, kind=kind)]


def take_pending(state: GroupState, is_wanted: Callable[[KnownMember], bool]) -> KnownMember | None:
    """Remove the first pending leave whose member satisfies a predicate; return the member."""
    found = next((leave for leave in state.pending if is_wanted(leave.member)), None)
    if found is None:
        return None
    state.pending.remove(found)
    return found.member


def delete_members(state: GroupState, entry: LogRecord) -> None:
    """Move all members to the pending leaves, because the record of their classic group was deleted."""
    generation = state.last.generation if state.last else None
    for id in sorted(state.members):
        member, deadline = state.members[id], (state.clock or 0) + 1
        state.pending.append(PendingLeave(member, entry.timestamp, deadline, entry.offset, "classic", generation))
    state.members = {}


def flush_pending(state: GroupState) -> list[Event]:
    """Return the events of pending leaves, and forget them."""
    events = []
    for leave in sorted(state.pending, key=lambda leave: (leave.offset, leave.member.id)):
        entry = LogRecord(leave.offset, leave.at, None, None)
        action, causes = "left", departure_causes(leave.member, None, leave.at, None)[0]
        if leave.member.has_paused:
            action, causes = "expired", list(EXPIRED)
        events.append(
            member_event(state, entry, action, leave.member, leave.generation, causes=causes, kind=leave.kind)
        )
    state.pending = []
    return events
