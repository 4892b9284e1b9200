"""Sources of `__consumer_offsets` records: a recording, log segments, Spark's Kafka connector, or confluent-kafka.

Each returns the columns of `schemas.RECORDS`, and those of live clusters also return `cluster`. By default they
omit the records of aborted transactions, as a read_committed consumer and a broker that loads its groups do. None of
them joins a group or commits an offset.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from assignor.cluster.log import ISOLATION_LEVELS, READ_COMMITTED, TOPIC
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError, MissingDependencyError, WrongTypeError
from assignor.spark.recording_files import read_records
from assignor.spark.schemas import CLUSTER_RECORDS, RECORDS, check_session
from assignor.spark.stored_recording import open_recording
from assignor.validation import check_name, read_bool, read_entries, read_int, shown, wrong_type

with dependency("pyspark"):
    from pyspark.sql import functions as F

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["kafka_connector", "kafka_offsets", "recording_records", "recording_topics", "segment_files", "segments"]

Isolation = Literal["read_committed", "read_uncommitted"]

DEFAULT_PARTITIONS = 50
"""Kafka's default of the broker setting offsets.topic.num.partitions."""

MOST_PARTITIONS = 1_000_000
"""Largest number of partitions that a call can name; a larger one is a mistake, and would fill the memory."""

_OFFSET_FETCHING = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"


def recording_records(
    spark: SparkSession,
    folder: str | os.PathLike[str],
    *,
    cluster: str | None = None,
    isolation: Isolation = "read_committed",
) -> DataFrame:
    """Return the records of a recording folder.

    Args:
        spark: A session that can read the folder.
        folder: The recording, see `assignor.cluster.Recording`: a path on this machine, or a URI of any file system
            that Spark reads, such as `s3a://backup/webshop`.
        cluster: Value of the column `cluster`; None for no such column.
        isolation: `read_committed` omits the records of aborted transactions.

    Returns:
        The columns of `schemas.RECORDS`, or with a cluster those of `schemas.CLUSTER_RECORDS`.

    Raises:
        IllegalArgumentError: The folder or a file is missing or cannot be read.
        WrongTypeError: A column of the file is missing or of another type.
    """
    check_session(spark)
    records = read_records(spark, open_recording(spark, folder), is_committed=_is_committed(isolation))
    if cluster is None:
        return records.select(*RECORDS.fieldNames())
    return records.select(F.lit(check_name(cluster, "cluster")).alias("cluster"), *RECORDS.fieldNames())


def recording_topics(spark: SparkSession, folder: str | os.PathLike[str]) -> pa.Table:
    """Return the topic metadata of a recording folder, as `replay` and `events` accept it.

    Args:
        spark: A session that can read the folder.
        folder: The recording, as for `recording_records`.

    Returns:
        The columns of `schemas.TOPIC_METADATA`; no rows if the recording has no `topics.parquet`.

    Raises:
        IllegalArgumentError: The folder or a file is missing or cannot be read.
        WrongTypeError: A column of the file is missing or of another type.
    """
    check_session(spark)
    return open_recording(spark, folder).topics()


def segments(
    spark: SparkSession, path: str, *, cluster: str = "", isolation: Isolation = "read_committed"
) -> DataFrame:
    """Return the records in the log segments of brokers, such as an archive of data directories.

    All files that are segments of `__consumer_offsets` are read: `__consumer_offsets-N/*.log`, with up to 5 folders
    between these folders and the path. Several brokers of one cluster are read together, and a record that several
    replicas have is one row. Give each cluster its own path and call.

    Args:
        spark: A session that can read the path.
        path: A folder of any file system that Spark reads, such as `s3a://backup/kafka`.
        cluster: Value of the column `cluster`.
        isolation: `read_committed` omits the records of transactions that were aborted or have no end.

    Returns:
        The columns of `schemas.CLUSTER_RECORDS`. Bytes that cannot be read are left out; `segment_files` lists them.

    Raises:
        IllegalArgumentError: `isolation` is unknown, or the path has no such folder.
    """
    from assignor.spark.segments import read_segments

    check_session(spark)
    check_name(cluster, "cluster")
    return read_segments(spark, path, cluster=cluster, is_committed=_is_committed(isolation))


def segment_files(spark: SparkSession, path: str) -> DataFrame:
    """Return a row for each file that `segments` reads: what is in it, and what cannot be read.

    Args:
        spark: A session that can read the path.
        path: The folder, as for `segments`.

    Returns:
        `path`, `partition`, `bytes`, `records`, `end_offset` (the offset after the last readable batch; null without
        one) and `damage`, a list of texts that is empty for a file without damage. Spark lists no files without bytes.

    Raises:
        IllegalArgumentError: The path has no folder of a partition of `__consumer_offsets`.
    """
    from assignor.spark.segments import list_segments

    check_session(spark)
    return list_segments(spark, path)


