"""Fleets drawn at random: groups of every kind in three clusters, with commits and end offsets over time."""

from __future__ import annotations

import base64
import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from assignor.spark import Fleet

Row = dict[str, Any]

CLUSTERS = ("east", "west", "")
"""Topics of `west` have racks, ids and weights. There are no end offsets of the cluster without a name."""

KINDS = (
    *((name, "classic") for name in ("range", "range", "roundrobin", "sticky", "cooperative-sticky")),
    *((None, None), ("range", None), ("stream", None), ("mine", "classic")),
    *((name, "consumer") for name in (None, "uniform", "range", "mine")),
    ("simple", "share"),
)
"""Names of assignor and group protocol in the rows of a group; Kafka has no assignor `mine` or `stream`."""

CLIENTS = (
    *(("consumer-{group}-1", None, None), ("rdkafka", None, None), ("kafka-python-2.0.2", None, None)),
    *(("app", "java", "3.4+"), ("app", "java", "4.1.0"), ("app", "librdkafka", "2.12.1"), ("app", "sarama", None)),
    ("app", None, None),
)
"""Client id, library and version of members."""

PATTERNS = (
    *(("^t1.*", "java"), ("t[0-3]", "java"), ("^t2", "librdkafka"), ("^t.*", "librdkafka"), ("t1", "python")),
    *((r"^(t)\1?1$", "librdkafka"), (r"^(t)\1?1.*", "python")),
)
"""Patterns and their dialects; brokers reject the last two."""

RACKS = ("r0", "r1", "r2")
TOPICS, MAX_PARTITIONS, MAX_MEMBERS = 24, 9, 7
STEP_MS, STEPS = 10_000, 8


@dataclass
class DrawnGroup:
    """Rows of a group.

    Attributes:
        members: Rows of members; one without a member id stands for a group without members.
        current: Spans that members own; some owners have no row.
        committed: Commits over time, by partition and time.
    """

    cluster: str
    group_id: str
    members: list[Row] = field(default_factory=list)
    current: list[Row] = field(default_factory=list)
    committed: list[Row] = field(default_factory=list)

    @property
    def key(self) -> Row:
        """Return the columns that identify the group."""
        return {"cluster": self.cluster, "group_id": self.group_id}


@dataclass
class DrawnFleet:
    """Groups, and by cluster the topics and the end offsets."""

    groups: list[DrawnGroup]
    topics: dict[str, list[Row]]
    ends: dict[str, list[Row]]

    def fleet(self, spark: SparkSession) -> Fleet:
        """Return the fleet."""
        from pyspark.sql.types import ArrayType, StringType, StructField, StructType

        from assignor.spark import Fleet, schemas

        topics = StructType([*schemas.TOPICS.fields, *schemas.TOPIC_WEIGHTS.fields])
        patterns = StructField("pattern", ArrayType(StringType()))
        members = StructType([patterns if each.name == "pattern" else each for each in schemas.MEMBERS.fields])
        return Fleet(
            frame(spark, (row for rows in self.topics.values() for row in rows), topics),
            frame(spark, (row for group in self.groups for row in group.members), members),
            frame(spark, (row for group in self.groups for row in group.current), schemas.ASSIGNMENTS),
        )

    def offsets(self, spark: SparkSession) -> tuple[DataFrame, DataFrame]:
        """Return the commits and the end offsets over time."""
        from assignor.spark import schemas

        committed = (row for group in self.groups for row in group.committed)
        ends = (row for rows in self.ends.values() for row in rows)
        return frame(spark, committed, schemas.TIMED_COMMITTED), frame(spark, ends, schemas.TIMED_END_OFFSETS)


