"""Rows with text that is not UTF-8, which Spark's strings may have: they get a reason, so that the others are answered.

The engine refuses a column with such text as a whole. The functions of this module are for this case only: the text is
replaced, and a column `unreadable` says which rows had it.
"""

from __future__ import annotations

from typing import Any

from assignor.dependencies import dependency

with dependency("pyarrow"):
    import pyarrow as pa

REASON = "unreadable"
"""Column of the reason, null for rows that can be read."""


def with_reasons(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of members and owned partitions whose texts are all UTF-8, with the column `REASON`.

    Args:
        rows: Columns of texts, of lists of them, of dictionaries of lists, and others.
    """
    columns, reasons = _read(dict(zip(rows.schema.names, rows.columns, strict=True)))
    columns[REASON] = _column(reasons, rows.num_rows)
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def topics_with_reasons(clusters: pa.Array) -> pa.Array:
    """Return a column of clusters whose texts are all UTF-8, where topics have the field `REASON`.

    Args:
        clusters: A column with one list of structs of cluster and topics, as `_core.Clusters` reads it.
    """
    known = clusters.flatten()
    lists = known.field("topics")
    topics = lists.flatten()
    # A name of a cluster that cannot be read is a reason for each of its topics.
    names, of_clusters = _read({"cluster": known.field("cluster")})
    parents = lists.value_parent_indices().to_pylist()
    columns, reasons = _read({field.name: topics.field(field.name) for field in topics.type})
    reasons = {row: of_clusters[parent] for row, parent in enumerate(parents) if parent in of_clusters} | reasons
    columns[REASON] = _column(reasons, len(topics))
    found = pa.StructArray.from_arrays(list(columns.values()), list(columns))
    given = pa.StructArray.from_arrays([names["cluster"], _lists(lists, found)], ["cluster", "topics"])
    return _lists(clusters, given)


def _read(columns: dict[str, pa.Array]) -> tuple[dict[str, pa.Array], dict[int, str]]:
    """Return columns whose texts are all UTF-8, and the reasons of rows that had others."""
    found: dict[str, pa.Array] = {}
    reasons: dict[int, str] = {}
    for name, column in columns.items():
        found[name], wrong = _readable(column)
        for row, text in wrong.items():
            reasons.setdefault(row, f"{name}: text that is not UTF-8: '{text}'")
    return found, reasons


def _readable(column: pa.Array) -> tuple[pa.Array, dict[int, str]]:
    """Return a column with escapes for bytes that are not UTF-8, and the first text with escapes of each row."""
    if pa.types.is_dictionary(column.type):
        values, wrong = _readable(column.dictionary)
        places = enumerate(column.indices.to_pylist())
        found = {row: wrong[place] for row, place in places if place in wrong}
        return pa.DictionaryArray.from_arrays(column.indices, values), found
    as_bytes = _as_bytes(column.type)
    if as_bytes == column.type:
        return column, {}
    texts: list[Any] = []
    found = {}
    for row, value in enumerate(column.cast(as_bytes).to_pylist()):
        wrong_texts: list[str] = []
        texts.append(_decoded(value, wrong_texts))
        if wrong_texts:
            found[row] = wrong_texts[0]
    return pa.array(texts, column.type), found


def _as_bytes(kind: pa.DataType) -> pa.DataType:
    """Return the type with bytes instead of texts."""
    if pa.types.is_string(kind):
        return pa.binary()
    if pa.types.is_large_string(kind):
        return pa.large_binary()
    if pa.types.is_list(kind):
        return pa.list_(_as_bytes(kind.value_type))
    if pa.types.is_large_list(kind):
        return pa.large_list(_as_bytes(kind.value_type))
    return kind


def _decoded(value: Any, wrong: list[str]) -> Any:
    """Return text for bytes, or for all bytes in a list, and add texts that are not UTF-8 to a list."""
    if isinstance(value, list):
        return [_decoded(each, wrong) for each in value]
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        wrong.append(value.decode(errors="backslashreplace"))
        return wrong[-1]


def _column(reasons: dict[int, str], length: int) -> pa.Array:
    return pa.array([reasons.get(row) for row in range(length)], pa.string())


def _lists(lists: pa.Array, values: pa.Array) -> pa.ListArray:
    """Return lists with other values, which are those of `flatten`."""
    ends = [0]
    for length in lists.value_lengths().fill_null(0).to_pylist():
        ends.append(ends[-1] + length)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)
