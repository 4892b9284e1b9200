"""Names, times and order of the events that `assignor.spark.events` returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.dependencies import dependency
from assignor.replay.events import FIELDS
from assignor.spark.schemas import ENGINE_EVENTS, EVENT_NAMES, EVENT_TIMES, EVENTS

with dependency("pyspark"):
    from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["EVENTS", "in_order"]

_ACTIONS = ("left", "expired", "replaced", "joined", "subscription_changed")


_DAY_MS = 86_400_000
_FIRST_MS, _LAST_MS = -62_135_596_800_000 + _DAY_MS, 253_402_300_799_999 - _DAY_MS
"""First and last millisecond of a timestamp: a day within the years 1 to 9999, so that Python has it in each zone."""


def with_times(events: DataFrame) -> DataFrame:
    """Return events of the engine with the columns of `EVENTS`."""
    found: list[Column] = []
    for name in ENGINE_EVENTS.fieldNames():
        found.append(F.col(name).alias(EVENT_NAMES.get(name, name)))
        if name in EVENT_TIMES:
            is_known = F.col(name).between(_FIRST_MS, _LAST_MS)
            found.append(F.when(is_known, F.timestamp_millis(name)).alias(f"{name}_time"))
    return events.select(*found)


def without_times(events: DataFrame) -> DataFrame:
    """Return events with the columns that the engine and JSON have, instead of those of `EVENTS`."""
    return events.select(*(F.col(EVENT_NAMES.get(name, name)).alias(name) for name in ENGINE_EVENTS.fieldNames()))


def in_order(events: DataFrame) -> DataFrame:
    """Sort events by time, cluster, group and offset, and the events of one record in the order in which they occur."""
    rank = F.lit(len(FIELDS))
    for number, name in enumerate(FIELDS):
        rank = F.when(F.col("event") == name, F.lit(number)).otherwise(rank)
    action = F.array_position(F.array(*(F.lit(name) for name in _ACTIONS)), F.coalesce("action", F.lit("")))
    return events.orderBy("at", "cluster", "group_id", "record_offset", rank, action, "member", "problem")
