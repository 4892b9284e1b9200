"""Topic metadata over time, as the batch that the Rust core reads."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.validation import read_entries, wrong_type

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    import pyarrow as pa


_CLUSTER = "cluster"


def pyarrow() -> ModuleType:
    """Import pyarrow."""
    with dependency("pyarrow"):
        return import_module("pyarrow")


def topic_schema() -> pa.Schema:
    """Return the Arrow schema of topic metadata: a row per time and partition."""
    pa = pyarrow()
    types = {"t": pa.int64(), "topic": pa.string(), "topic_id": pa.string(), "partition": pa.int32()}
    return pa.schema([*types.items(), ("racks", pa.list_(pa.string()))])


def topic_rows(rows: object, what: str) -> list[Mapping[str, Any]]:
    """Return the rows of topic metadata in an iterable.

    Raises:
        WrongTypeError: The value is no iterable, or an entry is no mapping or lacks a column; the error has its number.
    """
    found: list[Mapping[str, Any]] = []
    names = topic_schema().names
    for number, row in enumerate(read_entries(rows, what, "an iterable of rows")):
        if not isinstance(row, Mapping):
            raise wrong_type(f"{what}: row {number}", f"a mapping with {', '.join(names)}", row)
        missing = [name for name in names if name not in row]
        if missing:
            raise WrongTypeError(f"{what}: row {number} has no {missing[0]}; a row has {', '.join(names)}")
        found.append(row)
    return found


def topic_batch(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Return rows of topic metadata as a batch.

    Raises:
        WrongTypeError: A value of a column has another type.
        IllegalArgumentError: A number is too large for its column, or a text cannot be encoded.
    """
    pa, schema = pyarrow(), topic_schema()
    columns = {}
    for field in schema:
        values = [row[field.name] for row in rows]
        try:
            columns[field.name] = pa.array(values, field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError, SystemError) as error:
            kind = WrongTypeError if isinstance(error, TypeError) else IllegalArgumentError
            text = f"topic metadata: column {field.name} cannot be read as {field.type}: {error}"
            raise kind(text) from error
    return pa.RecordBatch.from_pydict(columns, schema=schema)


def topics_table(topics: pa.Table | None, name: str = "topic metadata") -> pa.RecordBatch:
    """Return the metadata as one batch with the needed columns and types.

    Args:
        topics: The metadata; None for no topics.
        name: Name of the metadata for messages, such as the path of a file.

    Raises:
        WrongTypeError: A column is missing or of another type.
    """
    if topics is None:
        return topic_batch([])
    batches = cast_table(topics, topic_schema(), name).to_batches()
    return batches[0] if batches else topic_batch([])


class TopicsByCluster:
    """Topic metadata of one cluster, or of several if the table has the column `cluster`.

    Args:
        topics: The metadata; None for no topics.

    Raises:
        WrongTypeError: A column is missing or of another type.
        IllegalArgumentError: A row has no cluster.

    Example:
        >>> import pyarrow as pa
        >>> row = {"t": 1, "topic": "orders", "topic_id": None, "partition": 0, "racks": None}
        >>> found = TopicsByCluster(pa.Table.from_pylist([row | {"cluster": "north"}]))
        >>> found.of("north").num_rows, found.of("south").num_rows
        (1, 0)
    """

    def __init__(self, topics: pa.Table | None) -> None:
        every = topics_table(topics)
        self._others = every
        self._by_cluster: dict[str, pa.RecordBatch] = {}
        if topics is None or _CLUSTER not in topics.column_names:
            return
        pa = pyarrow()
        names = cast_table(topics, pa.schema([(_CLUSTER, pa.string())]), "topic metadata")[_CLUSTER].combine_chunks()
        if names.null_count:
            raise IllegalArgumentError("topic metadata has a row whose cluster is null; a cluster without a name is ''")
        self._others = topic_batch([])
        self._by_cluster = {name: every.filter(pa.compute.equal(names, name)) for name in names.unique().to_pylist()}

    def of(self, cluster: str) -> pa.RecordBatch:
        """Return the metadata of a cluster; all of it if it has no column `cluster`."""
        return self._by_cluster.get(cluster, self._others)

    @property
    def clusters(self) -> tuple[str, ...]:
        """The clusters with metadata of their own; the cluster without a name if the metadata has no clusters."""
        return tuple(self._by_cluster) or ("",)


def cast_table(table: pa.Table, schema: pa.Schema, name: str) -> pa.Table:
    """Return the columns of a schema, in one chunk each, without other columns.

    Args:
        table: The table.
        schema: The columns and their types.
        name: Name of the table for messages, such as the path of a file.

    Raises:
        WrongTypeError: The value is no table, or a column is missing or of another type.
    """
    pa = pyarrow()
    if not isinstance(table, pa.Table):
        raise wrong_type(name, "a pyarrow.Table", table)
    missing = [column for column in schema.names if column not in table.column_names]
    if missing:
        raise WrongTypeError(f"{name} has no column {missing[0]}; its columns are {', '.join(table.column_names)}")
    try:
        return table.select(schema.names).cast(schema).combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise WrongTypeError(f"{name} cannot be read as {schema.names}: {error}") from error
