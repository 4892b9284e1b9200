"""`decode`: the records of `__consumer_offsets` as rows that can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.functions import arrow_udf

from assignor.errors import WrongTypeError
from assignor.spark.schemas import DECODED, RECORDS, check_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def decode(records: DataFrame) -> DataFrame:
    """Reads every record, whatever its type, in Rust over Arrow batches.

    No record is dropped and none fails the job: one of a type that nobody knows has the status `unknown_type`, one
    whose bytes are not what its type says has the status `bad` and says why.

    Args:
        records: The columns of `schemas.RECORDS`, and any others but those of `schemas.DECODED`.

    Returns:
        The same rows with the columns of `schemas.DECODED` beside their own; lazy.

    Raises:
        WrongTypeError: A column is missing, of another type, or has a name that is needed for what is decoded.

    Source: the message definitions of kafka-group-coordinator 4.3.1.
    """
    check_columns(records, RECORDS, "records")
    needed = {name.lower() for name in DECODED.fieldNames()}
    for name in records.columns:
        if name.lower() in needed:
            raise WrongTypeError(f"records: column {name} has a name that decode needs; drop or rename it")

    def read(keys: pa.Array, values: pa.Array) -> pa.Array:
        from assignor import _core

        return pa.record_batch(_core.decode_batch(keys, values)).to_struct_array()

    decoded = arrow_udf(read, DECODED)("key", "value")  # type: ignore[call-overload]  # the kind is told by the hints
    own = [f"`{name}`" for name in records.columns]
    return records.withColumn("_decoded", decoded).select(*own, "_decoded.*")
