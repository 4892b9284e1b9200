"""Events of a recording as lines of JSON, replayed and rendered on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from assignor.recording.events import end_of, replay_batches, to_json
from assignor.recording.metadata import topics_table
from assignor.spark.pipeline import with_groups
from assignor.spark.recording_files import read_records

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pyspark.sql import SparkSession

    from assignor.recording import Recording

_LINES = StructType(
    [
        StructField("group", StringType()),
        StructField("at", LongType()),
        StructField("offset", LongType()),
        StructField("line", StringType()),
    ]
)
_LINES_PER_BATCH = 1_000


def event_lines(
    spark: SparkSession,
    recording: Recording,
    *,
    is_committed: bool = True,
    groups: Collection[str] = (),
    ascii_only: bool = False,
    is_compared: bool = True,
) -> Iterator[tuple[str | None, int, int, str]]:
    """Replay a recording, and yield group, time, offset and JSON of each event; see `recording.events.replay`.

    All records of a group go to one task. The events of a group come in the order in which the machine emits them.
    """
    metadata, end = topics_table(recording.topics()), end_of(recording)
    records = with_groups(read_records(spark, recording))
    if is_committed:
        records = records.where(~F.col("aborted"))
    if groups:
        records = records.where(F.col("group_id").isin(*groups))

    def render(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = []
        for event in replay_batches(batches, metadata, end, is_compared):
            line = to_json(event, ascii_only=ascii_only)
            rows.append({"group": event["group"], "at": event["at"], "offset": event["offset"], "line": line})
            if len(rows) == _LINES_PER_BATCH:
                yield pa.RecordBatch.from_pylist(rows, _SCHEMA)
                rows = []
        yield pa.RecordBatch.from_pylist(rows, _SCHEMA)

    by_group = records.repartition("group_id").sortWithinPartitions("group_id", "partition", "offset", "timestamp")
    for row in by_group.mapInArrow(render, _LINES).toLocalIterator():
        yield row["group"], row["at"], row["offset"], row["line"]


_SCHEMA = pa.schema([("group", pa.string()), ("at", pa.int64()), ("offset", pa.int64()), ("line", pa.string())])
"""Arrow types of `_LINES`."""
