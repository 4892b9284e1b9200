"""`recorded`: the topics, members and assignments of a fleet at the end of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.cluster.metadata import topics_table
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.spark.engine_types import FLEET
from assignor.spark.recording_files import read_records, with_groups
from assignor.spark.replaying import replay
from assignor.spark.schemas import ASSIGNMENTS, MEMBERS, TOPICS
from assignor.spark.stored_recording import open_recording

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import functions as F

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_BROKER_DIALECT = "re2j"
"""Dialect of the patterns in a log: only patterns that a broker matches (KIP-848) are recorded."""


def recorded(
    spark: SparkSession, folder: str | os.PathLike[str], cluster: str = ""
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """Return the three DataFrames of a fleet at the end of a recording (see `assignor.cluster.Recording`).

    Args:
        spark: A session, classic or Connect, that can read the folder, under the same path as this process.
        folder: The recording, a path or a URI of any file system that Spark reads. Its topic metadata is read
            immediately and is part of the query plan. Its records are read each time a DataFrame is computed.
        cluster: Name of the cluster in all rows.

    Returns:
        `topics`, `members` and `current` with the columns of `schemas.TOPICS`, `schemas.MEMBERS` and
        `schemas.ASSIGNMENTS`, in no particular order.

        topics   the topics of the last metadata snapshot, with their ids; `racks` has the recorded racks of each
                 partition, in the order of partition ids, and an empty list if they are null
        members  the members of classic groups with protocol type `consumer` and of consumer groups (KIP-848); other
                 kinds of groups and groups without members have no rows. `topics` is as in `schemas.MEMBER`; `pattern`
                 is set, and `dialect` is `re2j`, only for members that subscribe only by pattern. All three are null
                 if the subscription cannot be decoded. `assignor`, `group_protocol` and `generation` are those of the
                 group's last record
        current  the partitions that these members own; a topic that is not in the metadata is named by its id

    Raises:
        IllegalArgumentError: The folder or a file is missing or cannot be read, or the partition ids of a topic in the
            last metadata snapshot are not 0 to n - 1.
        WrongTypeError: A column of a file is missing or of another type.
    """
    recording = open_recording(spark, folder)
    if not recording.has_topics:
        raise IllegalArgumentError(f"{recording.folder} has no topics.parquet, whose topics the fleet needs")
    metadata = recording.topics()
    topics = spark.createDataFrame(_last_topics(topics_table(metadata), cluster), TOPICS)
    histories = replay(with_groups(read_records(spark, recording, is_committed=True)), metadata)
    # A broker uses only the names of a member that has names and a pattern, until it has resolved the pattern.
    pattern = F.when(F.col("topics").isNull(), F.col("pattern"))
    members = _of_consumers(histories, "members").withColumn("pattern", pattern)
    members = members.withColumn("dialect", F.when(F.col("pattern").isNotNull(), F.lit(_BROKER_DIALECT)))
    members = members.withColumns({"assignor": F.col("protocol"), "group_protocol": F.col("kind")})
    current = _of_consumers(histories, "assignment")
    return topics, _of_cluster(members, MEMBERS, cluster), _of_cluster(current, ASSIGNMENTS, cluster)


def _of_cluster(rows: DataFrame, wanted: StructType, cluster: str) -> DataFrame:
    return rows.withColumn("cluster", F.lit(cluster)).select(*wanted.fieldNames())


def _of_consumers(histories: DataFrame, name: str) -> DataFrame:
    """Return the entries of a list column of the groups of consumers."""
    kind = F.col("kind")
    consuming = (kind == "consumer") | ((kind == "classic") & (F.col("protocol_type") == "consumer"))
    # `inline` of null gives no rows. A filter on columns of `replay` would make Spark run it twice.
    names = ("group_id", "kind", "protocol", "protocol_type", "generation")
    return histories.select(*names, F.inline(F.when(consuming, F.col(name))))


def _last_topics(metadata: pa.RecordBatch, cluster: str) -> pa.Table:
    """Return the rows of `schemas.TOPICS` for the last metadata snapshot."""
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
                f"topics.parquet has no partition {missing} of topic {topic} in its last snapshot, t={last}, but has "
                f"partition {max(racks)}: partition ids must be 0 to n - 1"
            )
    columns = (
        [cluster] * len(partitions),
        list(partitions),
        [len(racks) for racks in partitions.values()],
        [[racks[id] for id in range(len(racks))] for racks in partitions.values()],
        list(topic_ids.values()),
    )
    return pa.table(list(columns), FLEET["topics"])
