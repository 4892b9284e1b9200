"""Events of committed offsets, and of members that stop committing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.reference.replay.events import event, pairs
from assignor.reference.replay.stuck import CommitTimes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.reference.offsets import Record
    from assignor.reference.replay import LogRecord
    from assignor.reference.replay.events import Event, Partition
    from assignor.reference.replay.state import GroupState, Settings

__all__ = ["apply_commit", "commit_deadline", "fire_commits", "forget_commits", "set_owners"]


def apply_commit(state: GroupState, settings: Settings, entry: LogRecord, record: Record) -> list[Event]:
    """Apply an offset commit or its tombstone; return its events."""
    partition = (record.key["topic"], record.key["partition"])
    committed, ownership = state.committed, state.committed.ownerships.get(partition)
    if record.value is None:
        committed.offsets.pop(partition, None)
        if ownership is not None:
            ownership.since, ownership.has_commit, ownership.is_reported = state.clock or 0, False, False
        return []
    before, now = committed.offsets.get(partition), record.value["offset"]
    committed.offsets[partition] = now
    events = []
    if before is not None and now < before:
        text = f"The committed offset went back from {before} to {now}: a member or an administrator has reset it, or "
        text += "commits arrived in another order. The log does not name who committed."
        events.append(problem(state, entry, "went_back", [partition], text))
    if ownership is not None:
        ownership.has_commit = True
        events += note_commit(state, settings, entry, ownership.owner)
    elif state.has_known_owners and state.members and committed.has_stray_commit(partition, state.owner_names()):
        text = "The group has members, but none of them owns the partition. The log does not name who committed."
        events.append(problem(state, entry, "not_owned", [partition], text))
    return events


def note_commit(state: GroupState, settings: Settings, entry: LogRecord, owner: str) -> list[Event]:
    """Add a commit to the commit times of the partition's owner; return an event if the owner was stuck until now."""
    member = state.member_of(owner)
    if member is None:
        return []
    commit_times = state.commit_times.setdefault(member, CommitTimes())
    since = commit_times.add(state.clock or 0, settings.stuck_interval_ms)
    if since is None:
        return []
    return [stuck(state, entry.timestamp, entry.offset, member, since, entry.timestamp)]


def problem(state: GroupState, entry: LogRecord, name: str, partitions: list[Partition], text: str) -> Event:
    """Build an event of a committed offset."""
    return event("offsets", state.common(entry.timestamp, entry.offset), name, pairs(partitions), text)


def stuck(state: GroupState, at: int, offset: int, member: str, since: int, until: int | None) -> Event:
    """Build an event of a stuck member, with its partitions for which an offset was committed while it owned them."""
    owner = state.members[member].owner_name
    ownerships = state.committed.ownerships
    partitions = [key for key, ownership in ownerships.items() if ownership.owner == owner and ownership.has_commit]
    usual = state.commit_times[member].usual()
    return event("stuck", state.common(at, offset), member, pairs(partitions), since, until, usual)


def set_owners(
    state: GroupState, owners: dict[Partition, str] | None, staying: Iterable[str], at: int, offset: int
) -> list[Event]:
    """Replace the owners; return an event for each stuck member that left or no longer owns any partition.

    `state.members` must still have the previous members, and `staying` are the ids that remain. `owners` is None if
    the owners are unknown.
    """
    events = []
    active, remaining = set((owners or {}).values()), set(staying)
    for id in sorted(state.commit_times):
        member = state.members.get(id)
        if member is None or id not in remaining or member.owner_name not in active:
            events += forget_commits(state, id, at, offset)
    state.has_known_owners = owners is not None
    state.committed.set_owners(owners or {}, state.clock or 0)
    return events


def forget_commits(state: GroupState, member: str, at: int, offset: int) -> list[Event]:
    """Forget the commit times of a member; return an event if the member was stuck until now."""
    commit_times = state.commit_times.get(member)
    if commit_times is None:
        return []
    since, events = commit_times.stuck_since, []
    if since is not None and member in state.members:
        events.append(stuck(state, at, offset, member, since, at))
    del state.commit_times[member]
    return events


def commit_deadline(state: GroupState, settings: Settings) -> int | None:
    """Return the time at which the next member becomes stuck, or the next partition is reported as never committed."""
    times = [commit_times.deadline(settings.stuck_factor) for commit_times in state.commit_times.values()]
    times.append(state.committed.deadline(settings.never_committed_ms))
    return min((time for time in times if time is not None), default=None)


def fire_commits(state: GroupState, settings: Settings, deadline: int) -> list[Event]:
    """Return the events of a deadline: members that become stuck, then partitions that were never committed."""
    events = []
    for member in sorted(state.commit_times):
        commit_times = state.commit_times[member]
        if commit_times.deadline(settings.stuck_factor) == deadline and commit_times.last is not None:
            commit_times.stuck_since = commit_times.last
            events.append(stuck(state, deadline, state.offset, member, commit_times.last, None))
    partitions = state.committed.due(deadline - settings.never_committed_ms)
    if partitions:
        text = (
            f"The partitions had no committed offset during {settings.never_committed_ms} ms of ownership: there may "
        )
        text += "be no records to consume, or the application does not commit. The log does not show which."
        common = state.common(deadline, state.offset)
        events.append(event("offsets", common, "never_committed", pairs(partitions), text))
    return events
