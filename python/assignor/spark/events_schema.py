"""Schema of the events that `assignor.spark.events` returns, and their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from assignor.replay.events import COLUMNS, FIELDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["EVENTS", "in_order"]

_TEXTS = ArrayType(StringType())
_TYPES = {
    "text": StringType(),
    "number": LongType(),
    "flag": BooleanType(),
    "texts": _TEXTS,
    "partitions": ArrayType(StructType([StructField("topic", StringType()), StructField("partition", IntegerType())])),
    "comparison": StructType(
        [StructField("assignor", StringType()), StructField("outcome", StringType()), StructField("remarks", _TEXTS)]
    ),
}
"""Spark's types of the types of columns."""

EVENTS = StructType([StructField(name, _TYPES[kind]) for name, kind in COLUMNS.items()])
"""An event of a group. Each event has the first six columns and those of its kind; the others are null.

event                kind of the event, see below
cluster, group       the group; `group` is null for a record whose key has no readable group
kind                 kind of the group: `classic`, `consumer`, `share`, `streams` or `offsets`
at, offset           time in milliseconds and offset of the record that the event describes. The event of a deadline has
                     the deadline as its time and the offset of the group's last record

`docs/replay-events.md` describes the columns of each kind.
"""

_ACTIONS = ("left", "expired", "replaced", "joined", "subscription_changed")


def in_order(events: DataFrame) -> DataFrame:
    """Sort events by time, cluster, group and offset, and the events of one record in the order in which they occur."""
    rank = F.lit(len(FIELDS))
    for number, name in enumerate(FIELDS):
        rank = F.when(F.col("event") == name, F.lit(number)).otherwise(rank)
    action = F.array_position(F.array(*(F.lit(name) for name in _ACTIONS)), F.coalesce("action", F.lit("")))
    return events.orderBy("at", "cluster", "group", "offset", rank, action, "member", "problem")
