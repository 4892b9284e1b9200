"""Fields of replay events, and the conversion of Arrow batches of events to dicts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import ModuleType

    from assignor.columns import ArrowArray, ArrowRecordBatch

__all__ = ["COLUMNS", "COMMON", "FIELDS", "event_dicts", "pyarrow", "topic_batch", "topic_schema"]

Event = dict[str, Any]

_COLUMNS, _COMMON, _KINDS = _core.event_schema()

COLUMNS = dict(_COLUMNS)
"""Columns of a table of events, with their types: text, number, flag, texts, partitions or comparison."""

COMMON = tuple(name for name, _ in _COMMON)
"""Fields of every event."""

FIELDS = {kind: tuple(name for name, _ in fields) for kind, fields in _KINDS}
"""Fields of each kind of event after the common ones; the kinds are in the order of the events of one record."""

MEANINGS = {"": dict(_COMMON), **{kind: dict(fields) for kind, fields in _KINDS}}
"""Meaning of each field, by kind of event; the common fields are under the empty name."""

PARTITIONS = tuple(name for name, kind in COLUMNS.items() if kind == "partitions")
"""Columns of partitions."""


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
