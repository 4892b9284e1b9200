"""Decoding and replay of a recording in one pass over its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from assignor import _core
from assignor.cluster.metadata import topics_table
from assignor.report import tables
from assignor.spark.schemas import COMMITTED, DECODED, EVENTS, HISTORY, RECORDS
from assignor.spark.slices import record_slices

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

_RECORD = StructType([*RECORDS.fields, StructField("aborted", BooleanType()), *DECODED.fields])
"""The columns of a decoded record."""

_EVENT = StructType([field for field in EVENTS.fields if field.name in tables.EVENT_COLUMNS])
"""The columns of an event."""

_COMMIT = StructType(
    [*(field for field in COMMITTED.fields if field.name != "cluster"), RECORDS["timestamp"], RECORDS["offset"]]
)
"""The columns of an offset commit."""

_ROW = StructType(
    [
        *_RECORD.fields,
        StructField("commit", _COMMIT),
        StructField("history", HISTORY),
        StructField("event", _EVENT),
    ]
)
"""A row is a decoded record, an offset commit, a group with only its id and its history, or an event; the other columns
are null."""


def with_groups(records: DataFrame) -> DataFrame:
    """Add the column `group_id`: the group in each record's key, null for a key without a group.

    Args:
        records: A binary column `key`, and any others.
    """

    def read(keys: pa.Array) -> pa.Array:
        return pa.array(_core.record_groups(keys))

    group = arrow_udf(read, StringType())("key")  # type: ignore[call-overload]  # Spark reads the kind from the hints
    return records.withColumn("group_id", group)


def decode_and_replay(
    records: DataFrame, topics: pa.Table | None, end: int | None, *, has_commits: bool = False
) -> DataFrame:
    """Decode every record, replay every group, and find the events that a report keeps.

    The records of a group go to one task, in the order of the log. A task holds the state of one group at a time.

    Args:
        records: The columns of `schemas.RECORDS` and `aborted`.
        topics: Topic metadata over time, the columns of `schemas.TOPIC_METADATA`; see `replay`.
        end: Time up to which deadlines fire at the end; None for an empty log.
        has_commits: True to add the offset commits.

    Returns:
        Rows for `decoded_records`, `commits`, `group_histories` and `group_events` to select from; lazy. Persist them:
        each use decodes again.

    Raises:
        WrongTypeError: The metadata lacks a column or has it in another type.
        IllegalArgumentError: The metadata has a partition twice at one time, a negative id or a null.
    """
    metadata = topics_table(topics)
    _core.Replay(metadata)  # report invalid metadata here, not from a worker
    schema = to_arrow_schema(_ROW)

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        replay = _core.Replay(metadata)
        for records in (part for batch in batches for part in record_slices(batch)):
            pushed = tables.push(replay, records, end, has_commits=has_commits)
            yield from _batches(schema, pushed)
        yield from _batches(schema, tables.push(replay, None, end, has_commits=has_commits))

    by_group = with_groups(records).repartition("group_id").sortWithinPartitions("group_id", "offset", "timestamp")
    return by_group.mapInArrow(run, _ROW)


def decoded_records(rows: DataFrame) -> DataFrame:
    """Select the decoded records: `schemas.RECORDS`, `aborted` and `schemas.DECODED`."""
    aborted = F.coalesce("aborted", F.lit(False))  # makes the column non-nullable in the schema
    is_record = F.col("history").isNull() & F.col("event").isNull() & F.col("commit").isNull()
    return rows.where(is_record).withColumn("aborted", aborted).select(*_RECORD.fieldNames())


def commits(rows: DataFrame) -> DataFrame:
    """Select the offset commits: group_id, topic, partition, committed, timestamp and offset."""
    return rows.where(F.col("commit").isNotNull()).select("commit.*")


def group_histories(rows: DataFrame) -> DataFrame:
    """Select the groups: `group_id` and the columns of `schemas.HISTORY`."""
    return rows.where(F.col("history").isNotNull()).select("group_id", "history.*")


def group_events(rows: DataFrame) -> DataFrame:
    """Select the events; the events of one group are in the order in which they occur.

    The columns are `recording.tables.EVENT_COLUMNS`.
    """
    return rows.where(F.col("event").isNotNull()).select("event.*")


def _batches(schema: pa.Schema, pushed: tables.Pushed) -> Iterator[pa.RecordBatch]:
    """Yield the rows of records, of offset commits, of groups that have ended, and of events."""
    if pushed.records is not None:
        yield _rows(schema, pushed.records)
    if pushed.commits is not None:
        yield _rows(schema, {"commit": pushed.commits.to_struct_array()})
    yield _rows(schema, {"group_id": pushed.group_ids, "history": pushed.histories})
    columns = [column.combine_chunks() for column in pushed.events.columns]
    yield _rows(schema, {"event": pa.StructArray.from_arrays(columns, pushed.events.column_names)})


def _rows(schema: pa.Schema, columns: dict[str, pa.Array]) -> pa.RecordBatch:
    """Return the columns as one batch with all columns of a schema; missing ones are null."""
    count = len(next(iter(columns.values())))
    arrays = [columns[field.name] if field.name in columns else pa.nulls(count, field.type) for field in schema]
    arrays = [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
