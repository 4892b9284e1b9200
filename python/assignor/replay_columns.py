"""Fields of replay events, and the conversion of Arrow batches of events to dicts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assignor.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import ModuleType

    from assignor.columns import ArrowArray, ArrowRecordBatch

__all__ = ["COMMON", "FIELDS", "event_dicts", "pyarrow", "topic_batch", "topic_schema"]

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


def pyarrow() -> ModuleType:
    """Import pyarrow."""
    try:
        return import_module("pyarrow")
    except ImportError as error:
        raise MissingDependencyError("replay needs pyarrow: pip install assignor[cli]") from error


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
