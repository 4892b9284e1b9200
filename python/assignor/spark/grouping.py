"""Groups in Arrow batches of rows: the rows of members and owned partitions become a column of groups.

A *run* is a sequence of rows with the same hash of cluster and group id. It has the rows of one group, or of several
groups if their hashes are equal. A list of topics or of patterns arrives as one text, which is smaller than a list and
can be compared at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignor.dependencies import dependency
from assignor.spark.packing import OWNED, RUN, UNPACKED_ROWS, codes_of, differs, starts_of, unpacked
from assignor.spark.schemas import ASSIGNMENTS, KEYS, MEMBERS
from assignor.spark.unreadable import REASON

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from assignor.columns import ArrowArray

TEXT = "text"
"""Column of answers that are texts."""

SEPARATOR, NULL_TEXT, NO_TEXTS = b"\xff\xfe\xff", b"\xff\xfd\xff", b"\xff\xfc\xff"
"""Text between two entries of a list, text of a null, and text of an empty list.

They are not UTF-8, so no name and no pattern contains them.
"""

_OWNED_FIELDS = [*(name for name in ASSIGNMENTS.fieldNames() if name not in KEYS), REASON]
_MEMBER_FIELDS = [*(name for name in MEMBERS.fieldNames() if name not in KEYS), REASON]


def rows_of(batches: Iterator[pa.RecordBatch], limit: int = UNPACKED_ROWS) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield rows of complete runs, with lists of topics and patterns, and the number of blobs in which they arrived.

    Args:
        batches: Blobs of `packing.packed`, sorted by bucket.
        limit: As for `packing.unpacked`.
    """
    for count, rows in unpacked(batches, limit):
        for name in ("topics", "pattern"):
            place = rows.schema.get_field_index(name)
            if place >= 0:
                texts = rows.column(place)
                is_encoded = pa.types.is_dictionary(texts.type)
                rows = rows.set_column(place, name, _split(texts if is_encoded else texts.dictionary_encode()))
        yield count, rows


def answer_rows(groups: pa.StructArray, columns: Iterable[ArrowArray]) -> Iterator[pa.RecordBatch]:
    """Yield the answers of an engine as rows with the keys of their groups.

    Args:
        groups: The groups.
        columns: Columns that together have an answer per group: a struct, a list of structs, or a list of texts. A
            group whose answer is null has no row.
    """
    start = 0
    for column in map(pa.array, columns):
        keys = [groups.field(name).slice(start, len(column)) for name in KEYS]
        start += len(column)
        if pa.types.is_list(column.type):
            keys = [key.take(column.value_parent_indices()) for key in keys]
            column = column.flatten()
        elif column.null_count:
            there = column.is_valid()
            keys, column = [key.filter(there) for key in keys], column.filter(there)
        if pa.types.is_struct(column.type):
            names, values = [field.name for field in column.type], column.flatten()
        else:
            names, values = [TEXT], [column]
        yield pa.RecordBatch.from_arrays([*keys, *values], [*KEYS, *names])


def grouped(rows: pa.RecordBatch) -> pa.StructArray:
    """Return the groups of complete runs, as a column in the format of the engine.

    Args:
        rows: Rows of `rows_of`, or of `unreadable.with_reasons`.
    """
    run = rows[RUN].to_numpy()
    is_new_run = run[1:] != run[:-1]
    is_new = np.logical_or.reduce([is_new_run, *(differs(rows[name]) for name in KEYS)])
    if np.any(is_new & ~is_new_run):
        # Groups with the same hash may alternate.
        order = np.lexsort([*(codes_of(rows[name]) for name in KEYS), run])
        rows, run = rows.take(pa.array(order)), run[order]
        is_new = np.logical_or.reduce([run[1:] != run[:-1], *(differs(rows[name]) for name in KEYS)])
    starts = starts_of(is_new)
    fields = {name: rows[name].take(pa.array(starts)) for name in KEYS}
    if OWNED not in rows.schema.names:
        fields["members"] = _lists(rows, _MEMBER_FIELDS, starts)
    else:
        is_owned = rows[OWNED].to_numpy(zero_copy_only=False)
        for name, columns, chosen in (("members", _MEMBER_FIELDS, ~is_owned), ("current", _OWNED_FIELDS, is_owned)):
            before = np.concatenate([[0], np.cumsum(chosen)])
            fields[name] = _lists(rows.filter(pa.array(chosen)), columns, before[starts])
    return pa.StructArray.from_arrays(list(fields.values()), list(fields))


def _lists(rows: pa.RecordBatch, names: list[str], starts: npt.NDArray[np.int64]) -> pa.ListArray:
    there = [name for name in names if name in rows.schema.names]
    structs = pa.StructArray.from_arrays([rows[name] for name in there], there)
    return pa.ListArray.from_arrays(pa.array([*starts, rows.num_rows], pa.int32()), structs)


def _split(texts: pa.DictionaryArray) -> pa.DictionaryArray:
    """Return the list in each text. The engine checks that its entries are UTF-8; this function does not."""
    is_large = pa.types.is_large_string(texts.dictionary.type)
    values = texts.dictionary.cast(pa.large_binary() if is_large else pa.binary())
    lists = pc.split_pattern(values, SEPARATOR)
    lengths = lists.value_lengths().to_numpy().copy()
    lengths[pc.equal(values, NO_TEXTS).to_numpy(zero_copy_only=False)] = 0
    names = lists.flatten()
    names = names.filter(pc.not_equal(names, NO_TEXTS))
    names = pc.replace_with_mask(names, pc.equal(names, NULL_TEXT), pa.scalar(None, names.type))
    kind = pa.large_string() if is_large else pa.string()
    names = names.cast(options=pc.CastOptions(target_type=kind, allow_invalid_utf8=True))
    ends = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    return pa.DictionaryArray.from_arrays(texts.indices, pa.ListArray.from_arrays(ends, names))
