"""Silences of a log: times without records, although several groups had written records regularly.

A broker that does not run, or a machine that sleeps, stops all groups at once. Sessions that expire right after it say
nothing about the applications, and members do not count as stuck meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from assignor import _core
from assignor.cluster.records import groups_of, scan

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.cluster.folder import Recording

__all__ = ["Silence", "silence_events", "silences_of"]


class Silence(NamedTuple):
    """Time without records in partitions of `__consumer_offsets`.

    Attributes:
        since: Time of the last record before it in milliseconds.
        until: Time of the first record after it in milliseconds.
        partitions: Partitions of the log, in order.
        is_whole_log: True if no partition had a record.
    """

    since: int
    until: int
    partitions: tuple[int, ...]
    is_whole_log: bool


def silences_of(recording: Recording) -> list[Silence]:
    """Return the silences of a recording, by time.

    The whole log was silent, or a partition of it, if it got no record for at least 10 s and for ten times the usual
    interval of at least two of its groups that had written records regularly until then.

    Args:
        recording: The recording; the columns partition, timestamp and key of all its records are read.

    Raises:
        IllegalArgumentError: The records cannot be read as Parquet.
    """
    finder = _core.SilenceFinder()
    for batch in scan(recording, ["partition", "timestamp", "key"]):
        for start, groups in groups_of(batch["key"]):
            part = batch.slice(start, len(groups))
            columns = [part["partition"], part["timestamp"], groups]
            finder.add(pa.RecordBatch.from_arrays(columns, ["partition", "timestamp", "group_id"]))
    return [Silence(since, until, tuple(ids), is_whole) for since, until, ids, is_whole in finder.take()]


def silence_events(silences: Iterable[Silence]) -> list[dict[str, Any]]:
    """Return the events of silences, at the times of their ends."""
    return [
        {
            "event": "silence",
            "cluster": "",
            "group": None,
            "kind": None,
            "at": found.until,
            "offset": -1,
            "since": found.since,
            "until": found.until,
            "log_partitions": None if found.is_whole_log else [str(id) for id in found.partitions],
        }
        for found in silences
    ]
