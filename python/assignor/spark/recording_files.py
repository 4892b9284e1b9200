"""Reader of the files of a recording: returns DataFrames, in which records of aborted transactions are marked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assignor import _core
from assignor.cluster.timestamps import LATEST_TIME
from assignor.dependencies import dependency
from assignor.spark.column_types import read_columns
from assignor.spark.executors import on_executors
from assignor.spark.schemas import RECORDS
from assignor.spark.stored_recording import escaped

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.types import StringType, StructType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from assignor.cluster import Recording
    from assignor.spark.stored_recording import StoredRecording

_PLACE = StructType([RECORDS["partition"], RECORDS["offset"]])


def read_records(
    spark: SparkSession, recording: Recording | StoredRecording, *, is_committed: bool = False
) -> DataFrame:
    """Read the records of a recording: `schemas.RECORDS`, and `aborted`, true for records of aborted transactions.

    If groups are chosen, the column `group_id` follows. Records after `recording.until` are left out.

    Args:
        spark: A session that can read the files.
        recording: The recording; its path may contain any characters.
        is_committed: True to omit the records of aborted transactions.

    Raises:
        WrongTypeError: A column of the file is missing or of another type.
    """
    given = recording.records
    path = escaped(f"file:{given.absolute()}" if isinstance(given, Path) else given)
    # Without the option, Spark ignores files in nested folders.
    records = spark.read.option("recursiveFileLookup", "true").parquet(path)
    records = read_columns(records, RECORDS, str(recording.records))
    # Other columns of the file could have the names of columns that the pipeline adds.
    records = records.select(*RECORDS.fieldNames())
    if recording.until is not None:
        times = F.col("timestamp")
        records = records.where((times <= recording.until) | (times > LATEST_TIME) | times.isNull())
    aborted = spark.createDataFrame(list(recording.aborted), _PLACE).distinct().withColumn("aborted", F.lit(True))
    joined = records.join(F.broadcast(aborted), _PLACE.fieldNames(), "left")
    found = joined.select(*records.columns, F.coalesce("aborted", F.lit(False)).alias("aborted"))
    if recording.groups is not None:
        found = with_groups(found).where(F.col("group_id").rlike(recording.groups.java_regex))
    return found.where(~F.col("aborted")) if is_committed else found


def with_groups(records: DataFrame) -> DataFrame:
    """Add the column `group_id`, unless it is there: the group in each record's key, null for a key without a group.

    Args:
        records: A binary column `key`, and any others.
    """
    if "group_id" in records.columns:
        return records

    def read(keys: pa.Array) -> pa.Array:
        return pa.array(_core.record_groups(keys))

    group = arrow_udf(on_executors(records.sparkSession, read), StringType())("key")  # type: ignore[call-overload]  # Spark reads the kind from the hints
    return records.withColumn("group_id", group)
