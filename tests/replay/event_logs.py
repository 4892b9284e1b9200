"""Replay of logs as events, for the tests of events."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assignor.replay import Replay
from assignor.replay.events import event_dicts
from tests.support.recorded_fleet import TRUTH, logs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.support.record_bytes import LogRecord

Event = dict[str, Any]

RECORD = pa.schema([("offset", pa.int64()), ("timestamp", pa.int64()), ("key", pa.binary()), ("value", pa.binary())])

STORM = "inventory-sync"
"""Group with 12,474 generations."""


def replayed(
    groups: Mapping[str, Sequence[LogRecord]],
    topics: Iterable[Mapping[str, Any]] = (),
    *,
    end: int | None = None,
    **settings: Any,
) -> tuple[list[Event], Replay]:
    """Return the events of a recording, in the order in which the command prints them, and the replay at its end."""
    replay = Replay(topics, **settings)
    events = [event for records in groups.values() for record in records for event in replay.push(record)]
    if end is not None:
        events += replay.advance(end)
    events += replay.finish()
    return sorted(events, key=place), replay


def place(event: Event) -> tuple[int, str, int]:
    """Return the place of an event in the output of the command."""
    return event["at"], event["group"] or "", event["offset"]


def cut_storm(first: int, last: int) -> dict[str, list[LogRecord]]:
    """Return the logs of the recorded fleet, with the first and the last records of the storm only."""
    found = dict(logs())
    storm = found[STORM]
    found[STORM] = storm[:first] + storm[len(storm) - last :]
    return found


def broker_reasons() -> list[dict[str, Any]]:
    """Return the reduced log of the brokers, see `reduce_coordinator_log`."""
    with gzip.open(TRUTH / "broker_reasons.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def push_batch(replay: Replay, records: Sequence[Sequence[Any]], cluster: str = "") -> list[Event]:
    """Push the records of a cluster as one batch, and return the events."""
    columns = dict(zip(RECORD.names, zip(*records, strict=True), strict=True))
    batch = pa.RecordBatch.from_pydict(columns, schema=RECORD)
    batch = batch.append_column("cluster", pa.array([cluster] * len(records), pa.string()))
    return event_dicts(replay._core.push(batch))
