"""Events of the replay in Rust: Arrow batches, and their conversion to dicts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import ModuleType

    from assignor.columns import ArrowArray, ArrowRecordBatch

__all__ = ["COMMON", "FIELDS", "RustReplay", "event_dicts", "topic_batch", "topic_schema"]

Event = dict[str, Any]

COMMON = ("event", "cluster", "group", "kind", "at", "offset")
"""Fields of every event."""

FIELDS = {
    "generation": (
        *("generation", "protocol_type", "protocol", "leader", "members", "partitions", "duration_ms"),
        *("same_members", "comparison"),
    ),
    "rebalance": ("generation", "causes", "evidence", "joined", "left", "replaced", "moved", "unowned"),
    "member": ("action", "member", "instance_id", "client_id", "client_host", "previous", "generation", "causes"),
    "storm": ("since", "until", "rebalances", "topic_partitions", "unowned"),
    "stuck": ("member", "topic_partitions", "since", "until", "usual_interval_ms"),
    "offsets": ("problem", "topic_partitions", "evidence"),
    "bad_record": ("record_type", "error"),
}
"""Fields of each kind of event after the common ones."""

PARTITIONS = ("moved", "unowned", "topic_partitions")


class RustReplay:
    """Replay in Rust, with the interface of the reference."""

    def __init__(self, topics: Iterable[Mapping[str, Any]], **settings: Any) -> None:
        self._rows = list(topics)
        self._core = _core.Replay(topic_batch(self._rows), **settings)

    def push(self, record: tuple[int, int, bytes | None, bytes | None], cluster: str = "") -> list[Event]:
        """Apply a record and return its events."""
        return event_dicts(self._core.push_record(record, cluster))

    def advance(self, now: int, cluster: str | None = None) -> list[Event]:
        """Return the events of all deadlines up to a time."""
        return event_dicts(self._core.advance(now, cluster))

    def next_deadline(self) -> int | None:
        """Return the earliest deadline."""
        return self._core.next_deadline()

    def finish(self) -> list[Event]:
        """Return the events that wait for further records, at the end of a finite log."""
        return event_dicts(self._core.finish())

    def observe_topics(self, rows: Iterable[Mapping[str, Any]]) -> list[Event]:
        """Add later topic metadata and return the generations whose comparison waited for it."""
        self._rows += rows
        return event_dicts(self._core.observe_topics(topic_batch(self._rows)))

    def snapshot(self) -> bytes:
        """Return the state as bytes."""
        return self._core.snapshot()

    def restore(self, data: bytes) -> None:
        """Replace the state with that of a snapshot."""
        self._core.restore(data)

    def counts(self) -> dict[str, int]:
        """Return total counts by name, such as `duplicates`."""
        return dict(self._core.counts())

    def states(self) -> list[dict[str, Any]]:
        """Return a row for each group."""
        pa = pyarrow()
        groups, histories = self._core.states()
        rows = zip(pa.record_batch(groups).to_pylist(), pa.array(histories).to_pylist(), strict=True)
        return [{**history, **group} for group, history in rows]

    def positions(self) -> list[dict[str, Any]]:
        """Return a row for each partition with a committed offset or an owner."""
        pa = pyarrow()
        return [row for batch in self._core.positions() for row in pa.record_batch(batch).to_pylist()]


def pyarrow() -> ModuleType:
    """Import pyarrow."""
    try:
        return import_module("pyarrow")
    except ImportError as error:
        raise MissingDependencyError("replay with engine='rust' needs pyarrow: pip install assignor[cli]") from error


def topic_schema() -> Any:
    """Return the Arrow schema of topic metadata: a row per time and partition."""
    pa = pyarrow()
    types = {"t": pa.int64(), "topic": pa.string(), "topic_id": pa.string(), "partition": pa.int32()}
    return pa.schema([*types.items(), ("racks", pa.list_(pa.string()))])


def topic_batch(rows: Sequence[Mapping[str, Any]]) -> ArrowRecordBatch:
    """Return topic metadata as a batch."""
    schema = topic_schema()
    columns = {name: [row[name] for row in rows] for name in schema.names}
    batch: ArrowRecordBatch = pyarrow().RecordBatch.from_pydict(columns, schema=schema)
    return batch


def event_dicts(batches: Iterable[ArrowArray]) -> list[Event]:
    """Return the events of batches as dicts with the fields of their kind."""
    pa = pyarrow()
    return [as_event(row) for batch in batches for row in pa.record_batch(batch).to_pylist()]


def as_event(row: dict[str, Any]) -> Event:
    """Return an event from a row with the columns of all kinds of events."""
    event = {name: row[name] for name in (*COMMON, *FIELDS[row["event"]])}
    for name in PARTITIONS:
        if event.get(name) is not None:
            event[name] = [[each["topic"], each["partition"]] for each in event[name]]
    return event
