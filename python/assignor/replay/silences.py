"""Silences of a log: times without records, although several groups had written records regularly.

A broker that does not run, or a machine that sleeps, stops all groups at once. Sessions that expire right after it say
nothing about the applications, and members do not count as stuck meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from assignor import _core
from assignor.cluster.records import groups_of, scan
from assignor.dependencies import dependency
from assignor.replay.coordinator_moves import moved_because, moves_of, outages_of

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from assignor.cluster.folder import Recording
    from assignor.replay.coordinator_moves import Outage

__all__ = ["Silence", "read_silences", "silence_events", "silences_of", "taken", "write_silences"]


_TABLE = pa.schema(
    [
        ("since", pa.int64()),
        ("until", pa.int64()),
        ("partitions", pa.list_(pa.int32())),
        ("is_whole_log", pa.bool_()),
    ]
)


class Silence(NamedTuple):
    """Time without records in partitions of `__consumer_offsets`.

    Attributes:
        since: Time of the last record before it in milliseconds.
        until: Time of the first record after it in milliseconds.
        partitions: Partitions of the log, in order.
        is_whole_log: True if no partition had a record.
        moved: How the coordinator of the groups in the partitions changed at `until`, as the end of a sentence; ""
            for a silence. Such a move is evidence like a silence, and not counted as one: `since` is `until`.
    """

    since: int
    until: int
    partitions: tuple[int, ...]
    is_whole_log: bool
    moved: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the object that `assignor report --json` prints: since, until and log_partitions (null for all)."""
        partitions = None if self.is_whole_log else [str(id) for id in self.partitions]
        return {"since": self.since, "until": self.until, "log_partitions": partitions}


def silences_of(recording: Recording) -> list[Silence]:
    """Return the silences of a recording, by time, then the moves of coordinators if the recording has them.

    The whole log was silent, or a partition of it, if it got no record for at least 10 s and for ten times the usual
    interval of at least two of its groups that had written records regularly until then.

    Args:
        recording: The recording; the columns partition, timestamp and key of all its records are read.

    Raises:
        IllegalArgumentError: A file cannot be read as Parquet.
        WrongTypeError: A column of the history of brokers is missing or of another type.
    """
    finder = _core.SilenceFinder()
    for batch in scan(recording, ["partition", "timestamp", "key"]):
        for start, groups in groups_of(batch["key"]):
            part = batch.slice(start, len(groups))
            columns = [part["partition"], part["timestamp"], groups]
            finder.add(pa.RecordBatch.from_arrays(columns, ["partition", "timestamp", "group_id"]))
    outages: dict[int, list[Outage]] = {}
    for outage in outages_of(recording):
        outages.setdefault(outage.broker, []).append(outage)
    moves = [
        Silence(move.at, move.at, (move.partition,), False, moved_because(move, outages.get(move.previous, ())))
        for move in moves_of(recording)
    ]
    return [*taken(finder), *moves]


def taken(finder: _core.SilenceFinder) -> list[Silence]:
    """Return the silences that a finder has found since the last call, by time."""
    return [Silence(since, until, tuple(ids), is_whole) for since, until, ids, is_whole in finder.take()]


def write_silences(silences: Iterable[Silence], part: Path) -> None:
    """Write the table `silences` of a report."""
    table = pa.Table.from_pylist([found._asdict() for found in silences if not found.moved], _TABLE)
    (part / "silences").mkdir()
    pq.write_table(table, part / "silences" / "part-0.parquet")


def read_silences(part: Path) -> list[Silence]:
    """Return the silences in the table `silences` of a report."""
    rows = pq.read_table(part / "silences").to_pylist()
    return [Silence(**{**row, "partitions": tuple(row["partitions"])}) for row in rows]


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
            **found.to_json(),
        }
        for found in silences
        if not found.moved
    ]
