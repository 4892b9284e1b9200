"""Commits and end offsets of a synthetic fleet, and checks of `Fleet.migrate`, `scale` and `lag_in_time`.

The checks compare a sample of the groups with the functions of the package, called for each group alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F

from assignor.lag import POSITIONS, TIMED_END_OFFSETS, join_owners, partition_lag
from assignor.lag_time import TIMED_COMMITTED, lag_in_time
from assignor.lag_time_sums import sum_lag_in_time
from assignor.migration import ClassicGroup, ClassicMember, migrate, read_row
from assignor.model import Subscription
from assignor.scaling import scale
from assignor.spark import Fleet
from benches.checks import require
from benches.spark_fleets import SAMPLE, Written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TIMES_MS = (0, 60_000)
"""Times of the measurements. Each partition has a commit and an end offset at each of them."""

Row = dict[str, Any]


class Offsets(NamedTuple):
    """Offsets over time, in files: the last arguments of `Fleet.lag_in_time`."""

    committed: DataFrame
    end_offsets: DataFrame


def offsets(spark: SparkSession, folder: Path, fleet: Written, owned: DataFrame) -> Offsets:
    """Write the commits of the owned partitions and the end offsets of all partitions, and return them."""
    here = folder / f"offsets-{fleet.size.groups}-{fleet.size.members}"
    if not here.exists():
        at = F.explode(F.array(*(F.lit(time).cast("bigint") for time in TIMES_MS))).alias("at")
        ids = F.explode(F.expr("sequence(start, start + count - 1)")).alias("partition")
        places = owned.select("cluster", "group_id", "topic", ids).select("*", at)
        committed = (F.col("at") / 100 * (1 + F.crc32("group_id") % 3)).cast("bigint").alias("committed")
        places.select("*", committed).write.parquet(str(here / "committed"))
        ids = F.explode(F.expr("sequence(0, partitions - 1)")).alias("partition")
        ends = fleet.topics.select("cluster", "topic", ids).select("*", at)
        numbers = F.lit(0).cast("bigint").alias("start_offset"), (F.col("at") / 30).cast("bigint").alias("end_offset")
        ends.select("*", *numbers).write.parquet(str(here / "ends"))
    return Offsets(*(spark.read.parquet(str(here / name)) for name in ("committed", "ends")))


def check_answers(fleet: Written, owned: DataFrame, given: Offsets) -> None:
    """Compare the rows of a sample of groups with the functions of the package.

    Raises:
        WrongAnswerError: They differ.
    """
    whole = Fleet(fleet.topics, fleet.members, owned)
    ids = [row["group_id"] for row in fleet.members.select("group_id").distinct().orderBy("group_id").take(SAMPLE)]
    chosen = F.col("group_id").isin(ids)

    def rows(frame: DataFrame) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {id: [] for id in ids}
        for row in frame.where(chosen).drop("cluster").toArrow().to_pylist():
            found[row["group_id"]].append(row)
        return found

    members, spans, committed = (rows(frame) for frame in (fleet.members, owned, given.committed))
    topics = fleet.topics.toArrow().to_pylist()
    ends = given.end_offsets.drop("cluster").toArrow().select(TIMED_END_OFFSETS.names).cast(TIMED_END_OFFSETS)
    answers = (rows(frame) for frame in (whole.migrate(), whole.scale(), whole.lag_in_time(*given, by="group")))
    migrated, scaled, late = answers
    for id in ids:
        (row,) = migrated[id]
        require(read_row(id, row) == _migration(id, members[id], spans[id], topics), f"migrate() is wrong for {id}")
        by_count = sorted(scaled[id], key=lambda row: int(row["members"]))
        require(
            [{**row, "group_id": id} for row in _scaling(id, members[id], spans[id], topics)] == by_count,
            f"scale() is wrong for {id}",
        )
        require(_lag(spans[id], committed[id], ends) == late[id], f"lag_in_time() is wrong for {id}")


def _migration(id: str, members: list[Row], spans: list[Row], topics: list[Row]) -> object:
    owned: dict[str, list[tuple[str, int, int]]] = {row["member_id"]: [] for row in members}
    for row in spans:
        owned[row["member_id"]].append((row["topic"], row["start"], row["count"]))
    given = (
        ClassicMember(row["member_id"], tuple(row["topics"]), tuple(owned[row["member_id"]]), row["group_instance_id"])
        for row in members
    )
    (found,) = migrate([ClassicGroup(id, tuple(given))], topics, later=False)
    return found


def _scaling(id: str, members: list[Row], spans: list[Row], topics: list[Row]) -> list[Row]:
    owned: dict[str, list[tuple[str, int]]] = {}
    for row in spans:
        ids = range(row["start"], row["start"] + row["count"])
        owned.setdefault(row["member_id"], []).extend((row["topic"], number) for number in ids)
    found = scale(
        {row["topic"]: row["partitions"] for row in topics},
        {row["member_id"]: Subscription(row["topics"], group_instance_id=row["group_instance_id"]) for row in members},
        assignment=owned,
        group=id,
    )
    return [each._asdict() for each in found.counts]


def _lag(spans: list[Row], committed: list[Row], ends: pa.Table) -> list[Row]:
    key = [POSITIONS.field(name) for name in ("group_id", "topic", "partition")]
    owners = [{**row, "partition": id} for row in spans for id in range(row["start"], row["start"] + row["count"])]
    last = [row for row in committed if row["at"] == TIMES_MS[-1]]
    positions = join_owners(
        pa.Table.from_pylist(last, pa.schema([*key, POSITIONS.field("committed")])),
        pa.Table.from_pylist(owners, pa.schema([*key, POSITIONS.field("member_id")])),
    )
    now = ends.filter(pa.compute.equal(ends["at"], TIMES_MS[-1])).drop_columns("at")
    commits = pa.Table.from_pylist(committed, TIMED_COMMITTED)
    timed = lag_in_time(partition_lag(positions, now), TIMES_MS[-1], ends, commits)
    found: list[Row] = sum_lag_in_time(timed).to_pylist()
    return found
