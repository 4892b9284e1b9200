"""Report on a recording: decode, replay and compare with Spark, whose workers write the results as Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor import _core
from assignor.cluster.metadata import topics_table
from assignor.dependencies import dependency
from assignor.replay.recorded import end_of
from assignor.replay.silences import silences_of, write_silences
from assignor.report.local import write_batches
from assignor.spark.executors import on_executors
from assignor.spark.progress import progress
from assignor.spark.recording_files import read_records, with_groups
from assignor.spark.schemas import RECORDS
from assignor.spark.slices import record_slices

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    from pyspark import TaskContext
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import BooleanType, StructField, StructType

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from assignor.cluster import Recording
    from assignor.sources.broker_log import LoggedRebalance

_COLUMNS = StructType([*RECORDS.fields, StructField("aborted", BooleanType())])


def write_tables(
    spark: SparkSession,
    recording: Recording,
    part: Path,
    logged: Sequence[LoggedRebalance] = (),
    *,
    quiet: bool = False,
) -> None:
    """Decode the records of a recording, replay its groups, and compare their assignments with Kafka's assignors.

    The records of a group go to one task, in the order of the log. A task holds the state of one group at a time, and
    writes these tables to an existing folder; `assignor.report.summary.summarize` completes the report:

        records      a row per record: `schemas.RECORDS`, `schemas.DECODED` and `aborted`
        commits      a row per offset commit
        groups       a row per group: `group_id` and `schemas.GROUP`
        generations  a row per generation or epoch: `group_id` and `schemas.GENERATION`
        members      a row per member at the end of the log: `group_id` and `schemas.MEMBER`
        assignments  a row per span of partitions of a member: `cluster`, `group_id`, member_id, topic, start, count
        gaps         a row per span of partitions that lack something: `group_id` and `schemas.GAP`
        events       a row per event of the kinds in `report.tables.KINDS`, with its `EVENT_COLUMNS`

    Args:
        spark: A session on this machine.
        recording: The recording.
        part: Folder of the tables.
        logged: Rebalances that brokers logged.
        quiet: True to print no progress on standard error.

    Raises:
        IllegalArgumentError: A file of the recording cannot be read.
        WrongTypeError: A column of the recording is missing or of another type.
    """
    part = part.absolute()
    metadata, end = topics_table(recording.topics()), end_of(recording)
    silences, version = silences_of(recording), recording.broker_version
    write_silences(silences, part)
    _core.Replay(metadata)  # report invalid metadata here, not from a worker

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        records = (each for batch in batches for each in record_slices(batch))
        file = f"part-{task.partitionId()}"
        write_batches(records, metadata, end, part, silences=silences, logged=logged, broker_version=version, file=file)
        return iter(())

    with progress(spark, "decoding and replaying", quiet=quiet):
        records = with_groups(read_records(spark, recording))
        by_group = records.repartition("group_id").sortWithinPartitions("group_id", "offset", "timestamp", "partition")
        by_group.mapInArrow(on_executors(spark, write), _COLUMNS).collect()
        if not (part / "records").exists():
            none = pa.RecordBatch.from_pylist([], to_arrow_schema(_COLUMNS))
            write_batches([none], metadata, end, part, silences=(), file="part-none")
