"""Events of a replay: their fields, and their forms as dicts and as JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.cluster.metadata import pyarrow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.columns import ArrowArray

__all__ = ["COLUMNS", "COMMON", "FIELDS", "MEANINGS", "PARTITIONS", "Event", "event_dicts", "to_json"]

Event = dict[str, Any]

_COLUMNS, _COMMON, _KINDS = _core.event_schema()

COLUMNS = dict(_COLUMNS)
"""Columns of a table of events, with their types: text, number, flag, texts, numbers, partitions,
comparison, tasks or moved_tasks."""

COMMON = tuple(name for name, _ in _COMMON)
"""Fields of every event."""

FIELDS = {kind: tuple(name for name, _ in fields) for kind, fields in _KINDS}
"""Fields of each kind of event after the common ones; the kinds are in the order of the events of one record."""

MEANINGS = {"": dict(_COMMON), **{kind: dict(fields) for kind, fields in _KINDS}}
"""Meaning of each field, by kind of event; the common fields are under the empty name."""

PARTITIONS = tuple(name for name, kind in COLUMNS.items() if kind == "partitions")
"""Columns of partitions."""


_ALL_FIELDS = {kind: (*COMMON, *fields) for kind, fields in FIELDS.items()}
_ENCODE = {ascii_only: json.JSONEncoder(ensure_ascii=ascii_only).encode for ascii_only in (False, True)}


def event_dicts(batches: Iterable[ArrowArray]) -> list[Event]:
    """Return the events of batches as dicts with the fields of their kind."""
    pa = pyarrow()
    return [as_event(row) for batch in batches for row in pa.record_batch(batch).to_pylist()]


def as_event(row: dict[str, Any]) -> Event:
    """Return an event from a row with the columns of all kinds of events."""
    event = {name: row[name] for name in _ALL_FIELDS[row["event"]]}
    for name in PARTITIONS:
        if event.get(name) is not None:
            event[name] = [[each["topic"], each["partition"]] for each in event[name]]
    return event


def to_json(event: Event, *, ascii_only: bool = False) -> str:
    """Return the JSON form of an event: the common fields and those of its kind, on one line.

    An event of a kind that the replay does not return, such as `coordinator` of a watch, has all its fields.

    Args:
        event: Fields of the event; others are ignored. Partitions are pairs, or dicts with `topic` and `partition`.
        ascii_only: True to escape other characters than ASCII.
    """
    get = event.get
    found = {name: get(name) for name in _ALL_FIELDS[event["event"]]}
    for name in PARTITIONS:
        partitions = found.get(name)
        if partitions and isinstance(partitions[0], dict):
            found[name] = [(each["topic"], each["partition"]) for each in partitions]
    return _ENCODE[ascii_only](found)
