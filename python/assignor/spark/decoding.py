"""`decode`: decode the records of `__consumer_offsets` into columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assignor import _core
from assignor.dependencies import dependency
from assignor.errors import WrongTypeError
from assignor.spark.column_types import read_columns
from assignor.spark.executors import on_executors
from assignor.spark.schemas import DECODED, RECORDS, check_frame, lookup_names
from assignor.spark.slices import record_slices

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.functions import arrow_udf

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def decode(records: DataFrame) -> DataFrame:
    """Decode records of every type. The Rust core decodes slices of Arrow batches.

    Every record gets a row, and no record fails the job. A record of an unknown type has the status `unknown_type`. A
    record with bytes that do not have the format of its type has the status `bad`, and `error` has the reason.

    Args:
        records: The columns of `schemas.RECORDS`, and any others except those of `schemas.DECODED`.

    Returns:
        The rows with their columns and those of `schemas.DECODED`; lazy.

    Raises:
        WrongTypeError: A column is missing, of another type, or has the name of a column of `schemas.DECODED`.

    Source: the message definitions of kafka-group-coordinator 4.3.1.
    """
    check_frame(records, "records")
    records = read_columns(records, RECORDS, "records")
    keys, added = lookup_names(records), DECODED.fieldNames()
    for name, key in zip(records.columns, keys, strict=True):
        if key in added:
            raise WrongTypeError(f"records: decode adds a column {name}; drop or rename the existing one")

    decoded = arrow_udf(on_executors(records.sparkSession, decoded_columns), DECODED)("key", "value")  # type: ignore[call-overload]  # Spark reads the kind from the hints
    struct = "decoded"
    while struct in keys:
        struct += "_"
    columns = (F.col(struct)[name].alias(name) for name in added)
    return records.select("*", decoded.alias(struct)).select("*", *columns).drop(struct)


def decoded_columns(batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
    """Decode columns of keys and values into structs of `schemas.DECODED`.

    The result may have more and smaller columns than Spark passes: Spark only requires that the total number of rows is
    equal.
    """
    for keys, values in batches:
        for part in record_slices(pa.record_batch([keys, values], ["key", "value"])):
            yield pa.record_batch(_core.decode_batch(part["key"], part["value"])).to_struct_array()
