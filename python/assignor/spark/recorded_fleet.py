"""`recorded`: the topics, members and assignments of a fleet, as a recording has them at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F

from assignor.errors import IllegalArgumentError
from assignor.recording import Recording
from assignor.spark.pipeline import with_groups
from assignor.spark.recording_files import committed, read_records
from assignor.spark.replaying import replay, topics_table
from assignor.spark.schemas import ASSIGNMENTS, MEMBERS, TOPICS

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_CLUSTER = ""
"""A recording is of one cluster, and does not name it."""

_BROKER_DIALECT = "re2j"
"""What a pattern in the log is read in: only brokers' own patterns (KIP-848) are there."""

_TOPICS = (pa.string(), pa.string(), pa.int32(), pa.list_(pa.list_(pa.string())), pa.string())
"""The columns of `schemas.TOPICS` in Arrow."""


def recorded(spark: SparkSession, folder: str | os.PathLike[str]) -> tuple[DataFrame, DataFrame, DataFrame]:
    """The three DataFrames of a fleet, from a recording folder (see `assignor.recording`), as its log ends.

    Args:
        spark: A session, Classic or Connect, that can read the folder under the same path as this process.
        folder: The recording. Its topic metadata is read at once and travels with the plan; its records are read when
            a DataFrame is used, once for each.

    Returns:
        `topics`, `members` and `current` with the columns of `schemas.TOPICS`, `schemas.MEMBERS` and
        `schemas.ASSIGNMENTS`, in no particular order, `cluster` being "" everywhere:

        topics   the topics of the last metadata snapshot, with their ids; `racks` has the recorded racks of each
                 partition, by id, and an empty list where they are null
        members  who is in a group at the end of the log, of classic groups that speak `consumer` and of consumer
                 groups (KIP-848); other kinds of groups and groups without members have no rows. `topics` is as in
                 `schemas.MEMBER`, with what a broker found for a pattern beside names; `pattern` is there where a
                 member subscribes by it alone, and `dialect` is `re2j` then. Both are null where nobody can read the
                 subscription. `assignor`, `group_protocol` and `generation` are those of the group's last record
        current  what these members have; a topic is named by its id where the metadata does not name it

    Raises:
        IllegalArgumentError: The folder or a file is missing or cannot be read, or a topic's last partition ids are not
            0 to n - 1.
        WrongTypeError: A file lacks a column or has it in another type.
    """
    recording = Recording.open(folder)
    metadata = recording.topics()
    topics = spark.createDataFrame(_last_topics(topics_table(metadata)), TOPICS)
    histories = replay(committed(with_groups(read_records(spark, recording))), metadata)
    # A broker goes by the names alone while it has not resolved the pattern beside them.
    pattern = F.when(F.col("topics").isNull(), F.col("pattern"))
    members = _of_consumers(histories, "members").withColumn("pattern", pattern)
    members = members.withColumn("dialect", F.when(F.col("pattern").isNotNull(), F.lit(_BROKER_DIALECT)))
    members = members.withColumns({"assignor": F.col("protocol"), "group_protocol": F.col("kind")})
    current = _of_consumers(histories, "assignment")
    return topics, _of_cluster(members, MEMBERS), _of_cluster(current, ASSIGNMENTS)


def _of_cluster(rows: DataFrame, wanted: StructType) -> DataFrame:
    return rows.withColumn("cluster", F.lit(_CLUSTER)).select(*wanted.fieldNames())


def _of_consumers(histories: DataFrame, name: str) -> DataFrame:
    """The entries of a list of each group whose members share out partitions of topics as consumers do."""
    generations = F.filter("generations", lambda generation: generation["kind"] == F.lit("classic"))
    # Null for a group that has never been a classic one.
    protocol_type = F.try_element_at(generations, F.lit(-1))["protocol_type"]
    kind = F.col("kind")
    consuming = (kind == "consumer") | ((kind == "classic") & (protocol_type == "consumer"))
    # Null has no entries; a filter on what `replay` tells would have it run twice.
    return histories.select("group_id", "kind", "protocol", "generation", F.inline(F.when(consuming, F.col(name))))


def _last_topics(metadata: pa.RecordBatch) -> pa.Table:
    """Rows of `schemas.TOPICS` for the metadata's last moment."""
    last = pc.max(metadata["t"])
    partitions: dict[str, dict[int, list[str | None]]] = {}
    topic_ids: dict[str, str | None] = {}
    rows = metadata.filter(pc.equal(metadata["t"], last)).select(["topic", "topic_id", "partition", "racks"])
    for row in rows.to_pylist():
        partitions.setdefault(row["topic"], {})[row["partition"]] = row["racks"] or []
        topic_ids[row["topic"]] = row["topic_id"]
    for topic, racks in partitions.items():
        missing = next((id for id in range(len(racks)) if id not in racks), None)
        if missing is not None:
            raise IllegalArgumentError(
                f"topics.parquet lacks partition {missing} of topic {topic} at its last moment, t={last}, and has "
                f"partition {max(racks)}: a fleet's topics have the ids from 0 on; list every partition"
            )
    columns = (
        [_CLUSTER] * len(partitions),
        list(partitions),
        [len(racks) for racks in partitions.values()],
        [[racks[id] for id in range(len(racks))] for racks in partitions.values()],
        list(topic_ids.values()),
    )
    return pa.Table.from_arrays([pa.array(*column) for column in zip(columns, _TOPICS, strict=True)], TOPICS.names)
