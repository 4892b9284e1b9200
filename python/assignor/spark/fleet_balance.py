"""Columns that `Fleet` adds to the balance of a group: its skew, and whether its record fits into a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.spark import schemas
from assignor.validation import shown, wrong_type

with dependency("pyspark"):
    from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

MAX_MESSAGE_BYTES = 1_048_588
"""Kafka's default of the broker setting message.max.bytes, the largest batch of records that a broker accepts."""

_BATCH_BYTES = 61 + 5 + 3 + 5 + 5 + 1
"""Largest overhead of a batch of one record: the header of the batch, and the record's lengths and fixed fields."""


def read_message_bytes(value: object) -> int:
    """Return a value of message.max.bytes if it is valid.

    Raises:
        WrongTypeError: It is no int.
        IllegalArgumentError: It is negative or has more than 63 bits.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise wrong_type("max_message_bytes", "an int", value)
    if not 0 <= value < 2**63:
        raise IllegalArgumentError(f"max_message_bytes must be from 0 to {2**63 - 1}, not {shown(value)}")
    return value


def with_skew(found: DataFrame, answer: StructType, limit: int, *, has_weights: bool) -> DataFrame:
    """Return balances with the columns of `schemas.BALANCE_WITH_SKEW`.

    Args:
        found: Balances.
        answer: Their columns, without the keys.
        limit: The brokers' message.max.bytes.
        has_weights: Whether to keep the columns of `schemas.WEIGHTED`.
    """
    of_weights = schemas.WEIGHTED.fieldNames() if has_weights else []
    names = [*schemas.KEYS, *answer.fieldNames()]  # a pipeline must not ask Spark for them
    others = [name for name in names if name not in schemas.WEIGHTED.fieldNames()]
    return found.select(*others, *_skew_and_fit(limit), *of_weights)


def _skew_and_fit(limit: int) -> tuple[Column, Column]:
    skew = F.when(F.col("mean_load") > 0, F.col("most_loaded") / F.col("mean_load"))
    fits = F.col("record_bytes") + F.lit(_BATCH_BYTES) <= F.lit(limit)
    return skew.alias("skew"), fits.alias("record_fits")
