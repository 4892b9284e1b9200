"""Records of a recording, read with pyarrow: their size, and batches in the order that replay needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assignor import _core
from assignor.errors import WrongTypeError
from assignor.recording.folder import open_dataset, parquet_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.recording.folder import Recording

SCHEMA = pa.schema(
    [
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
    ]
)
"""Columns of `records.parquet` that are read, with their Arrow types."""

BATCH_BYTES = 1 << 20
"""Number of bytes of keys and values in a batch, unless one record has more. Its answer has up to 100 MB."""

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
    records = _read(recording)
    groups = pa.chunked_array([part for chunk in records["key"].chunks for part in _groups(chunk)], pa.string())
    records = records.append_column("group_id", groups).append_column("aborted", _is_aborted(recording, records))
    records = records.combine_chunks()
    keys = [(name, "ascending") for name in ("group_id", "offset", "timestamp")]
    order = pc.sort_indices(records.select(["group_id", "offset", "timestamp"]), sort_keys=keys)
    for start, stop in _slices(records, order.to_numpy()):
        part = records.take(order.slice(start, stop - start))
        part = part.set_column(3, "key", part["key"].cast(pa.binary()))
        part = part.set_column(4, "value", part["value"].cast(pa.binary()))
        yield _batch(part)


def _batch(records: pa.Table) -> pa.RecordBatch:
    """Return a table as one batch, which may have no rows."""
    columns = [column.combine_chunks() for column in records.columns]
    return pa.RecordBatch.from_arrays(columns, schema=records.schema)


def _read(recording: Recording) -> pa.Table:
    try:
        return open_dataset(recording.records).to_table(columns=SCHEMA.names).cast(_STORED)
    except (pa.ArrowException, OSError) as error:
        raise parquet_error(recording.records, error) from error


def _groups(keys: pa.Array) -> Iterator[pa.Array]:
    """Yield the group in each key; null for a key without a group."""
    for start in range(0, len(keys), BATCH_RECORDS):  # the keys of a batch fit into a column of type binary
        yield pa.array(_core.record_groups(keys.slice(start, BATCH_RECORDS).cast(pa.binary())))


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
    """Yield start and end of slices of the sorted records with about `BATCH_BYTES` bytes each; at least one slice."""
    lengths = np.zeros(records.num_rows, dtype=np.int64)
    for name in ("key", "value"):
        lengths += pc.fill_null(pc.binary_length(records[name]), 0).to_numpy().astype(np.int64)
    ends = np.cumsum(lengths[order])
    if not len(ends):
        yield 0, 0
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        stop = int(np.searchsorted(ends, before + BATCH_BYTES, "right"))
        stop = min(max(stop, start + 1), start + BATCH_RECORDS)
        yield start, stop
        start = stop
