"""Incremental replay of the groups of one or more clusters, as events.

`Replay` has no clock and no I/O: it takes records and times, and returns events. An event that depends on
time, such as the end of a storm, occurs at a deadline and has the time of the deadline. So the events do not depend on
how the records are split into batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.errors import WireError
from assignor.reference.history.metadata import Metadata
from assignor.reference.offsets import decode_record
from assignor.reference.replay.apply import apply
from assignor.reference.replay.commits import commit_deadline, fire_commits
from assignor.reference.replay.events import event
from assignor.reference.replay.generations import Context, close_epoch, release, storm_event
from assignor.reference.replay.membership import flush_pending
from assignor.reference.replay.model import LogRecord
from assignor.reference.replay.replayed_group import group_row, position_rows
from assignor.reference.replay.snapshot import read_snapshot, write_snapshot
from assignor.reference.replay.state import GroupState, Settings
from assignor.reference.replay.storms import Storm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.reference.offsets import Record
    from assignor.reference.replay.events import Event

__all__ = ["Replay"]

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
        """Apply a record; return first the events of its group's deadlines up to its timestamp, then its own events."""
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
        return events + apply(self._context, state, entry, decoded) if decoded else events

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
        """Return the events that wait for further records, without a change of the state.

        These are epochs without a target assignment, generations that wait for topic metadata, pending leaves, and
        storms that have not ended.
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
        return [group_row(state, self._context.metadata) for _, state in sorted(self._groups.items())]

    def positions(self) -> list[dict[str, Any]]:
        """Return a row for each partition with a committed offset or an owner."""
        return [row for _, state in sorted(self._groups.items()) for row in position_rows(state)]

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


def decode(entry: LogRecord) -> tuple[Record | None, str | None]:
    """Return the decoded record and None, or what can be decoded and the error.

    If the value is invalid, the first item is the record of the key alone. If the key is invalid, it is None.
    """
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
