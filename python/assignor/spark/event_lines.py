"""Events of a recording as lines of JSON: `assignor.spark.events`, rendered by its workers."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.replay.complete_costs import with_costs
from assignor.replay.coordinator_moves import coordinator_events
from assignor.replay.events import to_json
from assignor.replay.recorded import end_of
from assignor.replay.silences import silence_events, silences_of
from assignor.spark.events_schema import without_times
from assignor.spark.executors import on_executors
from assignor.spark.recording_files import read_records
from assignor.spark.replay_events import events

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    from pyspark.sql.pandas.types import from_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from assignor.cluster import Recording
    from assignor.sources.broker_log import LoggedRebalance

_COLUMNS = pa.schema([("group", pa.string()), ("at", pa.int64()), ("offset", pa.int64()), ("line", pa.string())])

_LINES_PER_BATCH = 1_000


def event_lines(
    spark: SparkSession,
    recording: Recording,
    *,
    is_committed: bool = True,
    has_copies: bool = False,
    ascii_only: bool = False,
    logged: Sequence[LoggedRebalance] = (),
) -> Iterator[tuple[str | None, int, int, str]]:
    """Replay a recording, and yield group, time, offset and JSON of each event; see `assignor.replay.recorded.replay`.

    All records of a partition of the log go to one task. The events of a group come in the order in which the machine
    emits them.

    Args:
        spark: A session that can read the files.
        recording: The recording.
        is_committed: True to omit the records of aborted transactions.
        has_copies: True if several records have the same partition and offset; each counts once.
        ascii_only: True to escape other characters.
        logged: Rebalances that brokers logged.
    """
    records = read_records(spark, recording, is_committed=is_committed)
    if has_copies:
        records = records.dropDuplicates(["partition", "offset"])

    def render(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (
            row
            for batch in batches
            for start in range(0, batch.num_rows, _LINES_PER_BATCH)
            for row in batch.slice(start, _LINES_PER_BATCH).to_pylist()
        )
        events_of_task = with_costs(rows)
        while found := list(islice(events_of_task, _LINES_PER_BATCH)):
            lines = [{**event, "line": to_json(event, ascii_only=ascii_only)} for event in found]
            yield pa.RecordBatch.from_pylist(lines, _COLUMNS)

    # As in `assignor.replay.recorded.replay`, deadlines of groups without later records fire only at the end.
    silences = silences_of(recording)
    if recording.groups is None:
        for event in (*silence_events(silences), *coordinator_events(recording)):
            yield None, event["at"], event["offset"], to_json(event, ascii_only=ascii_only)
    version = recording.broker_version
    found = events(
        records,
        recording.topics(),
        until=end_of(recording),
        delay_ms=None,
        silences=silences,
        logged=logged,
        broker_version=None if version is None else ".".join(map(str, version)),
    )
    lines = without_times(found).mapInArrow(on_executors(spark, render), from_arrow_schema(_COLUMNS))
    for row in lines.toLocalIterator():
        yield row["group"], row["at"], row["offset"], row["line"]
