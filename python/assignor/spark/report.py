"""Report on a recording: decode, replay and compare with Spark, and write the results as Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from assignor.replay.recorded import end_of
from assignor.report.tables import LISTS
from assignor.spark.pipeline import commits, decode_and_replay, decoded_records, group_events, group_histories
from assignor.spark.progress import progress
from assignor.spark.recording_files import file_uri, read_records
from assignor.spark.schemas import GROUP

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from assignor.cluster import Recording


def write_tables(spark: SparkSession, recording: Recording, part: Path, *, quiet: bool = False) -> None:
    """Decode the records of a recording, replay its groups, and compare their assignments with Kafka's assignors.

    Write these tables to an existing folder; `assignor.report.summary.summarize` completes the report:

        records      a row per record: `schemas.RECORDS`, `schemas.DECODED` and `aborted`
        commits      a row per offset commit, if the recording has end offsets
        groups       a row per group: `group_id` and `schemas.GROUP`
        generations  a row per generation or epoch: `group_id` and `schemas.GENERATION`
        members      a row per member at the end of the log: `group_id` and `schemas.MEMBER`
        assignments  a row per span of partitions of a member: `cluster`, `group_id`, member_id, topic, start, count
        gaps         a row per span of partitions that lack something: `group_id` and `schemas.GAP`
        events       a row per rebalance, storm, stuck member or unusual offset: `report.tables.EVENT_COLUMNS`

    Args:
        spark: A session on this machine.
        recording: The recording.
        part: Folder of the tables.
        quiet: True to print no progress on standard error.

    Raises:
        IllegalArgumentError: A file of the recording cannot be read.
        WrongTypeError: A column of the recording is missing or of another type.
    """
    topics = recording.topics()
    with progress(spark, "decoding records", quiet=quiet):
        has_commits = recording.end_offsets.exists()
        records = read_records(spark, recording)
        rows = decode_and_replay(records, topics, end_of(recording), has_commits=has_commits).persist()
        decoded_records(rows).write.parquet(file_uri(part / "records"))
        if has_commits:
            commits(rows).write.parquet(file_uri(part / "commits"))
    with progress(spark, "replaying groups", quiet=quiet):
        histories = group_histories(rows).persist()
        _write(histories, part)
        histories.unpersist()
        group_events(rows).write.parquet(file_uri(part / "events"))
        rows.unpersist()


def _write(histories: DataFrame, part: Path) -> None:
    groups = histories.select("group_id", *GROUP.fieldNames())
    groups.orderBy("group_id").write.parquet(file_uri(part / "groups"))
    for column, name in LISTS.items():
        cluster = [F.lit("").alias("cluster")] if column == "assignment" else []
        histories.select(*cluster, "group_id", F.inline(column)).write.parquet(file_uri(part / name))
