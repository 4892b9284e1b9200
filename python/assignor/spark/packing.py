"""Rows of members and owned partitions, packed for Spark's shuffle.

Spark shuffles, sorts and sends a large value faster than many small ones. So the rows of a task become *blobs*, one for
each bucket, which is a range of the hash of cluster and group id. All rows of a group are in one bucket. Spark brings
the blobs of each bucket together and sorts them by bucket, and a worker unpacks them. Members and owned partitions are
in different blobs; a column that only one of the two kinds has is null in the blobs of the other kind.

A blob has two binary columns for each column of texts. A text that consecutive rows share is stored once. The first
column has the bytes of the texts. The second has two numbers for each text: the number of consecutive rows that have
it, and its length, which is -1 for a null. A column of numbers becomes one binary column. The values of the blobs of an
Arrow batch follow each other in memory, so all blobs are packed and unpacked at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

from assignor.dependencies import dependency
from assignor.errors import IllegalStateError

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

_Number = TypeVar("_Number", np.int32, np.int64)

RUN = "run"
"""Column with the hash of cluster and group id. Consecutive rows with the same hash form a run (see `grouping`)."""

OWNED = "is_owned"
"""Column of unpacked rows: true for owned partitions, and false for members."""

BUCKET = "bucket"
"""Column with the bucket of a blob: the upper bits of `run`."""

NUMBERS = {RUN: pa.int64(), "generation": pa.int32(), "start": pa.int32(), "count": pa.int32()}
"""Types of the columns of numbers. The other columns have texts."""

_LENGTHS = "_lengths"

_BUCKET_BITS = 10
"""Number of bits of a bucket: enough buckets for hundreds of Spark partitions, but so few that blobs have many rows."""

PACKED_BYTES = 1 << 24
"""Number of bytes of rows that a worker collects before it packs them."""

UNPACKED_ROWS = 1 << 15
"""Number of rows that a worker unpacks at once, if no bucket has more."""

_NULL = np.iinfo(np.int64).min
"""Null in a column of numbers other than `run`, which has no nulls."""


def packed_schema(columns: Sequence[str]) -> StructType:
    """Return the schema of the blobs into which rows with these columns are packed."""
    names = [each for name in columns for each in ((name,) if name in NUMBERS else (name, name + _LENGTHS))]
    return StructType([StructField(BUCKET, IntegerType()), *(StructField(name, BinaryType()) for name in names)])


def packed(batches: Iterator[pa.RecordBatch], limit: int = PACKED_BYTES) -> Iterator[tuple[int, list[pa.RecordBatch]]]:
    """Yield blobs of rows and the number of rows in them, whenever rows of `limit` bytes have arrived."""
    # Each of several equal texts can end up in a different blob, so the size is that before equal texts are merged.
    for collected in collect(batches, limit):
        yield _packed([_intern_topics(batch) for batch in collected])


def collect(batches: Iterable[pa.RecordBatch], limit: int) -> Iterator[list[pa.RecordBatch]]:
    """Yield lists of consecutive batches that together have at least `limit` bytes; the last list can have fewer."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.nbytes
        if size >= limit:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def unpacked(batches: Iterator[pa.RecordBatch], limit: int = UNPACKED_ROWS) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of complete buckets, sorted by `run`, and the number of blobs that they were in.

    Texts of `topics` are dictionary-encoded; equal texts may be in the dictionary several times. A row has nulls in the
    columns that its blob does not have.

    Args:
        batches: Blobs, sorted by bucket.
        limit: Number of rows; a batch of rows ends with the bucket that reaches it.

    Raises:
        IllegalStateError: The blobs are not sorted.
    """
    for blobs in _complete_buckets(batches):
        buckets = blobs[BUCKET].to_numpy()
        before = _offsets(blobs[RUN])[0] // 8
        is_first = np.concatenate([[True], buckets[1:] != buckets[:-1]])
        # A slice ends with the bucket that reaches the limit.
        parts = (before[:-1] - before[0])[is_first] // limit
        starts = np.flatnonzero(is_first)[np.concatenate([[True], parts[1:] != parts[:-1]])]
        for start, end in zip(starts, [*starts[1:], len(buckets)], strict=True):
            yield int(end - start), _unpacked(blobs.slice(start, end - start))


def _intern_topics(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Store equal texts of `topics` once, so that the rows of a large group stay small."""
    place = batch.schema.get_field_index("topics")
    return batch if place < 0 else batch.set_column(place, "topics", batch.column(place).dictionary_encode())


