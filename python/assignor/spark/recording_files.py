"""Reads the files of a recording as DataFrames, with a mark on the records of aborted transactions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from assignor.spark.schemas import RECORDS, check_columns

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from assignor.recording import Recording

_PLACE = StructType([StructField("partition", IntegerType()), StructField("offset", LongType())])


def file_uri(path: Path) -> str:
    """A path as Spark takes it: a URI, but of the characters as they are."""
    return f"file:{path.absolute()}"


def read_parquet(spark: SparkSession, path: Path) -> DataFrame:
    """A Parquet file, or a folder of such files, whatever characters are in its path."""
    # In what it reads Spark takes these for patterns.
    return spark.read.parquet(re.sub(r"([\[\]{}*?\\])", r"\\\1", file_uri(path)))


def read_records(spark: SparkSession, recording: Recording) -> DataFrame:
    """The records of a recording: `schemas.RECORDS` and `aborted`, which says whether a read_committed reader skips it.

    Raises:
        WrongTypeError: The file lacks a column or has it in another type.
    """
    records = read_parquet(spark, recording.records)
    check_columns(records, RECORDS, str(recording.records))
    # Columns of somebody else's could have the names of ours.
    records = records.select(*RECORDS.fieldNames())
    aborted = spark.createDataFrame(list(recording.aborted), _PLACE).distinct().withColumn("aborted", F.lit(True))
    joined = records.join(F.broadcast(aborted), _PLACE.fieldNames(), "left")
    return joined.select(*records.columns, F.coalesce("aborted", F.lit(False)).alias("aborted"))


def committed(records: DataFrame) -> DataFrame:
    """Select what `replay` needs of records with `group_id` and `aborted`, without those of aborted transactions."""
    return records.where(~F.col("aborted")).select("group_id", "offset", "timestamp", "key", "value")
