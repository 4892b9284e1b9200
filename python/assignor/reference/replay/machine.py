"""Incremental replay of the groups of one or more clusters, as events.

`Replay` has no clock and no I/O: it takes records and times, and returns events. Events that depend on time, such as
the end of a storm, have a deadline and the time of that deadline, so the events do not depend on how the records are
split into batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.errors import WireError
from assignor.reference.history import summarize
from assignor.reference.history.metadata import Metadata
from assignor.reference.offsets import decode_record
from assignor.reference.replay import EPOCH_GROUP_TYPES, KINDS, History, LogRecord
from assignor.reference.replay.commits import apply_commit, commit_deadline, fire_commits, own
from assignor.reference.replay.epochs import CURRENT, MEMBER, TARGET
from assignor.reference.replay.events import event
from assignor.reference.replay.generations import (
    Context,
    apply_classic,
    close_epoch,
    open_epoch,
    release,
    storm_event,
)
from assignor.reference.replay.membership import apply_member, delete_members, flush_pending
from assignor.reference.replay.snapshot import read_snapshot, write_snapshot
from assignor.reference.replay.state import GroupState, Settings
from assignor.reference.replay.storms import Storm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.reference.offsets import Record
    from assignor.reference.replay.events import Event, Partition

__all__ = ["Replay"]

TARGET_MEMBER = (7, 13, 21)
PAUSED = -2
"""Epoch of a static member that has left and may return."""

FIELDS_OF_GROUP = ("group", "groupId")


class Replay:
    """Replay of many groups, by cluster and group id."""

    def __init__(
        self,
        topics: Iterable[Mapping[str, Any]] = (),
        *,
        is_open: bool = False,
        is_compared: bool = True,
        settings: Settings | None = None,
    ) -> None:
        self._rows = list(topics)
        self._context = Context(Metadata.read(self._rows), settings or Settings(), is_open, is_compared)
        self._groups: dict[tuple[str, str], GroupState] = {}
        self._counts = dict.fromkeys(("records", "duplicates", "bad_records", "unknown_types", "time_backwards"), 0)

    def push(self, record: tuple[int, int, bytes | None, bytes | None], cluster: str = "") -> list[Event]:
        """Apply a record; return its events, after those of the deadlines of its group up to its timestamp."""
        entry = LogRecord(*record)
        self._counts["records"] += 1
        decoded, failure = decode(entry)
        group = None if decoded is None else group_of(decoded)
        if group is None:
            return [self._bad(entry, (cluster, None, None), decoded, failure)]
        state = self._state(cluster, group)
        clock = entry.timestamp if state.clock is None else max(state.clock, entry.timestamp)
        events = self._advance(state, clock)
        if entry.offset <= state.offset:
            state.duplicates += 1
            self._counts["duplicates"] += 1
            return events
        if state.clock is not None and entry.timestamp < state.clock:
            state.time_backwards += 1
            self._counts["time_backwards"] += 1
        if any(leave.at != entry.timestamp for leave in state.pending):
            events += flush_pending(state)
        state.clock, state.offset = clock, entry.offset
        state.records += 1
        if failure is not None:
            state.bad_records += 1
            return [*events, self._bad(entry, (cluster, group, state.kind), decoded, failure)]
        return events + self._apply(state, entry, decoded) if decoded else events

    def advance(self, now: int, cluster: str | None = None) -> list[Event]:
        """Return the events of all deadlines up to a time, in the order of the deadlines."""
        found = []
        for key in sorted(self._groups):
            if cluster is None or key[0] == cluster:
                state = self._groups[key]
                while (deadline := self._deadline(state)) is not None and deadline <= now:
                    found.append((deadline, key, self._fire(state, deadline)))
        found.sort(key=lambda each: each[:2])
        return [each for _, _, events in found for each in events]

    def next_deadline(self) -> int | None:
        """Return the earliest deadline of all groups."""
        deadlines = (self._deadline(state) for state in self._groups.values())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def finish(self) -> list[Event]:
        """Return the events that the end of the log completes, without a change of the state.

        These are epochs without a target assignment, generations that wait for topic metadata, members that left last,
        and the storms that last.
        """
        copy = Replay(self._rows, is_open=self._context.is_open, settings=self._context.settings)
        copy._context = self._context
        copy.restore(self.snapshot())
        events = []
        for _, state in sorted(copy._groups.items()):
            events += flush_pending(state) + release(self._context, state) + close_epoch(self._context, state, None)
            events += release(self._context, state)
            if state.storm.since is not None:
                events.append(storm_event(state, state.clock or 0, state.offset, None))
        return events

    def observe_topics(self, rows: Iterable[Mapping[str, Any]]) -> list[Event]:
        """Add snapshots of topic metadata; return the generations whose comparison waited for them."""
        self._rows += rows
        self._context = self._context._replace(metadata=Metadata.read(self._rows))
        snapshots = self._context.metadata.snapshots
        events = []
        for _, state in sorted(self._groups.items()):
            if state.held and snapshots and snapshots[-1].time > state.held.generation.timestamp:
                events += release(self._context, state)
        return events

    def snapshot(self) -> bytes:
        """Return the state of all groups as bytes."""
        groups = [state for _, state in sorted(self._groups.items())]
        return write_snapshot({"settings": list(self._context.settings), "counts": self._counts, "groups": groups})

    def restore(self, data: bytes) -> None:
        """Replace the state with that of a snapshot; raise SnapshotError if that is not possible."""
        content = read_snapshot(data, list(self._context.settings))
        self._counts = content["counts"]
        self._groups = {(state.cluster, state.group): state for state in content["groups"]}

    def counts(self) -> dict[str, int]:
        """Return the numbers of records, duplicates, bad records, unknown types and timestamps that go backwards."""
        return dict(self._counts)

    def states(self) -> list[dict[str, Any]]:
        """Return a row for each group, as it is after the last record."""
        return [self._row(state) for _, state in sorted(self._groups.items())]

    def positions(self) -> list[dict[str, Any]]:
        """Return a row for each partition with a committed offset or an owner."""
        return [row for _, state in sorted(self._groups.items()) for row in _positions(state)]

    def _state(self, cluster: str, group: str) -> GroupState:
        settings = self._context.settings
        key = (cluster, group)
        if key not in self._groups:
            self._groups[key] = GroupState(cluster, group, Storm(settings.storm_rebalances, settings.storm_window_ms))
        return self._groups[key]

    def _bad(
        self, entry: LogRecord, common: tuple[str, str | None, str | None], decoded: Record | None, failure: str | None
    ) -> Event:
        self._counts["unknown_types" if failure is None else "bad_records"] += 1
        number = decoded.type if decoded else None
        error = failure or f"unknown record type {number}"
        return event("bad_record", (*common, entry.timestamp, entry.offset), number, error)

    def _deadline(self, state: GroupState) -> int | None:
        times = [leave.deadline for leave in state.pending]
        times += [
            time
            for time in (state.storm.deadline(), commit_deadline(state, self._context.settings))
            if time is not None
        ]
        return min(times, default=None)

    def _advance(self, state: GroupState, now: int) -> list[Event]:
        events = []
        while (deadline := self._deadline(state)) is not None and deadline <= now:
            events += self._fire(state, deadline)
        return events

    def _fire(self, state: GroupState, deadline: int) -> list[Event]:
        events = []
        if any(leave.deadline == deadline for leave in state.pending):
            events += flush_pending(state)
        if commit_deadline(state, self._context.settings) == deadline:
            events += fire_commits(state, self._context.settings, deadline)
        if state.storm.deadline() == deadline:
            events.append(storm_event(state, deadline, state.offset, state.storm.times[-1]))
            state.storm.end()
        return events

    def _apply(self, state: GroupState, entry: LogRecord, record: Record) -> list[Event]:
        if record.type in (0, 1):
            return apply_commit(state, self._context.settings, entry, record)
        events = []
        if record.type in KINDS:
            state.is_deleted = record.value is None
        if record.type in KINDS and record.value is None:
            events += own(state, {}, (), entry.timestamp, entry.offset)
        if record.type == 2:
            if record.value is not None:
                return apply_classic(self._context, state, entry, record.value)
            delete_members(state, entry)
            state.classic = None
        if record.type == 4:
            state.counts = record.value and {
                each["topicName"]: each["numPartitions"] for each in record.value["topics"]
            }
        if record.type == 15:
            ready = record.value["initializedTopics"] if record.value else []
            state.initialized = sorted((each["topicName"], id) for each in ready for id in each["partitions"])
        for kind, types in EPOCH_GROUP_TYPES.items():
            if record.type in types:
                events += self._apply_epoch(state, entry, record, kind)
        if record.type in KINDS and record.value is None:
            events += close_epoch(self._context, state, None)
            state.ended, state.has_history = entry.timestamp, True
            state.owners, state.last_owners, state.unowned = {}, {}, None
        return events

    def _apply_epoch(self, state: GroupState, entry: LogRecord, record: Record, kind: str) -> list[Event]:
        target, opened = None, state.open_epoch
        if record.type in TARGET and record.value is not None and opened is not None:
            number = opened.held.generation.generation
            if opened.held.generation.kind == kind and record.value["assignmentEpoch"] >= number:
                target = self._target(state, entry, record, kind)
        state.epoch_groups[kind].apply(record)
        if kind == "consumer":
            state.targets.apply(entry.timestamp, record)
        if record.type in TARGET_MEMBER:
            state.targets_of.pop(record.key["memberId"], None)
            if record.value is not None:
                state.targets_of[record.key["memberId"]] = record.value
        if target is not None:
            return close_epoch(self._context, state, target)
        if record.type in MEMBER:
            return apply_member(state, entry, record, kind)
        if record.type in CURRENT:
            return self._apply_current(state, entry, record, kind)
        if record.type in KINDS and record.value is not None:
            return open_epoch(self._context, state, entry, kind)
        return []

    def _target(self, state: GroupState, entry: LogRecord, record: Record, kind: str) -> dict[Partition, str]:
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
            holder = state.members[id].holder if id in state.members else id
            assigned = {
                "assignedPartitions": value.get("topicPartitions", []),
                "activeTasks": value.get("activeTasks", []),
            }
            for topic, ids in state.epoch_groups[kind].partitions_of(assigned).items():
                owners.update({(self._context.metadata.name(topic), each): holder for each in ids})
        return owners

    def _apply_current(self, state: GroupState, entry: LogRecord, record: Record, kind: str) -> list[Event]:
        member = state.members.get(record.key["memberId"])
        if member is not None and record.value is not None:
            member.has_paused = record.value["memberEpoch"] == PAUSED
        if kind != "consumer":
            return []
        group, holders = state.epoch_groups[kind], {}
        for id, known in sorted(state.members.items()):
            for topic, ids in group.partitions_of(group.current.get(id, {})).items():
                holders.update({(self._context.metadata.name(topic), each): known.holder for each in ids})
        return own(state, holders, state.members, entry.timestamp, entry.offset)

    def _row(self, state: GroupState) -> dict[str, Any]:
        kind = next((kind for kind in reversed(state.kinds) if state.generation_of(kind) is not None), None)
        status, protocol, generation, members = "Empty", None, None, []
        if kind == "classic" and state.classic:
            status, protocol, generation = state.classic.state, state.classic.protocol, state.classic.generation
            members = state.classic.members()
        elif kind is not None:
            group = state.epoch_groups[kind]
            status, generation, members = group.state, group.epoch, group.members()
            protocol = group.assignor() if kind == "consumer" else None
        elif state.is_deleted and not state.committed.offsets:
            status = "gone"
            if state.last:
                kind, generation = state.last.kind, state.last.generation
        offsets = len(state.committed.offsets)
        history = History(kind or "offsets", status, protocol, generation, members, [], offsets, state.bad_records)
        row = summarize(history, self._context.metadata)
        row["rebalances"] = state.rebalances
        counters = {name: getattr(state, name) for name in ("records", "duplicates", "time_backwards")}
        return {"cluster": state.cluster, "group": state.group, **row, **counters}


def _positions(state: GroupState) -> list[dict[str, Any]]:
    offsets, tenures = state.committed.offsets, state.committed.tenures
    return [
        {
            "cluster": state.cluster,
            "group_id": state.group,
            "topic": topic,
            "partition": partition,
            "member_id": tenures[topic, partition].holder if (topic, partition) in tenures else None,
            "committed": offsets.get((topic, partition)),
        }
        for topic, partition in sorted({*offsets, *tenures})
    ]


def decode(entry: LogRecord) -> tuple[Record | None, str | None]:
    """Return the decoded record, or what can be read of its key, and the error."""
    try:
        return decode_record(entry.key, entry.value), None
    except WireError as error:
        failure = str(error)
    try:
        return decode_record(entry.key, None), failure
    except WireError:
        return None, failure


def group_of(record: Record) -> str | None:
    """Return the group of a record; None if its type is unknown."""
    return next((record.key[name] for name in FIELDS_OF_GROUP if name in record.key), None)
