"""Topic metadata over time, as the batch that the Rust core reads, and the columns of end offsets over time."""

from __future__ import annotations

import pyarrow as pa

from assignor.errors import WrongTypeError
from assignor.lag import END_OFFSETS
from assignor.replay_columns import topic_schema

TIMED_END_OFFSETS = pa.schema([("at", pa.int64()), *END_OFFSETS])
"""Columns of `end_offsets.parquet`: those of `assignor.lag.END_OFFSETS` at a time in milliseconds."""


def topics_table(topics: pa.Table | None) -> pa.RecordBatch:
    """Return the metadata as one batch with the needed columns and types."""
    schema = topic_schema()
    empty = pa.RecordBatch.from_pylist([], schema=schema)
    if topics is None:
        return empty
    missing = [name for name in schema.names if name not in topics.column_names]
    if missing:
        raise WrongTypeError(
            f"topic metadata has no column {missing[0]}; its columns are {', '.join(topics.column_names)}"
        )
    try:
        batches = topics.select(schema.names).cast(schema).combine_chunks().to_batches()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise WrongTypeError(f"topic metadata cannot be read as {schema.names}: {error}") from error
    return batches[0] if batches else empty
