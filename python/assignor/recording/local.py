"""Report on a recording without Spark: decode, replay and compare in this process, and write the results as Parquet."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assignor import _core
from assignor.recording.events import end_of
from assignor.recording.metadata import topics_table
from assignor.recording.records import SCHEMA, by_group
from assignor.recording.report_events import ReportEvents

if TYPE_CHECKING:
    from pathlib import Path

    from assignor.columns import ArrowArray
    from assignor.recording.folder import Recording

_LISTS = {"generations": "generations", "members": "members", "assignment": "assignments"}
"""Columns of a history that are lists of generations, members or spans, and the tables to which they are written."""

_NOT_NULL = {("records", "aborted"), ("assignments", "cluster")}
"""Tables and their columns without nulls, as in the files that Spark writes."""


def write_tables(recording: Recording, part: Path) -> None:
    """Decode and replay the records of a recording, and write the tables of a report.

    All records are held in memory. Decoded records are written batch by batch. A second thread finds the events.

    Args:
        recording: The recording.
        part: Existing folder; the tables become folders in it.

    Raises:
        IllegalArgumentError: A file of the recording cannot be read.
        WrongTypeError: A column of the recording is of another type.
    """
    metadata = topics_table(recording.topics())
    replay, events = _core.RecordingReplay(metadata), ReportEvents(metadata, end_of(recording))
    with _Tables(part) as tables, ThreadPoolExecutor(1) as thread:
        for batch in by_group(recording):
            found = thread.submit(events.push, batch)
            decoded, ended = replay.push(batch)
            tables.write_records(batch, pa.record_batch(decoded))
            tables.write_groups(*ended)
            tables.write_events(found.result())
        tables.write_groups(*replay.finish())
        tables.write_events(events.finish())


class _Tables(contextlib.ExitStack):
    """Writers of the tables of a report; the first write to a table creates its file, even if it has no rows."""

    def __init__(self, part: Path) -> None:
        super().__init__()
        self._part = part
        self._writers: dict[str, pq.ParquetWriter] = {}

    def write_records(self, batch: pa.RecordBatch, decoded: pa.RecordBatch) -> None:
        """Write the decoded records of a batch."""
        names = [*SCHEMA.names, "aborted"]
        columns = dict(zip(names, batch.select(names).columns, strict=True))
        self._write("records", columns | dict(zip(decoded.schema.names, decoded.columns, strict=True)))

    def write_groups(self, ids: ArrowArray, histories: ArrowArray) -> None:
        """Write the histories of completed groups."""
        group_id, history = pa.array(ids), pa.array(histories)
        fields = {field.name: history.field(field.name) for field in history.type}
        lists = [fields.pop(name) for name in _LISTS]
        self._write("groups", {"group_id": group_id, **fields})
        for name, entries in zip(_LISTS.values(), lists, strict=True):
            groups = group_id.take(pc.list_parent_indices(entries))
            rows = pc.list_flatten(entries)
            columns = {field.name: rows.field(field.name) for field in rows.type}
            cluster = {"cluster": pa.repeat("", len(rows))} if name == "assignments" else {}
            self._write(name, {**cluster, "group_id": groups, **columns})

    def write_events(self, events: pa.Table) -> None:
        """Write events."""
        columns = [column.combine_chunks() for column in events.columns]
        self._write("events", dict(zip(events.column_names, columns, strict=True)))

    def _write(self, name: str, columns: dict[str, pa.Array]) -> None:
        fields = [pa.field(column, array.type, (name, column) not in _NOT_NULL) for column, array in columns.items()]
        table = pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))
        if name not in self._writers:
            (self._part / name).mkdir()
            path = self._part / name / "part-0.parquet"
            self._writers[name] = self.enter_context(pq.ParquetWriter(path, table.schema))
        if len(table):
            self._writers[name].write_table(table)
