"""The fleets that are planned on Spark: made up, written once as Parquet, and what the answers to them are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import functions as F

from assignor import Subscription, assign
from assignor.spark import Fleet
from assignor.spark.synthetic import synthetic_fleet
from benches.implementations import WrongAnswerError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 4
"""How many files the members are in, in an order that has nothing to do with their groups."""

SAMPLE = 10
"""So many groups are compared with `assign`, row by row."""

Run = tuple[str, str, str, int, int]
"""Group, member, topic, first partition, and how many."""


class Checksum(NamedTuple):
    """What tells two answers apart, in whatever order their rows are."""

    rows: int
    hashes: Any


@dataclass(frozen=True, slots=True)
class Size:
    """How large a fleet is; the topics are those of its one cluster."""

    groups: int
    members: int
    topics_per_group: int
    topics: int = 2000

    @property
    def name(self) -> str:
        """Groups x members x topics of a group."""
        return f"{self.groups:,} x {self.members:,} x {self.topics_per_group:,}"


@dataclass(frozen=True, slots=True)
class Written:
    """A fleet that is in files."""

    size: Size
    topics: DataFrame
    members: DataFrame

    def fleet(self, assignor: str = "range") -> Fleet:
        """Return the fleet; all its groups use one assignor of the classic protocol."""
        named = self.members if assignor == "range" else self.members.withColumn("assignor", F.lit(assignor))
        return Fleet(self.topics, named)


def written(spark: SparkSession, size: Size, folder: Path) -> Written:
    """Writes a fleet, if it is not there yet, and reads it.

    Nobody subscribes by a pattern or otherwise than the rest of the group, and there are no racks; a tenth of the
    members is static.
    """
    here = folder / size.name.replace(",", "").replace(" ", "")
    if not here.exists():
        made = synthetic_fleet(
            spark,
            size.groups,
            members=size.members,
            topics=size.topics,
            topics_per_group=size.topics_per_group,
            pattern_share=0,
            asymmetric_share=0,
        )
        members = made.members.select("cluster", "group_id", "member_id", "group_instance_id", "topics")
        # Few numbers, so that the sort moves few columns to the front: any order will do that mixes the groups.
        mixed = members.withColumn("place", F.xxhash64("group_id", "member_id"))
        mixed = mixed.repartitionByRange(FILES, "place").sortWithinPartitions("place").drop("place")
        mixed.write.parquet(str(here / "members"))
        made.topics.select("cluster", "topic", "partitions").coalesce(1).write.parquet(str(here / "topics"))
    return Written(size, spark.read.parquet(str(here / "topics")), spark.read.parquet(str(here / "members")))


def checksum(answer: DataFrame) -> Checksum:
    """Of the columns of `schemas.ASSIGNMENTS`."""
    hashed = F.xxhash64("cluster", "group_id", "member_id", "topic", "start", "count").cast("decimal(20,0)")
    row = answer.agg(F.count("*").alias("rows"), F.sum(hashed).alias("hashes")).first()
    assert row is not None
    return Checksum(row["rows"], row["hashes"])


def right_answer(given: Written, assignor: str = "range") -> Checksum:
    """What every implementation has to answer: what `Fleet.assign()` does, a sample of which is compared with `assign`.

    Raises:
        WrongAnswerError: The two differ.
    """
    ids = [row["group_id"] for row in given.members.select("group_id").distinct().orderBy("group_id").take(SAMPLE)]
    chosen = given.members.where(F.col("group_id").isin(ids)).withColumn("subscription", F.xxhash64("topics"))
    alike = chosen.groupBy("subscription").agg(F.first("topics").alias("topics")).collect()
    topics = {row["subscription"]: row["topics"] for row in alike}
    members: dict[str, dict[str, Subscription]] = {}
    for row in chosen.select("group_id", "member_id", "group_instance_id", "subscription").collect():
        subscription = Subscription(topics[row["subscription"]], group_instance_id=row["group_instance_id"])
        members.setdefault(row["group_id"], {})[row["member_id"]] = subscription
    partitions = {row["topic"]: row["partitions"] for row in given.topics.collect()}
    expected = sorted(
        run for group_id, of_group in members.items() for run in _runs(group_id, of_group, partitions, assignor)
    )
    answer = given.fleet(assignor).assign()
    found = answer.where(F.col("group_id").isin(ids)).drop("cluster").collect()
    if expected != sorted(map(tuple, found)):
        raise WrongAnswerError(f"Fleet.assign() and assign differ on {given.size.name}")
    return checksum(answer)


def _runs(
    group_id: str, members: Mapping[str, Subscription], partitions: Mapping[str, int], assignor: str
) -> Iterable[Run]:
    for member_id, owned in assign(partitions, members, assignor=assignor).items():
        runs: list[tuple[str, int, int]] = []
        for topic, id in owned:
            if runs and (topic, id) == (runs[-1][0], sum(runs[-1][1:])):
                runs[-1] = (topic, runs[-1][1], runs[-1][2] + 1)
            else:
                runs.append((topic, id, 1))
        for run in runs:
            yield group_id, member_id, *run
