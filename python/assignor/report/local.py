"""Report on a recording without Spark: decode, replay and compare in this process, and write the results as Parquet."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assignor import _core
from assignor.cluster.metadata import topics_table
from assignor.cluster.records import SCHEMA, by_group
from assignor.replay.recorded import end_of
from assignor.report.tables import LISTS, Pushed, push

if TYPE_CHECKING:
    from pathlib import Path

    from assignor.cluster.folder import Recording

_NOT_NULL = {("records", "aborted"), ("assignments", "cluster")}
"""Tables and their columns without nulls, as in the files that Spark writes."""


def write_tables(recording: Recording, part: Path) -> None:
    """Decode and replay the records of a recording, and write the tables of a report.

    All records are held in memory. Decoded records are written batch by batch.

    Args:
        recording: The recording.
        part: Existing folder; the tables become folders in it.

    Raises:
        IllegalArgumentError: A file of the recording cannot be read.
        WrongTypeError: A column of the recording is of another type.
    """
    replay, end = _core.Replay(topics_table(recording.topics())), end_of(recording)
    has_commits = recording.end_offsets.exists()
    with _Tables(part) as tables:
        for batch in by_group(recording):
            pushed = push(replay, batch, end, has_commits=has_commits)
            tables.write_records(batch, pushed.decoded)
            tables.write_rest(pushed)
        tables.write_rest(push(replay, None, end, has_commits=has_commits))


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

    def write_rest(self, pushed: Pushed) -> None:
        """Write the events, the commits and the histories of groups that have ended."""
        if pushed.commits is not None:
            self._write("commits", dict(zip(pushed.commits.schema.names, pushed.commits.columns, strict=True)))
        fields = {field.name: pushed.histories.field(field.name) for field in pushed.histories.type}
        lists = {name: fields.pop(name) for name in LISTS}
        self._write("groups", {"group_id": pushed.group_ids, **fields})
        for name, entries in lists.items():
            groups = pushed.group_ids.take(pc.list_parent_indices(entries))
            rows = pc.list_flatten(entries)
            columns = {field.name: rows.field(field.name) for field in rows.type}
            cluster = {"cluster": pa.repeat("", len(rows))} if name == "assignment" else {}
            self._write(LISTS[name], {**cluster, "group_id": groups, **columns})
        events = (column.combine_chunks() for column in pushed.events.columns)
        self._write("events", dict(zip(pushed.events.column_names, events, strict=True)))

    def _write(self, name: str, columns: dict[str, pa.Array]) -> None:
        fields = [pa.field(column, array.type, (name, column) not in _NOT_NULL) for column, array in columns.items()]
        table = pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))
        if name not in self._writers:
            (self._part / name).mkdir()
            path = self._part / name / "part-0.parquet"
            self._writers[name] = self.enter_context(pq.ParquetWriter(path, table.schema))
        if len(table):
            self._writers[name].write_table(table)
