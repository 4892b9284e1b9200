"""Topic metadata over time, in the form that the engine reads."""

from __future__ import annotations

import pyarrow as pa

from assignor.errors import WrongTypeError

_TOPICS = pa.schema(
    [
        ("t", pa.int64()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("racks", pa.list_(pa.string())),
    ]
)


def topics_table(topics: pa.Table | None) -> pa.RecordBatch:
    """Return the metadata as one batch with the needed columns and types."""
    empty = pa.RecordBatch.from_pylist([], schema=_TOPICS)
    if topics is None:
        return empty
    missing = [name for name in _TOPICS.names if name not in topics.column_names]
    if missing:
        raise WrongTypeError(
            f"topic metadata has no column {missing[0]}; its columns are {', '.join(topics.column_names)}"
        )
    try:
        batches = topics.select(_TOPICS.names).cast(_TOPICS).combine_chunks().to_batches()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise WrongTypeError(f"topic metadata cannot be read as {_TOPICS.names}: {error}") from error
    return batches[0] if batches else empty
