"""Synthetic fleets for the benchmarks on Spark, which are written once as Parquet, and their right answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pyspark.sql import functions as F

from assignor import Subscription, assign
from assignor.names import AssignorName
from assignor.spark import Fleet
from assignor.spark.synthetic import synthetic_fleet
from benches.checks import require

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 4
"""Number of files of members. Members are sorted by a hash, so members of different groups are mixed in each file."""

SAMPLE = 10
"""Number of groups that are compared with `assign`, row by row."""

Span = tuple[str, str, str, int, int]
"""Group, member, topic, first partition and number of partitions."""


class Checksum(NamedTuple):
    """Checksum of an answer, independent of the order of rows."""

    rows: int
    hashes: Any


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a fleet; `topics` is the number of topics of its only cluster."""

    groups: int
    members: int
    topics_per_group: int
    topics: int = 2000

    @property
    def name(self) -> str:
        """Name in tables: groups x members x topics of a group."""
        return f"{self.groups:,} x {self.members:,} x {self.topics_per_group:,}"


@dataclass(frozen=True, slots=True)
class Written:
    """Fleet that is stored in files."""

    size: Size
    topics: DataFrame
    members: DataFrame

    def fleet(self, assignor: str = "range") -> Fleet:
        """Return the fleet; all its groups use one assignor of the classic protocol."""
        named = self.members if assignor == "range" else self.members.withColumn("assignor", F.lit(assignor))
        return Fleet(self.topics, named)


def written(spark: SparkSession, folder: Path, size: Size) -> Written:
    """Write a fleet if its files do not exist yet, and return it.

    All members of a group subscribe to the same topics by name, a tenth of the members is static, and there are no
    racks.
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
        # Any order that mixes the groups will do; sorting by one number is cheap.
        mixed = members.withColumn("place", F.xxhash64("group_id", "member_id"))
        mixed = mixed.repartitionByRange(FILES, "place").sortWithinPartitions("place").drop("place")
        mixed.write.parquet(str(here / "members"))
        made.topics.select("cluster", "topic", "partitions").coalesce(1).write.parquet(str(here / "topics"))
    return Written(size, spark.read.parquet(str(here / "topics")), spark.read.parquet(str(here / "members")))


def checksum(answer: DataFrame) -> Checksum:
    """Return the checksum of an answer with the columns of `schemas.ASSIGNMENTS`."""
    hashed = F.xxhash64("cluster", "group_id", "member_id", "topic", "start", "count").cast("decimal(20,0)")
    row = answer.agg(F.count("*").alias("rows"), F.sum(hashed).alias("hashes")).first()
    assert row is not None
    return Checksum(row["rows"], row["hashes"])


def right_answer(given: Written, assignor: str = "range") -> Checksum:
    """Return the checksum of the answer of `Fleet.assign()`, after a sample of it is compared with `assign`.

    Raises:
        WrongAnswerError: The sample differs.
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
        span for group_id, of_group in members.items() for span in _spans(group_id, of_group, partitions, assignor)
    )
    answer = given.fleet(assignor).assign()
    found = answer.where(F.col("group_id").isin(ids)).drop("cluster").collect()
    require(expected == sorted(map(tuple, found)), f"Fleet.assign() and assign differ on {given.size.name}")
    return checksum(answer)


def _spans(
    group_id: str, members: Mapping[str, Subscription], partitions: Mapping[str, int], assignor: str
) -> Iterable[Span]:
    for member_id, owned in assign(partitions, members, assignor=cast(AssignorName, assignor)).items():
        spans: list[tuple[str, int, int]] = []
        for topic, id in owned:
            if spans and (topic, id) == (spans[-1][0], sum(spans[-1][1:])):
                spans[-1] = (topic, spans[-1][1], spans[-1][2] + 1)
            else:
                spans.append((topic, id, 1))
        for span in spans:
            yield group_id, member_id, *span
