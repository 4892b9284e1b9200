"""Records of a recording, read with pyarrow: their size, and batches in the order that replay needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignor import _core
from assignor.cluster.folder import open_dataset, parquet_error
from assignor.cluster.timestamps import LATEST_TIME
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.lines import format_count

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.cluster.folder import Recording

SCHEMA = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
"""Columns of records; `timestamp` is in milliseconds, and a null `value` is a tombstone."""

BATCH_BYTES = 1 << 20
"""Number of bytes of keys and values in a batch, unless one record has more. The Rust core returns up
to 140 MB for such a batch."""

BATCH_RECORDS = 10_000
"""Highest number of records in a batch."""

_STORED = pa.schema([field.with_type(pa.large_binary()) if field.type == pa.binary() else field for field in SCHEMA])
"""Types in memory: a column of type binary holds at most 2 GB."""

_BINARY_TYPES = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
_SPARK_NAMES = {"int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "bool": "boolean"}


class Size(NamedTuple):
    """Number of records, and of bytes of their columns before compression, as the Parquet files state them."""

    records: int
    bytes: int


def size_of(recording: Recording) -> Size:
    """Return the size of the records from the footers of the Parquet files; no record is read.

    Raises:
        IllegalArgumentError: A file cannot be read as Parquet.
    """
    records = size = 0
    try:
        for fragment in open_dataset(recording.records).get_fragments():
            metadata = fragment.metadata
            records += metadata.num_rows
            for group in range(metadata.num_row_groups):
                row_group = metadata.row_group(group)
                columns = (row_group.column(number) for number in range(row_group.num_columns))
                size += sum(each.total_uncompressed_size for each in columns if each.path_in_schema in SCHEMA.names)
    except (pa.ArrowException, OSError) as error:
        raise parquet_error(recording.records, error) from error
    return Size(records, size)


def check_types(recording: Recording) -> None:
    """Check the types of the columns of `records.parquet`.

    Raises:
        WrongTypeError: A column is of another type; the message has Spark's names of types.
    """
    found = open_dataset(recording.records).schema
    for field in SCHEMA:
        kind = found.field(field.name).type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if field.type == pa.binary() and any(is_binary(kind) for is_binary in _BINARY_TYPES):
            continue
        if kind != field.type:
            wanted, other = (_SPARK_NAMES.get(str(each), str(each)) for each in (field.type, kind))
            raise WrongTypeError(f"{recording.records}: column {field.name} must be of type {wanted}, not {other}")


def by_group(recording: Recording) -> Iterator[pa.RecordBatch]:
    """Yield batches of all records, sorted by group and offset, with the columns `group_id` and `aborted`.

    All records are in memory until the last batch. A batch may end inside a group. At least one batch is yielded; it is
    empty if there are no records.

    Raises:
        IllegalArgumentError: A file cannot be read as Parquet.
        WrongTypeError: A column is of another type.
    """
    check_types(recording)
    yield from _sorted(recording, "group_id")


def in_log_order(recording: Recording) -> Iterator[pa.RecordBatch]:
    """Yield batches of all records in the order of the log, with the columns `group_id` and `aborted`.

    Each partition of the log is in the order of its offsets. If the files have this order, only a few batches are in
    memory. Otherwise all records are read and sorted by partition and offset.

    Raises:
        IllegalArgumentError: A file cannot be read as Parquet.
        WrongTypeError: A column is of another type.
    """
    check_types(recording)
    if not _has_log_order(recording):
        yield from _sorted(recording, "partition")
        return
    for batch in scan(recording, SCHEMA.names):
        stored = _extended(recording, pa.Table.from_batches([batch]).cast(_STORED)).combine_chunks()
        yield from _batches(stored, np.arange(stored.num_rows))


def _sorted(recording: Recording, first: str) -> Iterator[pa.RecordBatch]:
    """Yield batches of all records, sorted by a column, the offset, the timestamp and the partition."""
    batches = scan(recording, SCHEMA.names)
    records = _extended(recording, pa.Table.from_batches(batches, _file_schema(recording))).combine_chunks()
    names = list(dict.fromkeys([first, "offset", "timestamp", "partition"]))
    order = pc.sort_indices(records.select(names), sort_keys=[(name, "ascending") for name in names])
    if not records.num_rows:
        yield _batch(records)
    yield from _batches(records, order.to_numpy())


def _extended(recording: Recording, records: pa.Table) -> pa.Table:
    """Return the records of the chosen groups with the columns `group_id` and `aborted`."""
    records = records.cast(_STORED)
    parts = [groups for chunk in records["key"].chunks for _, groups in groups_of(chunk)]
    groups = pa.chunked_array(parts, pa.string())
    if recording.groups is not None:
        is_chosen = recording.groups.mask(groups)
        records, groups = records.filter(is_chosen), groups.filter(is_chosen)
    return records.append_column("group_id", groups).append_column("aborted", _is_aborted(recording, records))


def _batches(records: pa.Table, order: np.ndarray) -> Iterator[pa.RecordBatch]:
    """Yield the records of a table in the given order, in batches of at most `BATCH_BYTES` and `BATCH_RECORDS`."""
    for start, stop in _slices(records, order):
        yield _batch(records.take(pa.array(order[start:stop])))


def _batch(records: pa.Table) -> pa.RecordBatch:
    """Return a table as one batch, which may have no rows, with keys and values of type binary."""
    for name in ("key", "value"):
        place = records.schema.get_field_index(name)
        records = records.set_column(place, name, records[name].cast(pa.binary()))
    columns = [column.combine_chunks() for column in records.columns]
    return pa.RecordBatch.from_arrays(columns, schema=records.schema)


def scan(recording: Recording, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield batches of columns in the order of the files, without records after `recording.until`.

    Raises:
        IllegalArgumentError: A file cannot be read as Parquet.
    """
    times = pc.field("timestamp")
    is_read = None
    if recording.until is not None:
        # A time that is not valid is unknown, and not later than others.
        is_read = (times <= recording.until) | (times > LATEST_TIME) | times.is_null()
    try:
        yield from open_dataset(recording.records).to_batches(
            columns=columns, filter=is_read, batch_size=BATCH_RECORDS, batch_readahead=1, fragment_readahead=1
        )
    except (pa.ArrowException, OSError) as error:
        raise parquet_error(recording.records, error) from error


