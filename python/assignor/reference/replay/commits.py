"""Events of committed offsets, and of members that stop committing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.reference.replay.events import event, pairs
from assignor.reference.replay.stuck import CommitRhythm

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.reference.offsets import Record
    from assignor.reference.replay import LogRecord
    from assignor.reference.replay.events import Event, Partition
    from assignor.reference.replay.state import GroupState, Settings

__all__ = ["apply_commit", "commit_deadline", "fire_commits", "forget_rhythm", "own"]


def apply_commit(state: GroupState, settings: Settings, entry: LogRecord, record: Record) -> list[Event]:
    """Apply an offset commit or its tombstone; return its events."""
    partition = (record.key["topic"], record.key["partition"])
    committed, tenure = state.committed, state.committed.tenures.get((record.key["topic"], record.key["partition"]))
    if record.value is None:
        committed.offsets.pop(partition, None)
        if tenure is not None:
            tenure.since, tenure.has_commit, tenure.is_reported = state.clock or 0, False, False
        return []
    before, now = committed.offsets.get(partition), record.value["offset"]
    committed.offsets[partition] = now
    events = []
    if before is not None and now < before:
        text = f"The committed offset went back from {before} to {now}: a member or an administrator has reset it, or "
        text += "commits arrived in another order. The log does not name who committed."
        events.append(problem(state, entry, "went_back", [partition], text))
    if tenure is not None:
        tenure.has_commit = True
        events += note_commit(state, settings, entry, tenure.holder)
    elif state.holders_known and state.members and committed.has_stray_commit(partition, state.holders()):
        text = "The group has members, but none of them owns the partition. The log does not name who committed."
        events.append(problem(state, entry, "not_owned", [partition], text))
    return events


def note_commit(state: GroupState, settings: Settings, entry: LogRecord, holder: str) -> list[Event]:
    """Note a commit of a partition of a member; return the end of the time in which the member was stuck, if it was."""
    member = state.member_of(holder)
    if member is None:
        return []
    rhythm = state.rhythms.setdefault(member, CommitRhythm())
    since = rhythm.add(state.clock or 0, settings.stuck_interval_ms)
    if since is None:
        return []
    return [stuck(state, entry.timestamp, entry.offset, member, since, entry.timestamp)]


def problem(state: GroupState, entry: LogRecord, name: str, partitions: list[Partition], text: str) -> Event:
    """Build an event of a committed offset."""
    return event("offsets", state.common(entry.timestamp, entry.offset), name, pairs(partitions), text)


def stuck(state: GroupState, at: int, offset: int, member: str, since: int, until: int | None) -> Event:
    """Build an event of a stuck member, with its partitions that have a committed offset."""
    holder = state.members[member].holder
    tenures = state.committed.tenures
    partitions = [key for key, tenure in tenures.items() if tenure.holder == holder and tenure.has_commit]
    usual = state.rhythms[member].usual()
    return event("stuck", state.common(at, offset), member, pairs(partitions), since, until, usual)


def own(
    state: GroupState, holders: dict[Partition, str] | None, staying: Iterable[str], at: int, offset: int
) -> list[Event]:
    """Replace the owners of the partitions; return the ends of stuck members that left or own no partition any more.

    `state.members` must still have the previous members, and `staying` are the ids that remain. `holders` is None if
    the owners are unknown.
    """
    events = []
    active, remaining = set((holders or {}).values()), set(staying)
    for id in sorted(state.rhythms):
        member = state.members.get(id)
        if member is None or id not in remaining or member.holder not in active:
            events += forget_rhythm(state, id, at, offset)
    state.holders_known = holders is not None
    state.committed.own(holders or {}, state.clock or 0)
    return events


def forget_rhythm(state: GroupState, member: str, at: int, offset: int) -> list[Event]:
    """Forget the commits of a member; return the end of the time in which it was stuck, if it was."""
    rhythm = state.rhythms.get(member)
    if rhythm is None:
        return []
    since, events = rhythm.stuck_since, []
    if since is not None and member in state.members:
        events.append(stuck(state, at, offset, member, since, at))
    del state.rhythms[member]
    return events


def commit_deadline(state: GroupState, settings: Settings) -> int | None:
    """Return the time at which the next member is stuck or the next partition was never committed."""
    times = [rhythm.deadline(settings.stuck_factor) for rhythm in state.rhythms.values()]
    times.append(state.committed.deadline(settings.never_committed_ms))
    return min((time for time in times if time is not None), default=None)


def fire_commits(state: GroupState, settings: Settings, deadline: int) -> list[Event]:
    """Return the events of a deadline: members that become stuck, then partitions that were never committed."""
    events = []
    for member in sorted(state.rhythms):
        rhythm = state.rhythms[member]
        if rhythm.deadline(settings.stuck_factor) == deadline and rhythm.last is not None:
            rhythm.stuck_since = rhythm.last
            events.append(stuck(state, deadline, state.offset, member, rhythm.last, None))
    partitions = state.committed.due(deadline - settings.never_committed_ms)
    if partitions:
        text = f"No offset was committed within {settings.never_committed_ms} ms of ownership: there may be no records "
        text += "to consume, or the application does not commit. The log has only commits."
        common = state.common(deadline, state.offset)
        events.append(event("offsets", common, "never_committed", pairs(partitions), text))
    return events
