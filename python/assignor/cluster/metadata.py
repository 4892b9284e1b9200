"""Topic metadata over time, as the batch that the Rust core reads."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from assignor.errors import MissingDependencyError, WrongTypeError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import ModuleType

    import pyarrow as pa


def pyarrow() -> ModuleType:
    """Import pyarrow."""
    try:
        return import_module("pyarrow")
    except ImportError as error:
        raise MissingDependencyError("replay needs pyarrow: pip install assignor[cli]") from error


def topic_schema() -> pa.Schema:
    """Return the Arrow schema of topic metadata: a row per time and partition."""
    pa = pyarrow()
    types = {"t": pa.int64(), "topic": pa.string(), "topic_id": pa.string(), "partition": pa.int32()}
    return pa.schema([*types.items(), ("racks", pa.list_(pa.string()))])


def topic_batch(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """Return rows of topic metadata as a batch."""
    schema = topic_schema()
    columns = {name: [row[name] for row in rows] for name in schema.names}
    return pyarrow().RecordBatch.from_pydict(columns, schema=schema)


def topics_table(topics: pa.Table | None) -> pa.RecordBatch:
    """Return the metadata as one batch with the needed columns and types."""
    pa, schema = pyarrow(), topic_schema()
    if topics is None:
        return topic_batch([])
    missing = [name for name in schema.names if name not in topics.column_names]
    if missing:
        raise WrongTypeError(
            f"topic metadata has no column {missing[0]}; its columns are {', '.join(topics.column_names)}"
        )
    try:
        batches = topics.select(schema.names).cast(schema).combine_chunks().to_batches()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise WrongTypeError(f"topic metadata cannot be read as {schema.names}: {error}") from error
    return batches[0] if batches else topic_batch([])
