"""Order of the events that `assignor.spark.events` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.replay.events import FIELDS
from assignor.spark.schemas import EVENTS

with dependency("pyspark"):
    from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["EVENTS", "in_order"]

_ACTIONS = ("left", "expired", "replaced", "joined", "subscription_changed")


def in_order(events: DataFrame) -> DataFrame:
    """Sort events by time, cluster, group and offset, and the events of one record in the order in which they occur."""
    rank = F.lit(len(FIELDS))
    for number, name in enumerate(FIELDS):
        rank = F.when(F.col("event") == name, F.lit(number)).otherwise(rank)
    action = F.array_position(F.array(*(F.lit(name) for name in _ACTIONS)), F.coalesce("action", F.lit("")))
    return events.orderBy("at", "cluster", "group", "offset", rank, action, "member", "problem")
