"""Conversion of the segments of brokers into the folder of a recording, with notes on what the recording lacks.

The time of the topics and end offsets is that of the last record of the log: they are read after all commits, and the
lag at that time includes all of them.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assignor.cluster.metadata import topic_schema
from assignor.cluster.recording_files import RecordingFiles
from assignor.cluster.records import SCHEMA
from assignor.cluster.timestamps import latest
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.lag import SHARE_OFFSETS, TIMED_END_OFFSETS
from assignor.lines import format_count
from assignor.sources.conversion_notes import PartitionNotes, notes_of
from assignor.sources.dump_text import read_dump
from assignor.sources.log_keys import LogKeys, count_partitions, partitions_of_groups
from assignor.sources.segment_names import METADATA_LOG, OFFSETS_TOPIC
from assignor.sources.segments import SegmentReading, merge_replicas, read_replica, transaction_rows
from assignor.sources.share_state import ShareOffsets
from assignor.sources.topic_folders import TopicFolders, topic_names
from assignor.sources.topic_history import topic_history
from assignor.sources.transactions import resolve_transactions

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from assignor.sources.data_directory import Directories, PartitionFolder

_NO_ROWS = pa.RecordBatch.from_pylist([], schema=SCHEMA)
_MEGABYTE = 1 << 20


def convert_directories(found: Directories, out: Path, source: str, show: Callable[[str], None]) -> None:
    """Write the log in the data directories of a cluster as a recording.

    Args:
        found: The directories.
        out: New or empty folder.
        source: Names of the paths, for people.
        show: Function that gets the progress.

    Raises:
        IllegalArgumentError: No segment can be read, or the folder cannot be written.
    """
    with _files(out, found.cluster_id or "", source) as files:
        run = _Run(found, files, show)
        run.write_records()
        files.write_source(source, run.write_topics())


def convert_dumps(paths: Sequence[Path], out: Path, source: str) -> None:
    """Write the records in text of `kafka-dump-log.sh` as a recording.

    Args:
        paths: Files with the text.
        out: New or empty folder.
        source: Names of the paths, for people.

    Raises:
        IllegalArgumentError: A file cannot be read or has no record, or the folder cannot be written.
    """
    dumps = [read_dump(path) for path in paths]

    def aborted() -> Iterator[tuple[int, int]]:
        for partition in {partition for dump in dumps for partition in dump.transactions}:
            rows = np.array([row for dump in dumps for row in dump.transactions.get(partition, ())], np.int64)
            for offset in resolve_transactions(*rows.T).aborted:
                yield partition, int(offset)

    def notes() -> list[str]:
        return [f"{path}: {note}" for path, dump in zip(paths, dumps, strict=True) for note in dump.notes]

    convert_batches((batch for dump in dumps for batch in dump), out, source, notes, aborted)


def convert_batches(
    batches: Iterable[pa.RecordBatch],
    out: Path,
    source: str,
    notes: Callable[[], Sequence[str]],
    aborted: Callable[[], Iterable[tuple[int, int]]] = tuple,
) -> None:
    """Write records of another source as a recording without topics and end offsets.

    Args:
        batches: Records with the columns of `cluster.records.SCHEMA`; the offsets of each partition increase.
        out: New or empty folder.
        source: Names of the paths, for people.
        notes: Function that returns what the source lacks; it is called after the last batch.
        aborted: Function that returns partition and offset of the records of aborted transactions; it is called after
            the last batch.

    Raises:
        IllegalArgumentError: There is no record, or the folder cannot be written.
    """
    with _files(out, "", source) as files:
        for batch in batches:
            files.add(batch.select(SCHEMA.names), (), {})
        if not files.added:
            raise IllegalArgumentError(f"{source} has no record of {OFFSETS_TOPIC}")
        files.add(_NO_ROWS, aborted(), {})
        files.commit()
        files.write_source(source, notes())


@contextmanager
def _files(out: Path, cluster_id: str, source: str) -> Iterator[RecordingFiles]:
    """Yield the files of a new recording; errors of the disk say what to do."""
    try:
        with RecordingFiles(out, cluster_id, source) as files:
            yield files
    except OSError as error:
        reason = getattr(error.__cause__ or error, "strerror", None) or error
        raise IllegalArgumentError(
            f"cannot write the converted records to {out}: {reason}; free space, or choose another folder with the "
            "environment variable TMPDIR or with `assignor record --from ... --out FOLDER`"
        ) from error


class _Run:
    """One conversion of the segments of a cluster."""

    def __init__(self, found: Directories, files: RecordingFiles, show: Callable[[str], None]) -> None:
        self._found = found
        self._files = files
        self._reading = SegmentReading()
        self._keys = LogKeys()
        self._partitions: dict[int, PartitionNotes] = {}
        self._placed: dict[Path, int] = {}
        self._uncertain: list[Path] = []
        self._latest: int | None = None
        self._show = show
        self._done = 0
        self._total = sum(map(_size, (file for each in found.offsets for file in (*each.segments, *each.swaps))))

    def write_records(self) -> None:
        """Write the records of all partitions, one partition after the other."""
        folders: dict[int, list[PartitionFolder]] = {}
        for folder in self._found.offsets:
            id = self._place(folder) if folder.partition is None else folder.partition.id
            if id is not None:
                folders.setdefault(id, []).append(folder)
        for id, replicas in sorted(folders.items()):
            self._write_partition(id, replicas)
        self._check_read()
        self._files.commit()

    def write_topics(self) -> list[str]:
        """Write the topics and their end offsets, and return the notes on the recording."""
        at = self._latest if self._latest is not None else self._modified()  # 0 without files: there are no groups then
        count = count_partitions(self._partitions, self._keys)
        history = topic_history(each.path for each in self._found.folders if each.partition == METADATA_LOG)
        share_notes = self._write_share_offsets(history.topics)
        topics = TopicFolders(self._found, self._keys.committed, count)
        if history.topics.num_rows:
            self._files.write_topics(history.topics)
            self._files.write_brokers(history.coordinators, history.brokers)
        else:
            self._files.write_topics(_batch(topics.rows(at), topic_schema()))
        self._show("reading the end offsets of topics")
        self._files.write_end_offsets(_batch(topics.end_offsets(at), TIMED_END_OFFSETS))
        found = notes_of(
            self._found,
            self._reading,
            self._partitions,
            count,
            topics,
            history,
            placed=self._placed,
            uncertain=self._uncertain,
        )
        return [*found, *share_notes]

    def _write_share_offsets(self, topics: pa.RecordBatch) -> list[str]:
        """Write the start offsets of share groups, if folders have them, and return the notes on them."""
        if not self._found.share_state:
            return []
        self._show("reading the start offsets of share groups")
        offsets = ShareOffsets(self._found.share_state)
        ids = zip(topics["topic_id"].to_pylist(), topics["topic"].to_pylist(), strict=True)
        rows = offsets.rows({**topic_names(self._found), **dict(ids)})
        for _, topic, partition, _ in rows:
            self._keys.committed.setdefault(topic, set()).add(partition)
        if offsets.is_known:
            self._files.write_share_offsets(_batch(rows, SHARE_OFFSETS))
        return offsets.notes()

    def _place(self, folder: PartitionFolder) -> int | None:
        """Return the partition of segments without the name of one, from the groups in them; None if it is no log."""
        keys, reading, records = LogKeys(), SegmentReading(), 0
        for batch in self._merged(folder.segments, folder.swaps, 0, reading):
            keys.add(0, batch["key"])
            records += batch.num_rows
        self._done = 0
        if not reading.files:
            self._reading.foreign += reading.foreign
            self._reading.unreadable += reading.unreadable
            return None
        groups = keys.groups.get(0, set())
        file = (*folder.segments, *folder.swaps)[0]
        if records and not groups:
            raise IllegalArgumentError(
                f"{file} is a segment of another topic: no key of its {format_count(records, 'record')} is one of "
                f"{OFFSETS_TOPIC}"
            )
        ids = partitions_of_groups(groups) or {0}
        self._placed[folder.path] = min(ids)
        if len(ids) > 1:
            self._uncertain.append(folder.path)
        return min(ids)

    def _merged(
        self, segments: Sequence[Path], swaps: Sequence[Path], id: int, reading: SegmentReading
    ) -> Iterator[pa.RecordBatch]:
        replicas = [read_replica(files, reading, self._progress(id)) for files in (segments, swaps) if files]
        return merge_replicas(replicas, id, reading) if replicas else iter(())

    def _write_partition(self, id: int, folders: Sequence[PartitionFolder]) -> None:
        replicas = [
            read_replica(files, self._reading, self._progress(id))
            for folder in folders
            for files in (folder.segments, folder.swaps)
            if files
        ]
        notes = self._partitions[id] = PartitionNotes.of(folders)
        pending: list[tuple[np.ndarray, ...]] = []
        for batch in merge_replicas(replicas, id, self._reading) if replicas else ():
            notes.add(batch["offset"].to_numpy())
            rows = transaction_rows(batch)
            if len(rows[0]):
                pending.append(rows)
            records = batch.filter(batch["control"].is_null())
            self._keys.add(id, records["key"])
            self._latest = max(filter(None, (self._latest, latest(records["timestamp"]))), default=None)
            self._files.add(_rows(id, records), (), {id: notes.end})
        if pending:
            outcome = resolve_transactions(*(np.concatenate(parts) for parts in zip(*pending, strict=True)))
            notes.unfinished = len(outcome.unfinished)
            self._files.add(_NO_ROWS, [(id, offset) for offset in outcome.aborted.tolist()], {})

    def _check_read(self) -> None:
        """Raise an error if nothing could be read: no file is a segment, or permissions are missing."""
        if self._reading.files:
            return
        if not any(folder.segments or folder.swaps for folder in self._found.offsets):
            folders = self._found.offsets
            more = f" and {format_count(len(folders) - 1, 'more folder')}" if len(folders) > 1 else ""
            has = "have" if len(folders) > 1 else "has"
            raise IllegalArgumentError(f"{folders[0].path}{more} {has} no segments; expected files such as {0:020}.log")
        for path, kind in self._reading.foreign[:1]:
            others = len(self._reading.foreign) - 1
            more = f" (as {format_count(others, 'other file')})" if others else ""
            raise IllegalArgumentError(f"{path} is {kind}{more}; expected a log segment of {OFFSETS_TOPIC}")
        for path, reason in self._reading.unreadable[:1]:
            raise IllegalArgumentError(f"{path} cannot be read: {reason}")
        if not self._partitions:
            raise IllegalArgumentError(f"no segment of {OFFSETS_TOPIC} was found")

    def _modified(self) -> int:
        """Return the last time in milliseconds at which a segment was written; 0 without a segment."""
        times = []
        for folder in self._found.offsets:
            for file in folder.segments:
                try:
                    times.append(file.stat().st_mtime_ns // 1_000_000)
                except OSError:
                    continue
        return max(times, default=0)

    def _progress(self, id: int) -> Callable[[int], None]:
        def add(size: int) -> None:
            self._done += size
            megabytes = f"{self._done / _MEGABYTE:,.0f} of {max(self._total, self._done) / _MEGABYTE:,.0f} MB"
            self._show(f"reading partition {id} of {OFFSETS_TOPIC}: {megabytes}")

        return add


def _rows(id: int, records: pa.RecordBatch) -> pa.RecordBatch:
    """Return records as rows of `records.parquet`."""
    partition = pa.array(np.full(records.num_rows, id, np.int32))
    columns = [partition, *(records[name].cast(SCHEMA.field(name).type) for name in SCHEMA.names[1:])]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _batch(rows: Sequence[tuple[object, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
