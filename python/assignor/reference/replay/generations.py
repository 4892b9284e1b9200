"""Events of group records: generations, rebalances and the starts of storms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.reference.history import comparison_of
from assignor.reference.history.metadata import Metadata
from assignor.reference.offsets.protocol import CONSUMER
from assignor.reference.replay import Generation
from assignor.reference.replay.causes import classic_causes, epoch_causes
from assignor.reference.replay.classic import ClassicGroup
from assignor.reference.replay.commits import set_owners
from assignor.reference.replay.difference import GroupRecord, difference
from assignor.reference.replay.events import event, pairs
from assignor.reference.replay.known_member import classic_members
from assignor.reference.replay.membership import last_commit, member_events
from assignor.reference.replay.state import GroupState, HeldGeneration, OpenEpoch, Settings
from assignor.reference.replay.topic_causes import ended_topics, unowned

if TYPE_CHECKING:
    from assignor.reference.replay import LogRecord, ParsedMember
    from assignor.reference.replay.causes import Causes
    from assignor.reference.replay.difference import Difference
    from assignor.reference.replay.events import Event, Partition

__all__ = ["Context", "apply_classic", "close_epoch", "open_epoch", "release"]


class Context(NamedTuple):
    """Metadata and settings that all groups share; `is_open` is True if later topic metadata can follow."""

    metadata: Metadata
    settings: Settings
    is_open: bool
    is_compared: bool


def apply_classic(context: Context, state: GroupState, entry: LogRecord, value: dict[str, Any]) -> list[Event]:
    """Apply the record of a classic group; return its events."""
    events = release(context, state) + close_epoch(context, state, None)
    state.classic = group = ClassicGroup(value)
    members = {member.id: member for member in classic_members(group)}
    began = value.get("currentStateTimestamp", 0)
    after = GroupRecord(
        "classic",
        group.generation,
        entry.timestamp,
        began if began > 0 else entry.timestamp,
        group.protocol_type,
        group.protocol,
        group.leader,
        members,
    )
    before, is_partial = record_before(state, after, highest_first=1)
    present = state.members | {leave.member.id: leave.member for leave in state.pending}
    state.pending = []
    shown = member_events(
        state, entry, difference(present, members), after.generation, before.began if before else None, after.began
    )
    changes = difference(before.members if before else members, members)
    causes = classic_causes(
        before, after, changes, lambda member: last_commit(state, member), state.highest, context.metadata
    )
    is_readable = group.protocol_type in (CONSUMER, "")
    owners = after.assigned() if is_readable else None
    events += set_owners(state, owners, members, entry.timestamp, entry.offset) + shown
    state.members = dict(members)
    parsed = group.parsed_members() if context.is_compared else None
    held, is_rebalance = next_generation(state, entry, after, len(owners or {}), parsed)
    events += generation_event(context, state, held)
    if is_rebalance:
        moved, free = move(context, state, owners, after.topics(), entry.timestamp)
        moved = None if is_partial else moved
        events.append(rebalance_event(state, entry, after, causes, changes, moved, free))
        events += storm_begin(state, entry.timestamp, entry.offset, held.generation.same_members)
    for topic in ended_topics(state.highest, before, after, context.metadata) if before else ():
        state.highest.pop(topic, None)
    for member in members.values():
        for topic, id in [*member.owned, *(member.assigned or [])]:
            state.highest[topic] = max(state.highest.get(topic, 0), id)
    return events


def record_before(state: GroupState, after: GroupRecord, highest_first: int) -> tuple[GroupRecord | None, bool]:
    """Return the previous group record, and True if the log lacks it.

    If a group record of another kind was deleted at the same time, the group was converted. A new group is compared
    with an empty group. If a static member returned before the time of the new record, its old member id in the
    previous record is replaced, so that it does not count as a change.
    """
    before, ended, had_history = state.previous, state.ended, state.has_history
    state.previous, state.ended, state.has_history = after, None, True
    for returned in state.returned:
        if before is not None and returned.at < after.at and returned.previous in before.members:
            del before.members[returned.previous]
            before.members[returned.member.id] = returned.member
    state.returned = []
    if before is not None and (ended is None or (ended == after.at and before.kind != after.kind)):
        after.converted_from = before.kind if before.kind != after.kind else None
        return before, False
    if not had_history and after.generation > highest_first:
        return None, True
    return GroupRecord(after.kind, 0, after.at, after.began, after.protocol_type, None, None, {}), False


def next_generation(
    state: GroupState,
    entry: LogRecord,
    after: GroupRecord,
    partitions: int,
    parsed: list[ParsedMember] | None = None,
) -> tuple[HeldGeneration, bool]:
    """Return the generation of a group record, and True if its number is new; update the state."""
    ids, before = set(after.members), state.last
    generation = Generation(
        entry.offset,
        entry.timestamp,
        after.kind,
        after.generation,
        after.protocol_type,
        after.protocol,
        after.leader,
        len(ids),
        partitions,
        bool(ids) and ids == state.last_members,
        parsed,
    )
    is_rebalance = after.generation > 0 and (
        before is None or (before.kind, before.generation) != (after.kind, after.generation)
    )
    state.last, state.last_members = generation, ids
    state.rebalances += is_rebalance
    if after.kind in state.kinds:
        state.kinds.remove(after.kind)
    state.kinds.append(after.kind)
    duration = None if before is None else max(0, entry.timestamp - before.timestamp)
    return HeldGeneration(generation, before, duration), is_rebalance


def generation_event(context: Context, state: GroupState, held: HeldGeneration, is_final: bool = False) -> list[Event]:
    """Return the event of a generation, or hold it if its comparison needs later topic metadata."""
    found, before = held.generation, held.before
    comparison = comparison_of(found, before, context.metadata) if context.is_compared else None
    if context.is_open and not is_final and comparison is not None and comparison.outcome != "equal":
        state.held = held
        return []
    shown = None
    if comparison is not None:
        _, assignor, outcome, remarks = comparison
        shown = {"assignor": assignor, "outcome": outcome, "remarks": remarks}
    return [
        event(
            "generation",
            state.common(found.timestamp, found.offset, found.kind),
            found.generation,
            found.protocol_type,
            found.protocol,
            found.leader,
            found.members,
            found.partitions,
            held.duration,
            found.same_members,
            shown,
        )
    ]


def release(context: Context, state: GroupState) -> list[Event]:
    """Return the event of a held generation, compared with the topic metadata that is known now."""
    held, state.held = state.held, None
    return [] if held is None else generation_event(context, state, held, is_final=True)


def rebalance_event(
    state: GroupState,
    entry: LogRecord,
    after: GroupRecord,
    causes: Causes,
    changes: Difference,
    moved: list[Partition] | None,
    free: list[Partition] | None,
) -> Event:
    """Build the event of a rebalance."""
    return event(
        "rebalance",
        state.common(entry.timestamp, entry.offset, after.kind),
        after.generation,
        causes.names,
        " ".join(causes.sentences),
        sorted(member.id for member in changes.joined),
        sorted(member.id for member in changes.left),
        sorted(new.id for _, new in changes.replaced),
        None if moved is None else pairs(moved),
        None if free is None else pairs(free),
    )


def move(
    context: Context, state: GroupState, owners: dict[Partition, str] | None, topics: set[str] | None, at: int
) -> tuple[list[Partition] | None, list[Partition] | None]:
    """Replace the owners; return the partitions that moved from their last known owner, and those without an owner."""
    if owners is None:
        state.owners, state.unowned = None, None
        return None, None
    moved = [key for key, owner in owners.items() if state.last_owners.get(key, owner) != owner]
    free = unowned(owners, topics, at, context.metadata)
    known = {**state.last_owners, **owners}
    if topics is not None:
        known = {key: owner for key, owner in known.items() if key[0] in topics or key in owners}
    before = state.owners or {}
    changed = [key for key in known if before.get(key) != owners.get(key)]
    changed += [key for key in known if key not in owners] if free is None else free
    state.storm.change(state.clock or 0, changed)
    state.owners, state.last_owners, state.unowned = owners, known if state.members else {}, free
    return moved, free


def storm_begin(state: GroupState, at: int, offset: int, same_members: bool) -> list[Event]:
    """Count a rebalance for the storm; if a storm starts with it, return its event."""
    if not same_members or not state.storm.add(state.clock or 0):
        return []
    return [storm_event(state, at, offset, None)]


def storm_event(state: GroupState, at: int, offset: int, until: int | None) -> Event:
    """Build the event of the current storm."""
    storm = state.storm
    free = None if state.unowned is None else pairs(state.unowned)
    return event("storm", state.common(at, offset), storm.since, until, storm.count, pairs(storm.partitions()), free)


def open_epoch(context: Context, state: GroupState, entry: LogRecord, kind: str) -> list[Event]:
    """Apply the group record of a consumer, share or streams group; return the pending events of earlier records.

    The events of the new epoch follow with its target assignment, or at once if the group has no members.
    """
    events = release(context, state) + close_epoch(context, state, None)
    group = state.epoch_groups[kind]
    value = group.value or {}
    topology = group.topology or {"subtopologies": []}
    sources = [topic for each in topology["subtopologies"] for topic in group.sources(each["subtopologyId"])]
    after = GroupRecord(
        kind,
        value["epoch"],
        entry.timestamp,
        entry.timestamp,
        None,
        None,
        None,
        dict(state.members),
        value.get("metadataHash"),
        {pattern: sorted(topics) for pattern, topics in group.resolved.items()},
        state.counts,
        sorted(set(sources)) if kind == "streams" else None,
        state.initialized if kind == "share" else [],
    )
    before, is_partial = record_before(state, after, highest_first=2)
    changes = difference(before.members if before else after.members, after.members)
    causes = epoch_causes(before, after, changes, context.metadata, is_partial)
    partitions = {
        (topic, id) for member in group.members() for topic, ids in (member.partitions or {}).items() for id in ids
    }
    held, is_rebalance = next_generation(state, entry, after, len(partitions))
    rebalance = rebalance_event(state, entry, after, causes, changes, None, None) if is_rebalance else None
    # A group without members subscribes to no topics; a streams group still has its topology.
    topics = after.topics() if after.members else set()
    state.open_epoch = OpenEpoch(held, rebalance, topics, is_partial)
    # A broker computes no target assignment for a group without members.
    return events if after.members else events + close_epoch(context, state, {})


def close_epoch(context: Context, state: GroupState, owners: dict[Partition, str] | None) -> list[Event]:
    """Return the open epoch's events; `owners` are those of its target assignment, None if it was not computed."""
    found, state.open_epoch = state.open_epoch, None
    if found is None:
        return []
    events = generation_event(context, state, found.held)
    if found.rebalance is None:
        return events
    at, offset = found.rebalance["at"], found.rebalance["offset"]
    if owners is not None:
        moved, free = move(context, state, owners, found.topics, at)
        is_shared = found.held.generation.kind == "share"
        found.rebalance["moved"] = None if moved is None or is_shared or found.is_partial else pairs(moved)
        found.rebalance["unowned"] = None if free is None else pairs(free)
    events.append(found.rebalance)
    return events + storm_begin(state, at, offset, found.held.generation.same_members)