def frame(spark: SparkSession, rows: Iterable[Row], schema: StructType) -> DataFrame:
    """Return rows as a DataFrame."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return spark.createDataFrame(pa.Table.from_pylist(list(rows), to_arrow_schema(schema)), schema)


def drawn_fleet(groups: int, seed: int) -> DrawnFleet:
    """Draw a fleet."""
    rng = random.Random(seed)
    topics = {cluster: [_topic(rng, cluster, number) for number in range(TOPICS)] for cluster in CLUSTERS}
    # Groups of different clusters have equal ids.
    drawn = [_group(rng, CLUSTERS[number % 3], f"g{number // 3}", topics) for number in range(groups)]
    return DrawnFleet(drawn, topics, {cluster: _ends(rng, cluster, topics[cluster]) for cluster in CLUSTERS[:2]})


def _topic(rng: random.Random, cluster: str, number: int) -> Row:
    count = rng.randint(1, MAX_PARTITIONS)
    row = {"cluster": cluster, "topic": f"t{number}", "partitions": count, "racks": None, "weights": None}
    if cluster == "west":
        id = UUID(int=rng.getrandbits(128)).bytes
        row["topic_id"] = rng.choice([None, base64.urlsafe_b64encode(id).decode().rstrip("=")])
        if rng.random() < 0.7:
            row["racks"] = [rng.sample(RACKS, rng.randint(0, 2)) for _ in range(count)]
        if rng.random() < 0.8:
            row["weights"] = [rng.choice([0.0, 1.5, rng.uniform(0, 100)]) for _ in range(count)]
    return row


def _group(rng: random.Random, cluster: str, group_id: str, topics: dict[str, list[Row]]) -> DrawnGroup:
    found = DrawnGroup(cluster, group_id)
    names = [row["topic"] for row in rng.sample(topics[cluster], rng.randint(1, 3))]
    assignor, protocol = rng.choice(KINDS)
    size = rng.choice([0, 1, 1, 2, 2, 3, 4, MAX_MEMBERS])
    kind = {
        "assignor": assignor,
        "group_protocol": protocol,
        "generation": rng.choice([None, -1, 5]),
        "protocol_type": rng.choice([None, "consumer", "consumer", "consumer", "connect"]),
    }
    has_patterns, are_static, differ = (rng.random() < share for share in (0.2, 0.3, 0.2))
    usual = rng.choice(CLIENTS)
    for number in range(size):
        client, library, version = rng.choice([usual] * 9 + [*CLIENTS])
        # Sorted ids would hide a wrong order of the members.
        uuid = UUID(int=rng.getrandbits(128))
        row = {**found.key, **kind, "member_id": f"{client.format(group=group_id)}-{uuid}"}
        row |= {"library": library, "library_version": version, "rack": rng.choice([None, *RACKS])}
        row["conversion_problem"] = rng.choice([*[None] * 12, "user_data", "subscription", "assignment"])
        row["group_instance_id"] = f"i{9 - number}" if are_static and rng.random() < 0.7 else None
        row["topics"] = rng.sample(names, rng.randint(1, len(names))) if differ else [*names, *["gone"][number:]]
        if has_patterns and rng.random() < 0.7:
            pattern, row["dialect"] = rng.choice(PATTERNS)
            row |= {"topics": rng.choice([[], names]), "pattern": [pattern]}
        found.members.append(row)
    if not size and rng.random() < 0.5:
        found.members.append({**found.key, "member_id": None})
    owners = [row["member_id"] for row in found.members if row["member_id"]]
    # `ClassicGroup` has owners only as members.
    gone = ["gone"] if protocol in ("consumer", "share") or not owners else []
    has_owners, has_commits = rng.random() < 0.85, rng.random() < 0.85
    for row in topics[cluster]:
        if row["topic"] in names:
            found.current += _spans(rng, found, row, [*owners, *gone]) if has_owners else []
            found.committed += _commits(rng, found, row) if has_commits else []
    return found


def _spans(rng: random.Random, group: DrawnGroup, topic: Row, owners: list[str]) -> list[Row]:
    """Return spans of a topic; some partitions have no owner."""
    rows, start = [], 0
    while start < topic["partitions"]:
        count = rng.randint(1, topic["partitions"] - start)
        if rng.random() < 0.9:
            span = {"topic": topic["topic"], "start": start, "count": count}
            rows.append({**group.key, "member_id": rng.choice(owners), **span})
        start += count
    return rows


def _ends(rng: random.Random, cluster: str, topics: list[Row]) -> list[Row]:
    """Return end offsets over time; the last time differs between clusters."""
    rows = []
    for topic in topics:
        for partition in range(topic["partitions"]):
            rate, start = rng.choice([0, 7, 100]), rng.choice([None, 0, 3])
            place = {"cluster": cluster, "topic": topic["topic"], "partition": partition}
            for step in range(STEPS + len(cluster)):
                if rng.random() < 0.9:
                    end = rng.choice([rate * step + 9] * 9 + [None])
                    rows.append({**place, "at": STEP_MS * step, "start_offset": start, "end_offset": end})
    return rows


def _commits(rng: random.Random, group: DrawnGroup, topic: Row) -> list[Row]:
    """Return commits of a topic's partitions. Some are deleted, and some follow the last end offsets."""
    rows = []
    for partition in range(topic["partitions"]):
        rate, ahead = rng.choice([0, 5, 50, 100, 130]), rng.choice([0, 9])
        for step in range(STEPS + 6) if rng.random() < 0.8 else ():
            if rng.random() < 0.7:
                committed = rng.choice([rate * step + ahead] * 20 + [None, -1, 0])
                place = {"topic": topic["topic"], "partition": partition}
                rows.append({**group.key, **place, "at": STEP_MS * step - 3_000, "committed": committed})
    return rows


def by_topic(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return rows by their topic."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["topic"]].append(row)
    return found
