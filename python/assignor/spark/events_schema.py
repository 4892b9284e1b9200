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

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["EVENTS", "in_order"]

_TEXTS = ArrayType(StringType())
_PARTITIONS = ArrayType(StructType([StructField("topic", StringType()), StructField("partition", IntegerType())]))
_COMPARISON = StructType(
    [StructField("assignor", StringType()), StructField("outcome", StringType()), StructField("remarks", _TEXTS)]
)

EVENTS = StructType(
    [
        StructField("event", StringType()),
        StructField("cluster", StringType()),
        StructField("group", StringType()),
        StructField("kind", StringType()),
        StructField("at", LongType()),
        StructField("offset", LongType()),
        StructField("generation", LongType()),
        StructField("protocol_type", StringType()),
        StructField("protocol", StringType()),
        StructField("leader", StringType()),
        StructField("members", LongType()),
        StructField("partitions", LongType()),
        StructField("duration_ms", LongType()),
        StructField("same_members", BooleanType()),
        StructField("comparison", _COMPARISON),
        StructField("causes", _TEXTS),
        StructField("evidence", StringType()),
        StructField("joined", _TEXTS),
        StructField("left", _TEXTS),
        StructField("replaced", _TEXTS),
        StructField("moved", _PARTITIONS),
        StructField("unowned", _PARTITIONS),
        StructField("action", StringType()),
        StructField("member", StringType()),
        StructField("instance_id", StringType()),
        StructField("client_id", StringType()),
        StructField("client_host", StringType()),
        StructField("previous", StringType()),
        StructField("since", LongType()),
        StructField("until", LongType()),
        StructField("rebalances", LongType()),
        StructField("topic_partitions", _PARTITIONS),
        StructField("usual_interval_ms", LongType()),
        StructField("problem", StringType()),
        StructField("record_type", LongType()),
        StructField("error", StringType()),
    ]
)
"""An event of a group. Each event has the first six columns and those of its kind; the others are null.

event                kind of the event, see below
cluster, group       the group; `group` is null for a record whose key has no readable group
kind                 kind of the group: `classic`, `consumer`, `share`, `streams` or `offsets`
at, offset           time in milliseconds and offset of the record that the event describes. The event of a deadline has
                     the deadline as its time and the offset of the group's last record

generation    `generation`, `protocol_type`, `protocol`, `leader`, `members`, `partitions`, `duration_ms`,
              `same_members`, `comparison`
rebalance     `generation`, `causes`, `evidence`, `joined`, `left`, `replaced`, `moved`, `unowned`
member        `action`, `member`, `instance_id`, `client_id`, `client_host`, `previous`, `generation`, `causes`
storm         `since`, `until`, `rebalances`, `topic_partitions`, `unowned`
stuck         `member`, `topic_partitions`, `since`, `until`, `usual_interval_ms`
offsets       `problem`, `topic_partitions`, `evidence`
bad_record    `record_type`, `error`

`docs/replay-events.md` describes the columns of each kind.
"""

_RANKS = {
    "bad_record": 0,
    "offsets": 1,
    "stuck": 2,
    "member": 3,
    "generation": 4,
    "rebalance": 5,
    "storm": 6,
}
"""Order of the events of one record."""

_ACTIONS = ("left", "expired", "replaced", "joined", "subscription_changed")


def in_order(events: DataFrame) -> DataFrame:
    """Sort events by time, cluster, group and offset, and the events of one record in the order in which they occur."""
    rank = F.lit(len(_RANKS))
    for name, number in _RANKS.items():
        rank = F.when(F.col("event") == name, F.lit(number)).otherwise(rank)
    action = F.array_position(F.array(*(F.lit(name) for name in _ACTIONS)), F.coalesce("action", F.lit("")))
    return events.orderBy("at", "cluster", "group", "offset", rank, action, "member", "problem")