def _packed(batches: list[pa.RecordBatch]) -> tuple[int, list[pa.RecordBatch]]:
    rows = joined(batches)
    if not rows.num_rows:
        return 0, []
    key = rows[RUN].to_numpy()
    # Rows of a group that have the same topics become neighbours. Owned partitions of a group keep their order, because
    # those of one member are often neighbours.
    has_topics = "topics" in rows.schema.names
    near = pc.fill_null(rows["topics"].indices, -1).to_numpy() if has_topics else np.arange(len(key))
    key = key & ~0xFFFF | near & 0xFFFF
    order = np.argsort(key)
    buckets = key[order] >> (64 - _BUCKET_BITS)
    starts = starts_of(buckets[1:] != buckets[:-1])
    columns = {BUCKET: pa.array(buckets[starts], pa.int32())}
    for name, column in zip(rows.schema.names, rows.columns, strict=True):
        if name in NUMBERS:
            numbers = pc.fill_null(column.cast(pa.int64()), _NULL).to_numpy()
            columns[name] = _blobs(numbers[order], starts)
        else:
            columns[name], columns[name + _LENGTHS] = _packed_texts(column.take(pa.array(order)), starts)
    return rows.num_rows, [pa.RecordBatch.from_arrays(list(columns.values()), list(columns))]


def _packed_texts(texts: pa.Array, starts: npt.NDArray[np.int64]) -> tuple[pa.Array, pa.Array]:
    is_new = differs(texts)
    is_new[starts[1:] - 1] = True
    firsts = starts_of(is_new)
    if len(firsts) < len(texts):
        counts = np.diff(np.append(firsts, len(texts)))
        texts = texts.take(pa.array(firsts))
        starts = np.searchsorted(firsts, starts)
    else:
        counts = np.ones(len(texts), np.int64)
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    offsets, data = _offsets(texts)
    lengths = np.where(texts.is_valid().to_numpy(zero_copy_only=False), np.diff(offsets), -1)
    ends = pa.array(np.append(offsets[starts], offsets[-1]), pa.int32())
    bytes_ = pa.Array.from_buffers(pa.binary(), len(starts), [None, ends.buffers()[1], data])
    return bytes_, _blobs(np.stack([counts, lengths], axis=1).astype(np.int32), starts)


