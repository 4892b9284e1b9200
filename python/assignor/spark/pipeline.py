"""Decoding and replay of a recording in one pass over its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from assignor import _core
from assignor.recording.metadata import topics_table
from assignor.spark.schemas import DECODED, HISTORY, RECORDS
from assignor.spark.slices import record_slices

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from assignor.columns import ArrowArray

_RECORD = StructType([*RECORDS.fields, StructField("aborted", BooleanType()), *DECODED.fields])
"""The columns of a decoded record."""

_ROW = StructType([*_RECORD.fields, StructField("history", HISTORY)])
"""A decoded record without a history, or a group with only its id and its history."""


def with_groups(records: DataFrame) -> DataFrame:
    """Add the column `group_id`: the group in each record's key, null for a key without a group.

    Args:
        records: A binary column `key`, and any others.
    """

    def read(keys: pa.Array) -> pa.Array:
        return pa.array(_core.record_groups(keys))

    group = arrow_udf(read, StringType())("key")  # type: ignore[call-overload]  # Spark reads the kind from the hints
    return records.withColumn("group_id", group)


def decode_and_replay(records: DataFrame, topics: pa.Table | None = None) -> DataFrame:
    """Decode every record and replay every group; each record is decoded once.

    The records of a group go to one task, in the order of the log, and a task holds the state of one group at a time.

    Args:
        records: The columns of `schemas.RECORDS` and `aborted`.
        topics: Topic metadata over time, the columns of `schemas.TOPIC_METADATA`; see `replay`.

    Returns:
        Rows for `decoded_records` and `group_histories` to select from; lazy. Persist them: each use decodes again.

    Raises:
        WrongTypeError: The metadata lacks a column or has it in another type.
        IllegalArgumentError: The metadata has a partition twice at one time, a negative id or a null.
    """
    metadata = topics_table(topics)
    _core.RecordingReplay(metadata)  # report invalid metadata here, not from a worker
    schema = to_arrow_schema(_ROW)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        replay = _core.RecordingReplay(metadata)
        for records in (part for batch in batches for part in record_slices(batch)):
            decoded, ended = replay.push(records)
            yield _rows(schema, {**_columns(records), **_columns(pa.record_batch(decoded))})
            yield _group_rows(schema, ended)
        yield _group_rows(schema, replay.finish())

    by_group = with_groups(records).repartition("group_id").sortWithinPartitions("group_id", "offset", "timestamp")
    return by_group.mapInArrow(run, _ROW)


def decoded_records(rows: DataFrame) -> DataFrame:
    """Select the decoded records: `schemas.RECORDS`, `aborted` and `schemas.DECODED`."""
    aborted = F.coalesce("aborted", F.lit(False))  # makes the column non-nullable in the schema
    return rows.where(F.col("history").isNull()).withColumn("aborted", aborted).select(*_RECORD.fieldNames())


def group_histories(rows: DataFrame) -> DataFrame:
    """Select the groups: `group_id` and the columns of `schemas.HISTORY`."""
    return rows.where(F.col("history").isNotNull()).select("group_id", "history.*")


def _columns(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _group_rows(schema: pa.Schema, ended: tuple[ArrowArray, ArrowArray]) -> pa.RecordBatch:
    group_id, history = ended
    return _rows(schema, {"group_id": pa.array(group_id), "history": pa.array(history)})


def _rows(schema: pa.Schema, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """Return the columns as one batch with all columns of a schema; missing ones are null."""
    count = len(columns["group_id"])
    arrays = [columns[field.name] if field.name in columns else pa.nulls(count, field.type) for field in schema]
    arrays = [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
