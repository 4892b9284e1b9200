"""Application of one record to the state of its group, by record type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.reference.replay.commits import apply_commit, set_owners
from assignor.reference.replay.epochs import CURRENT, MEMBER, TARGET
from assignor.reference.replay.generations import apply_classic, close_epoch, open_epoch
from assignor.reference.replay.membership import apply_member, delete_members
from assignor.reference.replay.model import EPOCH_GROUP_TYPES, KINDS

if TYPE_CHECKING:
    from assignor.reference.offsets import Record
    from assignor.reference.replay.events import Event, Partition
    from assignor.reference.replay.generations import Context
    from assignor.reference.replay.model import LogRecord
    from assignor.reference.replay.state import GroupState

__all__ = ["apply"]

TARGET_MEMBER = (7, 13, 21)
PAUSED = -2
"""Epoch of a static member that has left and may return."""


def apply(context: Context, state: GroupState, entry: LogRecord, record: Record) -> list[Event]:
    """Apply a record; return its events."""
    if record.type in (0, 1):
        return apply_commit(state, context.settings, entry, record)
    events = []
    if record.type in KINDS:
        state.is_deleted = record.value is None
    if record.type in KINDS and record.value is None:
        events += set_owners(state, None, (), entry.timestamp, entry.offset)
    if record.type == 2:
        if record.value is not None:
            return apply_classic(context, state, entry, record.value)
        delete_members(state, entry)
        state.classic = None
    if record.type == 4:
        state.counts = record.value and {each["topicName"]: each["numPartitions"] for each in record.value["topics"]}
    if record.type == 15:
        ready = record.value["initializedTopics"] if record.value else []
        state.initialized = sorted((each["topicName"], id) for each in ready for id in each["partitions"])
    for kind, types in EPOCH_GROUP_TYPES.items():
        if record.type in types:
            events += apply_epoch(context, state, entry, record, kind)
    if record.type in KINDS and record.value is None:
        events += close_epoch(context, state, None)
        state.ended, state.has_history = entry.timestamp, True
        state.owners, state.last_owners, state.unowned = {}, {}, None
    return events


def apply_epoch(context: Context, state: GroupState, entry: LogRecord, record: Record, kind: str) -> list[Event]:
    """Apply a record of a group with an epoch; return its events."""
    target, opened = None, state.open_epoch
    if record.type in TARGET and record.value is not None and opened is not None:
        number = opened.held.generation.generation
        if opened.held.generation.kind == kind and record.value["assignmentEpoch"] >= number:
            target = complete_target(context, state, entry, record, kind)
    state.epoch_groups[kind].apply(record)
    if kind == "consumer":
        state.targets.apply(entry.timestamp, record)
    if record.type in TARGET_MEMBER:
        state.targets_of.pop(record.key["memberId"], None)
        if record.value is not None:
            state.targets_of[record.key["memberId"]] = record.value
    if target is not None:
        return close_epoch(context, state, target)
    if record.type in MEMBER:
        return apply_member(state, entry, record, kind)
    if record.type in CURRENT:
        return apply_current(context, state, entry, record, kind)
    if record.type in KINDS and record.value is not None:
        return open_epoch(context, state, entry, kind)
    return []


def complete_target(
    context: Context, state: GroupState, entry: LogRecord, record: Record, kind: str
) -> dict[Partition, str]:
    """Complete the open epoch with its target assignment; return the owners of the target assignment."""
    opened = state.open_epoch
    number = record.value["assignmentEpoch"] if record.value else 0
    if kind == "consumer" and opened is not None and opened.held.generation.generation == number:
        before = opened.held.before
        if before is None or (before.kind, before.generation) != ("classic", number) or not before.members:
            target = state.targets.assignment(state.epoch_groups[kind], entry.timestamp)
            opened.held.generation = opened.held.generation.__class__(
                **{**vars(opened.held.generation), "target": target}
            )
    owners = {}
    for id, value in sorted(state.targets_of.items()):
        owner = state.members[id].owner_name if id in state.members else id
        assigned = {
            "assignedPartitions": value.get("topicPartitions", []),
            "activeTasks": value.get("activeTasks", []),
        }
        for topic, ids in state.epoch_groups[kind].partitions_of(assigned).items():
            owners.update({(context.metadata.name(topic), each): owner for each in ids})
    for topic, partition in owners:
        state.highest[topic] = max(state.highest.get(topic, 0), partition)
    return owners


def apply_current(context: Context, state: GroupState, entry: LogRecord, record: Record, kind: str) -> list[Event]:
    """Apply the current assignment of a member; return an event for each stuck member that now owns no partition."""
    member = state.members.get(record.key["memberId"])
    if member is not None and record.value is not None:
        member.has_paused = record.value["memberEpoch"] == PAUSED
    if kind != "consumer":
        return []
    group, owners = state.epoch_groups[kind], {}
    for id, known in sorted(state.members.items()):
        for topic, ids in group.partitions_of(group.current.get(id, {})).items():
            owners.update({(context.metadata.name(topic), each): known.owner_name for each in ids})
    return set_owners(state, owners, state.members, entry.timestamp, entry.offset)
