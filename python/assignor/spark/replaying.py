"""`replay`: each group's history, rebuilt from its records, with every range generation judged."""

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
"""The columns of `decode`'s answer that `replay` needs."""

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
    """Rebuilds each group from its records: one row per group, one call of the Rust core per Arrow batch.

    Replay is deterministic: the state of a group is what a broker would have after loading the same records. Leave out
    what a read_committed reader does not get (records of aborted transactions) beforehand.

    Args:
        events: What `decode` gives; rows without `group_id` are in nobody's history.
        topics: Topic metadata over time, the columns of `schemas.TOPIC_METADATA`; it travels to the workers with the
            job. With it every classic generation under `range` is compared with what the range rules give, and topic
            ids become names.

    Returns:
        `group_id` and the columns of `schemas.HISTORY`; lazy.

    Raises:
        WrongTypeError: A column is missing or of another type.
        IllegalArgumentError: The metadata has a partition twice at one moment, a negative id or a null.
    """
    check_columns(events, EVENTS, "events")
    metadata = topics_table(topics)
    # What is wrong with the metadata is better said here than by a worker.
    _core.replay_groups(pa.array([], _RECORDS), metadata)

    def rebuild(records: pa.Array) -> pa.Array:
        return pa.array(_core.replay_groups(records, metadata))

    # Rows without a group are left out here and not by a filter: with one, Spark has `decode` run below it and again
    # above it.
    record = F.when(F.col("group_id").isNotNull(), F.struct("offset", "timestamp", "key", "value"))
    # The log's order within a partition, to which a group belongs whole, is that of the offsets.
    groups = events.groupBy("group_id").agg(F.sort_array(F.collect_list(record)).alias("records"))
    groups = groups.where(F.size("records") > 0)
    history = arrow_udf(rebuild, HISTORY)("records")  # type: ignore[call-overload]  # the kind is told by the hints
    return groups.select("group_id", history.alias("history")).select("group_id", "history.*")


def topics_table(topics: pa.Table | None) -> pa.RecordBatch:
    """The metadata as one batch with just the columns needed, in the types needed."""
    empty = pa.RecordBatch.from_pylist([], schema=_TOPICS)
    if topics is None:
        return empty
    missing = [name for name in _TOPICS.names if name not in topics.column_names]
    if missing:
        raise WrongTypeError(f"topic metadata must have a column {missing[0]}; it has {', '.join(topics.column_names)}")
    try:
        batches = topics.select(_TOPICS.names).cast(_TOPICS).combine_chunks().to_batches()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise WrongTypeError(f"topic metadata cannot be read as {_TOPICS.names}: {error}") from error
    return batches[0] if batches else empty
