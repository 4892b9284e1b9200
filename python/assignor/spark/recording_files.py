"""Reader of the files of a recording: returns DataFrames, in which records of aborted transactions are marked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StringType, StructType

from assignor import _core
from assignor.spark.schemas import RECORDS, check_columns

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from assignor.cluster import Recording

_PLACE = StructType([RECORDS["partition"], RECORDS["offset"]])


def file_uri(path: Path) -> str:
    """Return a path in the form that Spark accepts: a URI without percent-encoding."""
    return f"file:{path.absolute()}"


def read_parquet(spark: SparkSession, path: Path) -> DataFrame:
    """Read a Parquet file, or all Parquet files in a folder and its subfolders; the path may contain any characters."""
    # Spark expands unescaped glob characters in the paths that it reads.
    reader = spark.read.option("recursiveFileLookup", "true")  # without it, Spark ignores files in nested folders
    return reader.parquet(re.sub(r"([\[\]{}*?\\])", r"\\\1", file_uri(path)))


def read_records(spark: SparkSession, recording: Recording) -> DataFrame:
    """Read the records of a recording: `schemas.RECORDS`, and `aborted`, true for records of aborted transactions.

    Raises:
        WrongTypeError: A column of the file is missing or of another type.
    """
    records = read_parquet(spark, recording.records)
    check_columns(records, RECORDS, str(recording.records))
    # Other columns of the file could have the names of columns that the pipeline adds.
    records = records.select(*RECORDS.fieldNames())
    aborted = spark.createDataFrame(list(recording.aborted), _PLACE).distinct().withColumn("aborted", F.lit(True))
    joined = records.join(F.broadcast(aborted), _PLACE.fieldNames(), "left")
    return joined.select(*records.columns, F.coalesce("aborted", F.lit(False)).alias("aborted"))


def with_groups(records: DataFrame) -> DataFrame:
    """Add the column `group_id`: the group in each record's key, null for a key without a group.

    Args:
        records: A binary column `key`, and any others.
    """

    def read(keys: pa.Array) -> pa.Array:
        return pa.array(_core.record_groups(keys))

    group = arrow_udf(read, StringType())("key")  # type: ignore[call-overload]  # Spark reads the kind from the hints
    return records.withColumn("group_id", group)


def committed(records: DataFrame) -> DataFrame:
    """Select the columns that `replay` needs, without the records of aborted transactions."""
    return records.where(~F.col("aborted")).select("group_id", "offset", "timestamp", "key", "value")
