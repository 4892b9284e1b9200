"""Fleets as plain rows: random fleets, and the assignment of each group alone by member."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tests.fleet import single_group
from tests.fleet.single_group import read_group

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from assignor.spark import Fleet
    from tests.fleet.single_group import Group

TOPICS = pa.schema(
    [
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("partitions", pa.int32()),
        ("racks", pa.list_(pa.list_(pa.string()))),
    ]
)
MEMBERS = pa.schema(
    [
        *((name, pa.string()) for name in ("cluster", "group_id", "member_id", "group_instance_id", "rack")),
        ("topics", pa.list_(pa.string())),
        *((name, pa.string()) for name in ("pattern", "dialect", "assignor", "group_protocol")),
        ("generation", pa.int32()),
    ]
)
ASSIGNMENTS = pa.schema(
    [
        *((name, pa.string()) for name in ("cluster", "group_id", "member_id", "topic")),
        ("start", pa.int32()),
        ("count", pa.int32()),
    ]
)

Row = dict[str, Any]
Owned = dict[tuple[Any, Any], dict[str, list[tuple[str, int]]]]
"""Partitions by (cluster, group) and member; members without partitions are omitted."""

RACKS = ["r0", "r1", "r2", None]
PATTERNS = [("java", "orders.*"), ("re2j", ".*-eu"), ("librdkafka", "^pay"), ("python", "ord"), ("java", "nothing")]


def draw(groups: int, seed: int) -> tuple[list[Row], list[Row]]:
    """Return topics of three clusters, and the members of `groups` groups: random valid input with rare features."""
    dice = random.Random(seed)
    topics: list[Row] = [
        {"cluster": cluster, "topic": f"{kind}-{number}{end}", "partitions": count, "racks": _racks(dice, count)}
        for cluster in ("eu", "us", "größe")
        for kind in ("orders", "payments", "\U0001f600" if cluster == "größe" else "mail")
        for number in range(6)
        for end in ("", "-eu")
        for count in [dice.choice([0, 1, 2, 3, 7, 12, 12, 50])]
    ]
    topics = [topic for topic in topics if topic["topic"].isascii() or topic["cluster"] == "größe"]
    members = [row for number in range(groups) for row in _members(dice, f"group-{number}", topics)]
    return topics, members


def _racks(dice: random.Random, count: int) -> list[list[str | None]] | None:
    if dice.random() < 0.5:
        return None
    return [dice.choices(RACKS, k=dice.randint(0, 3)) for _ in range(count)]


def _members(dice: random.Random, group_id: str, topics: list[Row]) -> Iterable[Row]:
    cluster = dice.choice(["eu", "us", "größe", "unknown"])
    names = [topic["topic"] for topic in topics if topic["cluster"] == cluster] + ["gone"]
    # Patterns match only valid topic names, and the topics of the third cluster have invalid ones.
    may_have_patterns = cluster in ("eu", "us") and dice.random() < 0.3
    subscriptions = [dice.sample(names, dice.randint(0, min(len(names), 14))) for _ in range(dice.randint(1, 3))]
    for number in range(dice.choice([1, 1, 2, 3, 5, 8, 20])):
        row: Row = {"cluster": cluster, "group_id": group_id, "member_id": f"{dice.choice('abé')}-{number}"}
        row["group_instance_id"] = (
            f"static-{number // 2 if dice.random() < 0.1 else number}" if dice.random() < 0.3 else None
        )
        row["rack"] = dice.choice([*RACKS, "", "elsewhere"])
        row["topics"], row["pattern"], row["dialect"] = dice.choice(subscriptions), None, None
        if may_have_patterns and dice.random() < 0.5:
            row["dialect"], row["pattern"] = dice.choice(PATTERNS)
            row["topics"] = None
        yield row


def table(rows: Iterable[Row], schema: pa.Schema) -> pa.Table:
    """Return rows as a table."""
    return pa.Table.from_pylist(list(rows), schema=schema)


def fleet(
    spark: SparkSession, topics: Iterable[Row], members: Iterable[Row], current: Iterable[Row] | None = None
) -> Fleet:
    """Return a fleet of these rows."""
    from assignor.spark import Fleet

    frame = spark.createDataFrame
    current_frame = None if current is None else frame(table(current, ASSIGNMENTS))
    return Fleet(frame(table(topics, TOPICS)), frame(table(members, MEMBERS)), current_frame)


def rows(frame: DataFrame) -> list[Row]:
    """Return the rows of a DataFrame."""
    found: list[Row] = frame.toArrow().to_pylist()
    return found


def assigned(topics: Iterable[Row], members: Iterable[Row], current: Iterable[Row] = ()) -> Owned:
    """Return the answers of `assign`, called for each group with its assignor."""
    return owned(
        {"cluster": group.row["cluster"], "group_id": group.row["group_id"], **span}
        for group in groups(topics, members, current)
        for span in single_group.assignment(group)
    )


def owned(spans: Iterable[Row]) -> Owned:
    """Return the partitions of spans; a partition in two spans of a member occurs twice."""
    found: Owned = defaultdict(lambda: defaultdict(list))
    for row in spans:
        ids = range(row["start"], row["start"] + row["count"])
        found[row["cluster"], row["group_id"]][row["member_id"]].extend((row["topic"], number) for number in ids)
    return {group: {member: sorted(ids) for member, ids in of_group.items()} for group, of_group in found.items()}


def groups(topics: Iterable[Row], members: Iterable[Row], current: Iterable[Row] = ()) -> list[Group]:
    """Return the groups, from which the tests of `tests/fleet` compute the answers of each method."""
    clusters: dict[str, list[Row]] = defaultdict(list)
    for row in topics:
        clusters[row["cluster"]].append(row)
    found: dict[tuple[str, str], Row] = {}
    for column, rows in (("members", members), ("current", current)):
        for row in rows:
            cluster, group_id = row["cluster"], row["group_id"]
            empty: Row = {"cluster": cluster, "group_id": group_id, "members": [], "current": []}
            found.setdefault((cluster, group_id), empty)[column].append(row)
    known = [{"cluster": cluster, "topics": rows} for cluster, rows in clusters.items()]
    return [read_group(row, known) for row in found.values()]
