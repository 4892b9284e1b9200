"""Events of a recording: replay without Spark, their JSON form and their order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from assignor import _core
from assignor.recording.metadata import topics_table
from assignor.recording.records import in_log_order, scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assignor.recording.folder import Recording

Event = dict[str, Any]

COMMON = ("event", "cluster", "group", "kind", "at", "offset")
"""Fields of every event."""

FIELDS = {
    "generation": (
        *("generation", "protocol_type", "protocol", "leader", "members", "partitions"),
        *("duration_ms", "same_members", "comparison"),
    ),
    "rebalance": ("generation", "causes", "evidence", "joined", "left", "replaced", "moved", "unowned"),
    "member": ("action", "member", "instance_id", "client_id", "client_host", "previous", "generation", "causes"),
    "storm": ("since", "until", "rebalances", "topic_partitions", "unowned"),
    "stuck": ("member", "topic_partitions", "since", "until", "usual_interval_ms"),
    "offsets": ("problem", "topic_partitions", "evidence"),
    "bad_record": ("record_type", "error"),
}
"""Fields of each kind of event after the common ones, in the order of its JSON form."""

_ALL_FIELDS = {name: (*COMMON, *fields) for name, fields in FIELDS.items()}
_PARTITIONS = ("moved", "unowned", "topic_partitions")


_ENCODE = {ascii_only: json.JSONEncoder(ensure_ascii=ascii_only).encode for ascii_only in (False, True)}


def to_json(event: Event, *, ascii_only: bool = False) -> str:
    """Return the JSON form of an event: the common fields and those of its kind, on one line.

    Args:
        event: Fields of the event; others are ignored. Partitions are pairs, or dicts with `topic` and `partition`.
        ascii_only: True to escape other characters than ASCII.
    """
    get = event.get
    found = {name: get(name) for name in _ALL_FIELDS[event["event"]]}
    for name in _PARTITIONS:
        partitions = found.get(name)
        if partitions and isinstance(partitions[0], dict):
            found[name] = [(each["topic"], each["partition"]) for each in partitions]
    return _ENCODE[ascii_only](found)


def replay(recording: Recording, *, is_committed: bool = True, groups: Iterable[str] = ()) -> Iterator[Event]:
    """Replay a recording in this process, and yield its events in the order in which the machine emits them.

    Args:
        recording: The recording.
        is_committed: True to omit the records of aborted transactions, as a read_committed reader does.
        groups: Group ids to replay; none for all.

    Raises:
        IllegalArgumentError: A file of the recording cannot be read.
        WrongTypeError: A column of the recording is of another type.
    """
    wanted = pa.array(sorted(set(groups)), pa.string())

    def chosen() -> Iterator[pa.RecordBatch]:
        for batch in in_log_order(recording):
            found = batch.filter(pc.invert(batch["aborted"])) if is_committed else batch
            yield found.filter(pc.is_in(found["group_id"], wanted)) if len(wanted) else found

    yield from replay_batches(chosen(), topics_table(recording.topics()), end_of(recording))


def replay_batches(batches: Iterable[pa.RecordBatch], topics: pa.RecordBatch, end: int | None) -> Iterator[Event]:
    """Replay records in which each group has the order of the log, and yield the events.

    Args:
        batches: Records with the columns offset, timestamp, key and value.
        topics: Topic metadata.
        end: Time up to which deadlines fire at the end; None for an empty log.
    """
    machine = _Machine(topics)
    for batch in batches:
        yield from machine.push(batch)
    if end is not None:
        yield from machine.advance(end)
    yield from machine.finish()


def end_of(recording: Recording) -> int | None:
    """Return the largest timestamp of all records, up to which deadlines fire at the end; None without records."""
    times = [pc.max(batch["timestamp"]).as_py() for batch in scan(recording, ["timestamp"])]
    return max((time for time in times if time is not None), default=None)


class _Machine:
    """Machine that replays batches: the one of the engine, or the reference one where the engine has none."""

    def __init__(self, topics: pa.RecordBatch) -> None:
        engine = getattr(_core, "Replay", None)
        if engine is None:
            from assignor.replay import Replay

            self._reference = Replay(topics.to_pylist(), engine="reference")
        self._engine = engine and engine(topics)

    def push(self, batch: pa.RecordBatch) -> Iterator[Event]:
        """Yield the events of records with the columns offset, timestamp, key and value."""
        if self._engine is not None:
            yield from _rows(self._engine.push(batch.select(_PUSHED)))
            return
        columns = (batch[name].to_pylist() for name in _PUSHED)
        for record in zip(*columns, strict=True):
            yield from self._reference.push(record)

    def advance(self, now: int) -> Iterator[Event]:
        """Yield the events of all deadlines up to a time."""
        if self._engine is not None:
            yield from _rows(self._engine.advance(now))
            return
        yield from self._reference.advance(now)

    def finish(self) -> Iterator[Event]:
        """Yield the events that the end of the log completes."""
        if self._engine is not None:
            yield from _rows(self._engine.finish())
            return
        yield from self._reference.finish()


_PUSHED = ["offset", "timestamp", "key", "value"]


def _rows(batches: Iterable[Any]) -> Iterator[Event]:
    for batch in batches:
        yield from pa.record_batch(batch).to_pylist()