def _blobs(values: npt.NDArray[np.generic], starts: npt.NDArray[np.int64]) -> pa.Array:
    """Return the bytes of the values from each start to the next one."""
    bytes_ = np.ascontiguousarray(values)
    ends = pa.array(np.append(starts, len(values)) * (bytes_.nbytes // len(values)), pa.int32())
    return pa.Array.from_buffers(pa.binary(), len(starts), [None, ends.buffers()[1], pa.py_buffer(bytes_)])


def _complete_buckets(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the blobs in batches that do not cut a bucket.

    Raises:
        IllegalStateError: The blobs are not sorted.
    """
    started: list[pa.RecordBatch] = []
    bucket = None
    for batch in batches:
        if not batch.num_rows:
            continue
        buckets = batch[BUCKET].to_numpy()
        if np.any(buckets[1:] < buckets[:-1]) or (bucket is not None and buckets[0] < bucket):
            raise IllegalStateError(
                "Spark did not sort the rows by the hash of their group, so groups would be incomplete"
            )
        first = 0 if bucket is None else int(np.searchsorted(buckets, bucket, side="right"))
        if first:
            started.append(batch.slice(0, first))
        if first == len(buckets):
            continue
        if started:
            yield joined(started)
        first_of_last = int(np.searchsorted(buckets, buckets[-1]))
        if first_of_last > first:
            yield batch.slice(first, first_of_last - first)
        # A copy: a slice would keep the whole batch in memory.
        started = [batch.take(pa.array(range(first_of_last, len(buckets))))]
        bucket = buckets[-1]
    if started:
        yield joined(started)


def _unpacked(blobs: pa.RecordBatch) -> pa.RecordBatch:
    kinds = _kinds(blobs)
    runs = [_values(kind[RUN], np.int64) for kind in kinds]
    sizes = list(map(len, runs))
    order = np.argsort(np.concatenate(runs), kind="stable")
    columns = {}
    for name in blobs.schema.names:
        if name in NUMBERS:
            numbers = _unpacked_numbers(kinds, sizes, name)[order]
            is_null = None if name == RUN else numbers == _NULL
            columns[name] = pa.array(numbers, pa.int64(), mask=is_null).cast(NUMBERS[name])
        elif name + _LENGTHS in blobs.schema.names:
            texts, places = _unpacked_texts(kinds, sizes, name)
            places = places[order]
            indices = pa.array(places, mask=places < 0)
            columns[name] = pa.DictionaryArray.from_arrays(indices, texts) if name == "topics" else texts.take(indices)
    if len(kinds) > 1:
        columns[OWNED] = pa.array(order >= sizes[0])
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def _kinds(blobs: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Return the blobs of members and, if there are columns for them, the blobs of owned partitions."""
    if "start" not in blobs.schema.names:
        return [blobs]
    is_owned = blobs["start"].is_valid()
    return [blobs.filter(pc.invert(is_owned)), blobs.filter(is_owned)]


def _unpacked_numbers(kinds: list[pa.RecordBatch], sizes: list[int], name: str) -> npt.NDArray[np.int64]:
    return np.concatenate(
        [
            np.full(size, _NULL) if kind[name].null_count else _values(kind[name], np.int64)
            for kind, size in zip(kinds, sizes, strict=True)
        ]
    )


def _unpacked_texts(kinds: list[pa.RecordBatch], sizes: list[int], name: str) -> tuple[pa.Array, npt.NDArray[np.int32]]:
    """Return the texts of a column, and for each row the index of its text; -1 for a null."""
    texts, places, before = [], [], 0
    for kind, size in zip(kinds, sizes, strict=True):
        if kind[name].null_count:
            places.append(np.full(size, -1, np.int32))
            continue
        counts, lengths = _values(kind[name + _LENGTHS], np.int32).reshape(-1, 2).T
        first, data = _offsets(kind[name])
        ends = np.concatenate([[0], np.cumsum(np.maximum(lengths, 0), dtype=np.int64)]) + first[0]
        buffers = [None, pa.array(ends, pa.int32()).buffers()[1], data]
        texts.append(pa.Array.from_buffers(pa.string(), len(lengths), buffers))
        numbers = np.arange(before, before + len(counts), dtype=np.int32)
        places.append(np.repeat(np.where(lengths < 0, np.int32(-1), numbers), counts))
        before += len(counts)
    return texts[0] if len(texts) == 1 else pa.concat_arrays(texts), np.concatenate(places)


def _values(blobs: pa.Array, kind: type[_Number]) -> npt.NDArray[_Number]:
    """Return the values of consecutive blobs."""
    offsets, data = _offsets(blobs)
    return np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]].view(kind)


def _offsets(column: pa.Array) -> tuple[npt.NDArray[np.int64], pa.Buffer]:
    """Return where each text or blob starts and the last one ends, and their bytes."""
    _, offsets, data = column.buffers()
    is_large = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    found = np.frombuffer(offsets, np.int64 if is_large else np.int32)[column.offset : column.offset + len(column) + 1]
    return found.astype(np.int64), data or pa.py_buffer(b"")


def differs(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Return, for each row after the first, True if its value differs from the previous row's; nulls are equal."""
    if pa.types.is_dictionary(column.type):
        codes = pc.fill_null(column.indices, -1).to_numpy()
        return codes[1:] != codes[:-1]  # type: ignore[no-any-return]  # pyarrow has no types
    found = pc.fill_null(pc.not_equal(column[1:], column[:-1]), False).to_numpy(zero_copy_only=False).copy()
    if column.null_count:
        is_null = column.is_null().to_numpy(zero_copy_only=False)
        found = found | (is_null[1:] != is_null[:-1])
    return found  # type: ignore[no-any-return]  # as above


def codes_of(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return numbers from 0 that are equal where the values of a column are equal; nulls are equal."""
    codes: npt.NDArray[np.int64] = column.dictionary_encode("encode").indices.to_numpy().astype(np.int64)
    return codes


def starts_of(differs: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the places of the first row and of the rows that differ from the row before them."""
    return np.concatenate([[0], np.flatnonzero(differs) + 1])


def complete_runs(batches: Iterable[pa.RecordBatch], keys: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield rows that are sorted by their keys in batches that do not cut a run of rows with equal keys."""
    started: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        rows = joined([started[-1].slice(started[-1].num_rows - 1), batch]) if started else batch
        starts = starts_of(np.logical_or.reduce([differs(rows[name]) for name in keys]))
        if len(starts) == 1:
            started.append(batch)
            continue
        first_of_last = int(starts[-1]) - rows.num_rows + batch.num_rows
        yield joined([*started, batch.slice(0, first_of_last)])
        started = [batch.slice(first_of_last)]
    if started:
        yield joined(started)


def joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of batches in one batch."""
    filled = [batch for batch in batches if batch.num_rows] or batches[:1]
    if len(filled) == 1:
        return filled[0]
    columns = [pa.concat_arrays([batch.column(place) for batch in filled]) for place in range(filled[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, filled[0].schema.names)