def kafka_offsets(
    spark: SparkSession, bootstrap_servers: str, *, stream: bool = False, cluster: str = "", **options: Any
) -> DataFrame:
    """Return the records of a live cluster, read through confluent-kafka (extra `kafka`).

    By default, a batch ends at the offsets at which the log ends when the job starts. A stream continues from Spark's
    checkpoint.

    Args:
        spark: Spark session; the data source `kafka_offsets` is registered with it.
        bootstrap_servers: Addresses of brokers.
        stream: True for a streaming DataFrame.
        cluster: Value of the column `cluster`.
        **options: Options of the data source:

            - `partitions`: ids and ranges of partitions, such as `0,4-6`; by default all
            - `isolation`: `read_committed` (default) or `read_uncommitted`
            - `startingOffsets`: `earliest` (default), or JSON with the first offset of partitions, such as `{"0": 17}`
            - `endingOffsets`: `latest` (default), or JSON with the offsets before which a batch ends
            - `maxOffsetsPerTrigger`: highest number of offsets in a micro-batch, which partitions share in proportion
              to their lag (PySpark 4.2 or newer)
            - `timeoutSeconds`: how long to wait for brokers; 60 by default
            - `kafka.<setting>`: settings of librdkafka, for example `kafka.security.protocol`

    Returns:
        The columns of `schemas.CLUSTER_RECORDS`. Each task reads one partition of the topic.
    """
    from assignor.spark.kafka_offsets import NAME, Settings, source_for

    check_session(spark)
    read_bool(stream, "stream")
    texts = {
        "kafka.bootstrap.servers": check_name(bootstrap_servers, "bootstrap_servers"),
        "cluster": check_name(cluster, "cluster"),
        **_texts(options),
    }
    Settings.read(texts)  # report invalid options here, not from a worker
    spark.dataSource.register(source_for(spark))
    reader = spark.readStream if stream else spark.read
    return reader.format(NAME).options(**texts).load()


def kafka_connector(
    spark: SparkSession,
    bootstrap_servers: str,
    *,
    stream: bool = False,
    cluster: str = "",
    partitions: int | Iterable[int] = DEFAULT_PARTITIONS,
    isolation: Isolation = "read_committed",
    **options: Any,
) -> DataFrame:
    """Return the records of a live cluster, read through Spark's Kafka connector.

    To read this topic, the connector needs two settings, which the function sets:

    - `spark.sql.streaming.kafka.useDeprecatedOffsetFetching` of the session is true. Without it the connector looks
      offsets up with an admin client that omits internal topics, and returns no rows and no error.
    - `assign` has explicit partitions. With `subscribe` the connector's consumers would join a group, and the cluster
      would write records of that group to the topic that is read.

    Args:
        spark: Spark session.
        bootstrap_servers: Addresses of brokers.
        stream: True for a streaming DataFrame.
        cluster: Value of the column `cluster`.
        partitions: Number of partitions of `__consumer_offsets`, or the ids of those to read. A partition that does not
            exist fails the job.
        isolation: `read_committed` or `read_uncommitted`.
        **options: Further options of the connector, such as `maxOffsetsPerTrigger` or `kafka.security.protocol`. By
            default, `startingOffsets` is `earliest`, even for a stream.

    Returns:
        The columns of `schemas.CLUSTER_RECORDS`.

    Raises:
        MissingDependencyError: The session does not have the connector.
        IllegalArgumentError: An option would make the connector join a group, or `isolation` is unknown.
    """
    with dependency("pyspark"):
        from pyspark.errors import PySparkException

    check_session(spark)
    read_bool(stream, "stream")
    _is_committed(isolation)
    joining = sorted({name.lower() for name in options} & {"subscribe", "subscribepattern", "kafka.group.id"})
    if joining:
        raise IllegalArgumentError(f"option {joining[0]} is not allowed: kafka_connector assigns partitions itself")
    ids = _partition_ids(partitions)
    settings = {
        "kafka.bootstrap.servers": check_name(bootstrap_servers, "bootstrap_servers"),
        "kafka.isolation.level": isolation,
        "assign": json.dumps({TOPIC: ids}),
        "startingOffsets": "earliest",
        **_texts(options),
    }
    spark.conf.set(_OFFSET_FETCHING, "true")
    reader = spark.readStream if stream else spark.read
    try:
        found = reader.format("kafka").options(**settings).load()
    except PySparkException as error:
        if not _is_missing(error):
            raise
        package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}"
        raise MissingDependencyError(
            f"this Spark session does not have the Kafka connector: start it with spark.jars.packages={package}, or "
            "read with assignor.spark.sources.kafka_offsets, which needs only confluent-kafka"
        ) from error
    found = found.withColumns(
        {"cluster": F.lit(check_name(cluster, "cluster")), "timestamp": F.unix_millis("timestamp")}
    )
    return found.select(*CLUSTER_RECORDS.fieldNames())


def _texts(options: dict[str, Any]) -> dict[str, str]:
    """Return the values of options as text; only texts, numbers and flags have one that a source can read."""
    for name, value in options.items():
        if not isinstance(value, str | int | float):
            raise wrong_type(f"option {name}", "a str, a number or a bool", value)
        check_name(shown(value) if not isinstance(value, str) else value, f"option {name}")
    return {name: value if isinstance(value, str) else shown(value) for name, value in options.items()}


def _partition_ids(partitions: int | Iterable[int]) -> list[int]:
    if isinstance(partitions, int):
        count = read_int(partitions, "partitions", bits=32)
        if not 1 <= count <= MOST_PARTITIONS:
            raise IllegalArgumentError(f"partitions must be from 1 to {MOST_PARTITIONS}, not {shown(partitions)}")
        return list(range(count))
    entries = read_entries(partitions, "partitions", "a number or an iterable of partition ids")
    return [read_int(id, "partitions: an id", bits=32) for id in entries]


def _is_missing(error: Exception) -> bool:
    # The last text is that of Spark 4.1, which has no error class here.
    texts = ("KAFKA_DATA_SOURCE_NOT_ENABLED", "DATA_SOURCE_NOT_FOUND", "Failed to find data source")
    return any(text in str(error) for text in texts)


def _is_committed(isolation: object) -> bool:
    if not isinstance(isolation, str):
        raise WrongTypeError(f"isolation must be a str, not {type(isolation).__name__}")
    if isolation not in ISOLATION_LEVELS:
        raise IllegalArgumentError(f"isolation must be {' or '.join(ISOLATION_LEVELS)}, not {shown(isolation)}")
    return isolation == READ_COMMITTED
