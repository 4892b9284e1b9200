"""Tables of a fleet: the session that has them, and which of their columns are read."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.spark import schemas
from assignor.spark.column_types import late_columns, read_columns
from assignor.validation import check_name, wrong_type

with dependency("pyspark"):
    from pyspark.errors import PySparkException
    from pyspark.sql import Column, SparkSession
    from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType


def session_or_active(spark: SparkSession | None) -> SparkSession:
    """Return the given session, or the active one if it is None.

    Raises:
        WrongTypeError: `spark` is no session.
    """
    if spark is not None:
        schemas.check_session(spark)
        return spark
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def read_topics(topics: DataFrame) -> tuple[DataFrame, list[str]]:
    """Select the columns of topics, with their weights if there are any; return them and their names."""
    wanted, optional = schemas.TOPICS, {"racks", "topic_id"}
    schemas.check_frame(topics, "topics")
    if schemas.columns_are_known(topics) and "weights" in schemas.lookup_names(topics):
        wanted = StructType([*wanted.fields, *schemas.TOPIC_WEIGHTS.fields])
    return read_table(topics, wanted, "topics", optional)


def read_members(members: DataFrame) -> tuple[DataFrame, list[str]]:
    """Select the columns of members; return them and their names.

    Raises:
        WrongTypeError: As for `read_table`, or there are neither topics nor patterns.
    """
    optional = set(schemas.MEMBERS.fieldNames()) - {*schemas.KEYS, "member_id"}
    found, names = read_table(members, schemas.MEMBERS, "members", optional, schemas.PATTERN_LISTS)
    if not {"topics", "pattern"} & set(names):
        kind, given = schemas.MEMBERS["topics"].dataType.simpleString(), ", ".join(members.columns)
        raise WrongTypeError(f"members has no column topics of type {kind} and no pattern; its columns are {given}")
    return found, names


def read_table(
    frame: DataFrame,
    wanted: StructType,
    what: str,
    optional: Collection[str],
    other_types: Mapping[str, DataType] = MappingProxyType({}),
) -> tuple[DataFrame, list[str]]:
    """Select the columns of a schema that a DataFrame has, with their types; return them and their names.

    Args:
        frame: The DataFrame.
        wanted: The schema.
        what: Name of the DataFrame in errors.
        optional: Columns that may be missing.
        other_types: As for `column_types.read_columns`.

    Raises:
        WrongTypeError: A column is missing, duplicate or of another type, or the DataFrame is streaming.
    """
    schemas.check_frame(frame, what)
    if not schemas.columns_are_known(frame):
        return late_columns(frame, wanted, what, optional), wanted.fieldNames()
    there = schemas.lookup_names(frame)
    names = [name for name in wanted.fieldNames() if name not in optional or name in there]
    found = read_columns(frame, StructType([wanted[name] for name in names]), what, other_types)
    if frame.isStreaming:
        # Spark's own error would name internal functions of this package.
        raise WrongTypeError(f"{what} must not be a streaming DataFrame; in foreachBatch, pass the batch")
    return found.select(*names), names


def choose_groups(frame: DataFrame, condition: Column | str) -> DataFrame:
    """Return the rows whose group meets a condition on `cluster` and `group_id`.

    Raises:
        WrongTypeError: The condition is neither a Column nor a text.
        IllegalArgumentError: It has another column, or Spark cannot resolve it. This is checked before any job starts,
            unless the columns of the DataFrame are not known yet.
    """
    if not isinstance(condition, (Column, str)):
        raise wrong_type("condition", "a Column or a str", condition)
    if isinstance(condition, str):
        check_name(condition, "condition")
    try:
        if schemas.columns_are_known(frame):
            # Without rows: Spark would find other columns of the frame although they are not selected.
            keys = StructType([schemas.MEMBERS[key] for key in schemas.KEYS])
            frame.sparkSession.createDataFrame([], keys).where(condition).schema  # noqa: B018  # resolves it in Connect
        return frame.where(condition)
    except PySparkException as error:
        cause = str(error).splitlines()[0]
        raise IllegalArgumentError(
            f"condition must be one on the columns {' and '.join(schemas.KEYS)}: {cause}"
        ) from error
