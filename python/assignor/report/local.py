"""Tables of a report: decode, replay and compare in one process, and write the results as Parquet."""

from __future__ import annotations

import contextlib
import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from assignor import _core
from assignor.cluster.copies import CopyMarker
from assignor.cluster.metadata import topics_table
from assignor.cluster.records import by_group, check_types
from assignor.dependencies import dependency
from assignor.replay.recorded import end_of
from assignor.replay.silences import silences_of, write_silences
from assignor.report.tables import LISTS, Pushed, push

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    from assignor.cluster.folder import Recording
    from assignor.replay.silences import Silence
    from assignor.sources.broker_log import LoggedRebalance
    from assignor.validation import BrokerVersion

_NOT_NULL = {("records", "aborted"), ("assignments", "cluster")}
"""Tables and their columns without nulls."""


def write_tables(recording: Recording, part: Path, logged: Sequence[LoggedRebalance] = ()) -> None:
    """Decode and replay the records of a recording, and write the tables of a report.

    All records are held in memory.

    Args:
        recording: The recording.
        part: Existing folder; the tables become folders in it.
        logged: Rebalances that brokers logged.

    Raises:
        IllegalArgumentError: A file of the recording cannot be read.
        WrongTypeError: A column of the recording is of another type.
    """
    check_types(recording)
    metadata, end = topics_table(recording.topics()), end_of(recording)
    silences = silences_of(recording)
    write_silences(silences, part)
    version = recording.broker_version
    write_batches(by_group(recording), metadata, end, part, silences=silences, logged=logged, broker_version=version)


def write_batches(
    batches: Iterable[pa.RecordBatch],
    metadata: pa.RecordBatch,
    end: int | None,
    part: Path,
    *,
    silences: Sequence[Silence],
    logged: Sequence[LoggedRebalance] = (),
    broker_version: BrokerVersion | None = None,
    file: str = "part-0",
) -> None:
    """Decode and replay records, and write them to one file of each table.

    A batch is written while another thread replays the next one.

    Args:
        batches: Records that are sorted by group and offset, with the columns that `report.tables.push` reads. Copies
            of a record follow each other.
        metadata: Topic metadata.
        end: Time up to which deadlines fire at the end; None for an empty log.
        part: Folder of the tables.
        silences: Silences of the log.
        logged: Rebalances that brokers logged.
        broker_version: Version of the brokers; None if it is not known.
        file: Name of the files, without extension.
    """
    replay, marker = _core.Replay(metadata, broker_version=broker_version), CopyMarker()
    replay.observe_silences(silences)
    replay.observe_broker_log([each.row() for each in logged], "")
    with _Tables(part, f"{file}.parquet") as tables, ThreadPoolExecutor(1) as thread:
        before: Future[Pushed] | None = None
        for batch in itertools.chain(batches, (None,)):
            pushed = thread.submit(push, replay, batch, end, marker)
            if before is not None:
                tables.write(before.result())
            before = pushed
        tables.write(pushed.result())


class _Tables(contextlib.ExitStack):
    """Writers of the tables of a report; the first write to a table creates its file, even if it has no rows."""

    def __init__(self, part: Path, file: str) -> None:
        super().__init__()
        self._part = part
        self._file = file
        self._writers: dict[str, pq.ParquetWriter] = {}

    def write(self, pushed: Pushed) -> None:
        """Write what the replay returned for a batch of records."""
        if pushed.records is not None:
            self._write("records", pushed.records)
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
            folder = self._part / name
            folder.mkdir(exist_ok=True)
            self._writers[name] = self.enter_context(pq.ParquetWriter(folder / self._file, table.schema))
        if len(table):
            self._writers[name].write_table(table)
