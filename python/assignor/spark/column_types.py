"""Columns of the DataFrames that the pipeline reads: a check of their names and types, and casts to the wanted types.

Names in Kafka are bytes, so a column of texts with a collation becomes a plain string before Spark compares any of its
values: a collation could make two groups equal. A column of integers may have another size than the schema has. Its
values are cast, and a value that does not fit fails the job with an error that names it.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.errors import WrongTypeError
from assignor.spark.schemas import lookup_names

with dependency("pyspark"):
    from pyspark.sql import functions as F
    from pyspark.sql.types import (
        ArrayType,
        ByteType,
        DataType,
        IntegerType,
        LongType,
        ShortType,
        StringType,
        StructField,
        StructType,
    )

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

_BITS: dict[DataType, int] = {ByteType(): 8, ShortType(): 16, IntegerType(): 32, LongType(): 64}
"""Types of integers, which are cast to each other."""

_NAMES = ("cluster", "group_id", "member_id", "topic")
"""Columns that name the row of a value that does not fit, if the table has them."""

_NULLS = "void"
"""Spark's name of the type of a column without values."""

_COLLATION = " collate [A-Za-z0-9_]+"


def read_columns(
    frame: DataFrame, wanted: StructType, what: str, other_types: Mapping[str, DataType] = MappingProxyType({})
) -> DataFrame:
    """Return a DataFrame whose wanted columns have their types. Its other columns stay as they are.

    Texts with a collation become plain texts. Integers are cast; one that does not fit fails the job. A column in
    `other_types` may also have the type there.

    Raises:
        WrongTypeError: A wanted column is missing, duplicate or of another type. This is checked before any job starts.
    """
    names, there = frame.columns, lookup_names(frame)
    found = {field.name: field.dataType for field in frame.schema.fields}
    casts = {}
    for field in wanted.fields:
        kind = field.dataType.simpleString()
        if there.count(field.name) > 1:
            raise WrongTypeError(f"{what} has several columns {field.name}; its columns are {', '.join(names)}")
        if field.name not in found:
            columns = ", ".join(found)
            raise WrongTypeError(f"{what} has no column {field.name} of type {kind}; its columns are {columns}")
        given = found[field.name]
        allowed = [field.dataType, *(other_types[name] for name in (field.name,) if name in other_types)]
        target = next((each for each in allowed if _is_castable(given, each)), None)
        if target is None:
            texts = " or ".join(each.simpleString() for each in allowed)
            raise WrongTypeError(f"{what}: column {field.name} must be of type {texts}, not {given.simpleString()}")
        if given.simpleString() == target.simpleString():
            continue
        if _BITS.get(given, 0) > _BITS.get(target, 0):
            casts[field.name] = _checked(field, what, wanted.fieldNames())
        else:
            casts[field.name] = F.col(field.name).cast(target)
    return frame.withColumns(casts) if casts else frame


def late_columns(frame: DataFrame, wanted: StructType, what: str, optional: Collection[str] = ()) -> DataFrame:
    """Select all wanted columns of a DataFrame whose columns are not known yet; missing optional columns are null.

    When Spark resolves the query, it rejects a missing required column and a type that cannot be converted. Any other
    wrong type fails the job with the message of `read_columns`.
    """
    filling = [F.lit(None).alias(field.name) for field in wanted.fields if field.name in optional]
    if filling:  # `DataFrame.to` would do the same, but a pipeline's server resolves it too early.
        none = frame.sparkSession.range(1).where(F.lit(False)).select(*filling)
        frame = frame.unionByName(none, allowMissingColumns=True)
    columns = []
    for field in wanted.fields:
        kind = field.dataType.simpleString()
        found = F.regexp_replace(F.typeof(field.name), _COLLATION, "")
        if field.dataType in _BITS:
            is_castable = found.isin([*(each.simpleString() for each in _BITS), _NULLS])
            column = _checked(field, what, wanted.fieldNames())
        else:
            is_castable, column = found.isin(kind, _NULLS), F.col(field.name).cast(field.dataType)
        message = F.concat(F.lit(f"{what}: column {field.name} must be of type {kind}, not "), found)
        columns.append(F.when(is_castable, column).otherwise(F.raise_error(message)).alias(field.name))
    return frame.select(*columns)


def _is_castable(given: DataType, wanted: DataType) -> bool:
    """Return True if a column can get the wanted type; a number that is too large is found when rows are read."""
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        given, wanted = given.elementType, wanted.elementType
        return given.simpleString() == wanted.simpleString() or (wanted not in _BITS and _is_castable(given, wanted))
    if isinstance(given, StringType) and isinstance(wanted, StringType):
        return True
    return given.simpleString() == wanted.simpleString() or (given in _BITS and wanted in _BITS)


def _checked(field: StructField, what: str, names: Sequence[str]) -> Column:
    """Return a column of integers with the type of a field; the job fails if a value does not fit."""
    most = 2 ** (_BITS[field.dataType] - 1) - 1
    value = F.col(field.name).cast(LongType())
    # A null has no text here; the other names remain.
    place = [F.concat(F.lit(f"{name} '"), F.col(name).cast("string"), F.lit("'")) for name in _NAMES if name in names]
    limits = F.concat(F.lit(f"column {field.name} must be from {-most - 1} to {most}, got "), value.cast("string"))
    message = F.concat_ws(": ", F.lit(what), *([F.concat_ws(", ", *place)] if place else []), limits)
    fits = value.isNull() | value.between(-most - 1, most)
    return F.when(fits, value.cast(field.dataType)).otherwise(F.raise_error(message))
