"""`replay`: rebuild the history of each group from its records, and compare its assignments with Kafka's assignors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType

from assignor import _core
from assignor.errors import WrongTypeError
from assignor.spark.schemas import HISTORY, check_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVENTS = StructType(
    [
        StructField("group_id", StringType()),
        StructField("offset", LongType()),
        StructField("timestamp", LongType()),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
    ]
)
"""Columns of the result of `decode` that `replay` needs."""

_TOPICS = pa.schema(
    [
        ("t", pa.int64()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("racks", pa.list_(pa.string())),
    ]
)


_RECORDS = pa.list_(
    pa.struct([("offset", pa.int64()), ("timestamp", pa.int64()), ("key", pa.binary()), ("value", pa.binary())])
)


def replay(events: DataFrame, topics: pa.Table | None = None) -> DataFrame:
    """Rebuild each group from its records: one row per group, one call of the Rust core per Arrow batch.

    Replay is deterministic: the state of a group is that of a broker after it has loaded the same records. Remove
    records of aborted transactions before, as a read_committed reader does.

    Args:
        events: Result of `decode`; rows without `group_id` are ignored.
        topics: Topic metadata over time, the columns of `schemas.TOPIC_METADATA`; it is sent to the workers with the
            job. It is needed to compare assignments with Kafka's assignors and to replace topic ids by names.

    Returns:
        `group_id` and the columns of `schemas.HISTORY`; lazy.

    Raises:
        WrongTypeError: A column is missing or of another type.
        IllegalArgumentError: The metadata has a partition twice at the same time, a negative id or a null.
    """
    check_columns(events, EVENTS, "events")
    metadata = topics_table(topics)
    # Report invalid metadata here, not from a worker.
    _core.replay_groups(pa.array([], _RECORDS), metadata)

    def rebuild(records: pa.Array) -> pa.Array:
        return pa.array(_core.replay_groups(records, metadata))

    # A filter would remove rows without a group, but then Spark would run `decode` twice: below and above the filter.
    record = F.when(F.col("group_id").isNotNull(), F.struct("offset", "timestamp", "key", "value"))
    # All records of a group are in one partition of the log, so offsets give their order.
    groups = events.groupBy("group_id").agg(F.sort_array(F.collect_list(record)).alias("records"))
    groups = groups.where(F.size("records") > 0)
    history = arrow_udf(rebuild, HISTORY)("records")  # type: ignore[call-overload]  # Spark reads the kind from the hints
    return groups.select("group_id", history.alias("history")).select("group_id", "history.*")


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
