"""Changes of topics and brokers in `__cluster_metadata-0`, the log of the controllers of a cluster without ZooKeeper.

The log has segments, and snapshots that stand for all records before an offset: files `OFFSET-EPOCH.checkpoint`, with
the same record batches. A controller deletes segments that a snapshot covers, so the oldest data can be a snapshot.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from assignor import _core
from assignor.dependencies import dependency
from assignor.lines import format_count
from assignor.sources.segment_names import METADATA_TOPIC, OFFSETS_TOPIC, base_offset, is_swap
from assignor.sources.segments import SegmentReading, merge_replicas, read_replica, read_segment

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

FOLDER = f"{METADATA_TOPIC}-0"
"""Name of the folder of the log."""

_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_SNAPSHOT_HEADER, _SNAPSHOT_FOOTER = 3, 4
_TRANSACTION = "transaction_"


class MetadataChange(NamedTuple):
    """Row of `_core.read_cluster_metadata`; columns that do not belong to the change are None.

    Attributes:
        at: Time in milliseconds; it never decreases.
        change: `topic`, `topic_removed`, `partition`, `partition_changed`, `broker`, `broker_removed` or `fencing`.
        topic_id: Id of the topic in Kafka's text form.
        topic: Name of a new topic.
        partition: Id of the partition.
        replicas: Brokers of the replicas; None if they did not change.
        leader: Broker of the leader, -1 for no leader; None if it did not change.
        broker: Id of the broker.
        rack: Rack of a broker that registered.
        is_fenced: True if clients do not see the broker.
    """

    at: int
    change: str
    topic_id: str
    topic: str
    partition: int
    replicas: list[int] | None
    leader: int | None
    broker: int
    rack: str | None
    is_fenced: bool


_COLUMNS = MetadataChange._fields[1:]


@dataclass
class MetadataLog:
    """Changes that a log has, and what it lacks.

    Attributes:
        changes: The changes in the order of the log.
        since: Time from which on the log has all changes; None for an empty log.
        notes: What could not be read, as sentences.
    """

    changes: list[MetadataChange] = field(default_factory=list)
    since: int | None = None
    notes: list[str] = field(default_factory=list)


def read_metadata_log(folders: Iterable[Path]) -> MetadataLog:
    """Read the log from its folders in the data directories of one or more nodes of a cluster.

    The folders are merged by offset. Changes of in-sync replicas are left out, and changes of leaders, but those of
    `__consumer_offsets`.

    Args:
        folders: Folders with segments and snapshots.
    """
    return _Run(sorted(set(folders))).read()


class _Snapshot(NamedTuple):
    """File with the state before an offset."""

    end: int
    epoch: int
    path: Path


class _Run:
    """Reading of the folders of one log."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders
        self._reading = SegmentReading()
        self._log = MetadataLog()
        self._first: int | None = None
        self._next: int | None = None
        self._missing = 0

    def read(self) -> MetadataLog:
        segments, snapshots = [], []
        for folder in self._folders:
            files = self._files(folder)
            of_log = [path for path in files if base_offset(path.name) is not None and not is_swap(path.name)]
            segments.append(sorted(of_log, key=lambda path: path.name))
            found = ((_SNAPSHOT.fullmatch(path.name), path) for path in files)
            snapshots += [_Snapshot(int(match[1]), int(match[2]), path) for match, path in found if match]
        tables = [self._decoded(batch) for batch in self._records(segments)]
        start, rows = self._start(sorted(snapshots))
        if rows is not None:
            tables = [rows, *(table.filter(pc.greater_equal(table["offset"], start)) for table in tables)]
        if tables:
            self._take(pa.concat_tables(tables).combine_chunks())
        self._add_notes()
        return self._log

    def _files(self, folder: Path) -> list[Path]:
        try:
            return sorted(folder.iterdir())
        except OSError as error:
            self._log.notes.append(f"{folder} cannot be read: {error.strerror}")
            return []

    def _records(self, segments: Sequence[Sequence[Path]]) -> Iterator[pa.RecordBatch]:
        replicas = [read_replica(files, self._reading, _ignore) for files in segments if files]
        for batch in merge_replicas(replicas, 0, self._reading) if replicas else ():
            offsets = batch["offset"].to_numpy()
            self._first = int(offsets[0]) if self._first is None else self._first
            before = np.append(offsets[0] if self._next is None else self._next, offsets[:-1] + 1)
            self._missing += int((offsets - before).sum())
            self._next = int(offsets[-1]) + 1
            yield batch

    def _decoded(self, batch: pa.RecordBatch) -> pa.Table:
        records = batch.filter(pc.is_null(batch["control"]))
        rows: Any = _core.read_cluster_metadata(records["offset"], records["timestamp"], records["value"])
        table = pa.Table.from_batches([pa.record_batch(rows)])
        is_isr = pc.and_(pc.is_null(table["replicas"]), pc.is_null(table["leader"]))
        return table.filter(pc.invert(pc.and_(is_isr, pc.equal(table["change"], "partition_changed"))))

    def _start(self, snapshots: Sequence[_Snapshot]) -> tuple[int, pa.Table | None]:
        """Return the offset before which a snapshot stands for the log, and the rows of the snapshot.

        A log that begins with offset 0 needs none. Otherwise the oldest snapshot counts that the log continues. Without
        one, the last snapshot before the log counts, and without a log the last one.
        """
        if self._first == 0:
            return 0, None
        first = -1 if self._first is None else self._first
        older = [each for each in reversed(snapshots) if each.end < first or first < 0]
        for snapshot in (*(each for each in snapshots if each.end >= first >= 0), *older):
            if (rows := self._read_snapshot(snapshot)) is not None:
                ends = (snapshot.end, snapshot.end if self._next is None else self._next)
                self._missing += max(0, first - snapshot.end, ends[0] - ends[1]) if first >= 0 else 0
                return snapshot.end, rows
        if self._first is not None:
            self._log.notes.append(
                f"{METADATA_TOPIC} begins with offset {self._first}, and no snapshot has what was before: topics and "
                "brokers that are older are not known"
            )
        return 0, None

    def _read_snapshot(self, snapshot: _Snapshot) -> pa.Table | None:
        """Return the rows of a snapshot, all at the time of the last record before it; None if it is cut off."""
        batches = list(read_segment(snapshot.path, self._reading, _ignore))
        controls = [row for batch in batches for row in _controls(batch)]
        if not any(number == _SNAPSHOT_FOOTER for number, _ in controls):
            self._log.notes.append(f"{snapshot.path} is incomplete, and was left out: it has no end")
            return None
        headers = (value for number, value in controls if number == _SNAPSHOT_HEADER and len(value) >= 10)
        at = int.from_bytes(next(headers, bytes(10))[2:10], "big", signed=True)
        rows = pa.concat_tables([self._decoded(batch) for batch in batches])
        times = pa.array(np.full(rows.num_rows, at, np.int64))
        return rows.set_column(rows.schema.get_field_index("timestamp"), "timestamp", times)

    def _take(self, table: pa.Table) -> None:
        """Take the rows of the log: those of transactions that ended, each at the end of its transaction."""
        for change in ("newer", "unreadable"):
            chosen = table.filter(pc.equal(table["change"], change))
            if chosen.num_rows:
                self._log.notes.append(_unread(change, chosen.num_rows, chosen["reason"][0].as_py()))
        self._log.since = table["timestamp"][0].as_py() if table.num_rows else None
        times, keep = self._transactions(table)
        names = table.filter(pc.equal(table["topic"], OFFSETS_TOPIC))["topic_id"]
        is_leader = pc.and_(pc.equal(table["change"], "partition_changed"), pc.is_null(table["replicas"]))
        is_other = pc.and_(is_leader, pc.invert(pc.is_in(table["topic_id"], names.combine_chunks())))
        keep &= ~is_other.to_numpy()
        is_change = pc.invert(pc.is_in(table["change"], pa.array(["newer", "unreadable"])))
        keep &= is_change.to_numpy()
        chosen = table.filter(pa.array(keep))
        columns = [np.maximum.accumulate(times[keep]).tolist(), *(chosen[name].to_pylist() for name in _COLUMNS)]
        self._log.changes = list(map(MetadataChange._make, zip(*columns, strict=True)))

    def _transactions(self, table: pa.Table) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the time of each row, and whether it counts."""
        times = table["timestamp"].to_numpy().copy()
        keep = np.ones(table.num_rows, bool)
        marks = np.flatnonzero(pc.starts_with(table["change"], _TRANSACTION).to_numpy())
        keep[marks] = False
        began: int | None = None
        for place, mark in zip(marks.tolist(), table["change"].take(pa.array(marks)).to_pylist(), strict=True):
            if mark == "transaction_began":
                began = place
                continue
            if began is not None and mark == "transaction_ended":
                times[began:place] = times[place]
            elif began is not None:
                keep[began:place] = False
            began = None
        if began is not None:
            keep[began:] = False
            count = table.num_rows - began - 1
            self._log.notes.append(
                f"{METADATA_TOPIC} ends within a transaction: its {format_count(count, 'change')} were left out"
            )
        return times, keep

    def _add_notes(self) -> None:
        reading, notes = self._reading, self._log.notes
        if self._missing:
            missing = format_count(self._missing, "offset")
            notes.append(f"{METADATA_TOPIC} lacks {missing} in the middle: changes of topics and brokers are missing")
        for path, position, reason in reading.damage[:1]:
            more = f" (and {len(reading.damage) - 1} more places)" if len(reading.damage) > 1 else ""
            notes.append(f"{path} is damaged at byte {position}: {reason}{more}")
        for path, reason in (*reading.unreadable, *reading.foreign)[:1]:
            notes.append(f"{path} is left out: {reason}")
        voters = {count for folder in self._folders if (count := _voters(folder)) is not None}
        if len(self._folders) == 1 and max(voters, default=1) > 1:
            notes.append(
                f"{METADATA_TOPIC} was read from one of {max(voters)} controllers, and the others may never have "
                "accepted its last changes: the log does not say up to where they agreed"
            )


def _ignore(_size: int) -> None:
    """Take the number of bytes of a piece; the log is small, so its progress is not shown."""


def _controls(batch: pa.RecordBatch) -> list[tuple[int, bytes]]:
    """Return type and value of the control records."""
    controls = batch.filter(pc.is_valid(batch["control"]))
    return list(zip(controls["control"].to_pylist(), controls["value"].to_pylist(), strict=True))


def _unread(change: str, count: int, reason: str) -> str:
    records = format_count(count, "record")
    if change == "newer":
        return f"{records} of {METADATA_TOPIC} {'is' if count == 1 else 'are'} of a newer Kafka and left out ({reason})"
    return f"{records} of {METADATA_TOPIC} cannot be read and {'is' if count == 1 else 'are'} left out ({reason})"


def _voters(folder: Path) -> int | None:
    """Return the number of controllers that vote, from the file `quorum-state`; None if it is not known."""
    try:
        state = json.loads((folder / "quorum-state").read_text(encoding="utf-8"))
        return len(state["currentVoters"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
