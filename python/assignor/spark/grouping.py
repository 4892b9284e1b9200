"""Groups in Arrow batches of rows: consecutive rows of members and owned partitions become a column of groups.

Spark sorts the rows of a partition by `run`, a hash of cluster and group id, and cuts them into batches at any row. A
*run* is a sequence of rows with the same hash. It has the rows of one group, or of several groups if their hashes are
equal. The rows of the last run of a batch wait for the next batch, so a worker holds the rows of one batch and of one
run.

A list of topics arrives as one text, which is smaller than a list and can be compared at once. Equal texts of a batch
are stored once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assignor.errors import IllegalStateError
from assignor.spark.schemas import ASSIGNMENTS, KEYS, MEMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from assignor.columns import ArrowArray

RUN = "run"
"""Column with the hash of cluster and group id."""

OWNED = "is_owned"
"""Column that is true for a row of owned partitions, and false for a row of a member. It may be missing."""

TEXT = "text"
"""Column of answers that are texts."""

SEPARATOR, NULL_TOPIC, NO_TOPICS = b"\xff\xfe\xff", b"\xff\xfd\xff", b"\xff\xfc\xff"
"""Text between two topics, text of a null, and text of an empty list. They are not UTF-8, so no name contains them."""

_OWNED_FIELDS = [name for name in ASSIGNMENTS.fieldNames() if name not in KEYS]
_MEMBER_FIELDS = [name for name in MEMBERS.fieldNames() if name not in KEYS]


def groups_of(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.StructArray]]:
    """Yield columns of groups in the format of the engines, and the number of rows of each.

    Args:
        batches: Rows sorted by `run`, with the keys and the columns of members, owned partitions, or both.
    """
    for rows in _complete_runs(map(_intern_topics, batches)):
        yield rows.num_rows, _grouped(rows)


def answer_rows(groups: pa.StructArray, columns: Iterable[ArrowArray]) -> Iterator[pa.RecordBatch]:
    """Yield the answers of an engine as rows with the keys of their groups.

    Args:
        groups: The groups.
        columns: Columns that together have an answer per group: a struct, a list of structs, or a list of texts.
    """
    start = 0
    for column in map(pa.array, columns):
        keys = [groups.field(name).slice(start, len(column)) for name in KEYS]
        start += len(column)
        if pa.types.is_list(column.type):
            keys = [key.take(column.value_parent_indices()) for key in keys]
            column = column.flatten()
        if pa.types.is_struct(column.type):
            names, values = [field.name for field in column.type], column.flatten()
        else:
            names, values = [TEXT], [column]
        yield pa.RecordBatch.from_arrays([*keys, *values], [*KEYS, *names])


def _complete_runs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches that do not cut a run.

    Raises:
        IllegalStateError: The rows are not sorted.
    """
    started: list[pa.RecordBatch] = []
    run = None
    for batch in batches:
        if not batch.num_rows:
            continue
        runs = batch[RUN].to_numpy()
        if np.any(runs[1:] < runs[:-1]) or (run is not None and runs[0] < run):
            raise IllegalStateError(
                "Spark did not sort the rows by the hash of their group, so groups would be incomplete"
            )
        others = np.flatnonzero(runs != runs[-1])
        first_of_last = int(others[-1]) + 1 if len(others) else 0
        if first_of_last or (started and run != runs[0]):
            yield _joined([*started, batch.slice(0, first_of_last)])
            started = []
        started.append(batch.slice(first_of_last))
        run = runs[-1]
    if started:
        yield _joined(started)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    filled = [batch for batch in batches if batch.num_rows]
    if len(filled) == 1:
        return filled[0]
    columns = [pa.concat_arrays([batch.column(place) for batch in filled]) for place in range(filled[0].num_columns)]
    return pa.RecordBatch.from_arrays(columns, filled[0].schema.names)


def _grouped(rows: pa.RecordBatch) -> pa.StructArray:
    """Return the groups of complete runs."""
    place = rows.schema.get_field_index("topics")
    if place >= 0:
        rows = rows.set_column(place, "topics", _split(rows.column(place)))
    names = (RUN, *KEYS)
    codes = [_codes(rows[name]) for name in names]
    starts = _starts(codes)
    if len(starts) > len(_starts(codes[:1])):
        # Groups with the same hash may alternate.
        order = np.lexsort(codes[::-1])
        rows, codes = rows.take(pa.array(order)), [each[order] for each in codes]
        starts = _starts(codes)
    fields = {name: rows[name].take(pa.array(starts)) for name in KEYS}
    if OWNED not in rows.schema.names:
        fields["members"] = _lists(rows, _MEMBER_FIELDS, starts)
    else:
        is_owned = rows[OWNED].to_numpy(zero_copy_only=False)
        for name, columns, chosen in (("members", _MEMBER_FIELDS, ~is_owned), ("current", _OWNED_FIELDS, is_owned)):
            before = np.concatenate([[0], np.cumsum(chosen)])
            fields[name] = _lists(rows.filter(pa.array(chosen)), columns, before[starts])
    return pa.StructArray.from_arrays(list(fields.values()), list(fields))


def _codes(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return numbers that are equal where the values of a column are equal; nulls are equal."""
    if pa.types.is_integer(column.type):
        return column.to_numpy()  # type: ignore[no-any-return]  # pyarrow has no types
    return column.dictionary_encode("encode").indices.to_numpy()  # type: ignore[no-any-return]  # as above


def _starts(codes: list[npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
    """Return the places of the rows that differ from the row before them in a column; the first row is one of them."""
    differs = np.logical_or.reduce([each[1:] != each[:-1] for each in codes])
    return np.concatenate([[0], np.flatnonzero(differs) + 1])


def _lists(rows: pa.RecordBatch, names: list[str], starts: npt.NDArray[np.int64]) -> pa.ListArray:
    there = [name for name in names if name in rows.schema.names]
    structs = pa.StructArray.from_arrays([rows[name] for name in there], there)
    return pa.ListArray.from_arrays(pa.array([*starts, rows.num_rows], pa.int32()), structs)


def _intern_topics(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Store equal texts of `topics` once, so that the rows of a large group stay small."""
    place = batch.schema.get_field_index("topics")
    return batch if place < 0 else batch.set_column(place, "topics", batch.column(place).dictionary_encode())


def _split(texts: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return the lists of topics of texts. Names are not checked to be UTF-8; the engine does that."""
    is_large = pa.types.is_large_string(texts.dictionary.type)
    values = texts.dictionary.cast(pa.large_binary() if is_large else pa.binary())
    lists = pc.split_pattern(values, SEPARATOR)
    lengths = lists.value_lengths().to_numpy().copy()
    lengths[pc.equal(values, NO_TOPICS).to_numpy(zero_copy_only=False)] = 0
    names = lists.flatten()
    names = names.filter(pc.not_equal(names, NO_TOPICS))
    names = pc.replace_with_mask(names, pc.equal(names, NULL_TOPIC), pa.scalar(None, names.type))
    kind = pa.large_string() if is_large else pa.string()
    names = names.cast(options=pc.CastOptions(target_type=kind, allow_invalid_utf8=True))
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.DictionaryArray.from_arrays(texts.indices, pa.ListArray.from_arrays(ends, names))