def check_no_nulls(recording: Recording, records: pa.RecordBatch | pa.Table) -> None:
    """Check that columns other than key and value have no nulls.

    Raises:
        IllegalArgumentError: A column has nulls.
    """
    for name, column in zip(records.schema.names, records.columns, strict=True):
        if column.null_count:
            raise IllegalArgumentError(
                f"{recording.records}: column {name} has {format_count(column.null_count, 'null')}; "
                "only key and value can be null"
            )


def _file_schema(recording: Recording) -> pa.Schema:
    schema = open_dataset(recording.records).schema
    return pa.schema([schema.field(name) for name in SCHEMA.names])


def _has_log_order(recording: Recording) -> bool:
    """Return True if the offsets of each partition never decrease in the order of the files."""
    last: dict[int | None, int] = {}
    for batch in scan(recording, ["partition", "offset"]):
        for partition in pc.unique(batch["partition"]).to_pylist():
            chosen = batch.filter(pc.equal(batch["partition"], partition))
            offsets = pc.fill_null(chosen["offset"], 0).to_numpy()
            if len(offsets) and (offsets[0] < last.get(partition, offsets[0]) or (np.diff(offsets) < 0).any()):
                return False
            last[partition] = int(offsets[-1]) if len(offsets) else 0
    return True


def groups_of(keys: pa.Array) -> Iterator[tuple[int, pa.Array]]:
    """Yield the first place of a part of the keys, and the group in each key of it; null for a key without a group."""
    for start in range(0, len(keys), BATCH_RECORDS):  # the keys of a batch fit into a column of type binary
        yield start, pa.array(_core.record_groups(keys.slice(start, BATCH_RECORDS).cast(pa.binary())))


def _is_aborted(recording: Recording, records: pa.Table) -> pa.Array:
    """Return True for each record of an aborted transaction."""
    aborted = np.zeros(records.num_rows, dtype=bool)
    by_partition: dict[int, list[int]] = {}
    for partition, offset in recording.aborted:
        by_partition.setdefault(partition, []).append(offset)
    for partition, offsets in by_partition.items():
        is_one = pc.and_(
            pc.equal(records["partition"], partition), pc.is_in(records["offset"], pa.array(offsets, pa.int64()))
        )
        aborted |= pc.fill_null(is_one, False).to_numpy()
    return pa.array(aborted)


def _slices(records: pa.Table, order: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield start and end of slices of the ordered records with about `BATCH_BYTES` bytes each."""
    lengths = np.zeros(records.num_rows, dtype=np.int64)
    for name in ("key", "value"):
        lengths += pc.fill_null(pc.binary_length(records[name]), 0).to_numpy().astype(np.int64)
    ends = np.cumsum(lengths[order])
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + BATCH_BYTES, "right"))
        stop = min(max(stop, start + 1), start + BATCH_RECORDS)
        yield start, stop
        start = stop
