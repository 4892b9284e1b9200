"""Fleets as plain rows: groups with rare features, and the assignment of each group alone by member."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from tests.fleet import single_group
from tests.fleet.cases import FLEETS, GROUPS
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


class Tables(NamedTuple):
    """Rows of the tables of a fleet."""

    topics: list[Row]
    members: list[Row]
    current: list[Row]


def rare_features() -> Tables:
    """Return the groups with rare features of `tests/fleet/cases.py` in one fleet, each with a name of its own.

    Share groups whose members had partitions that do not exist are left out: Kafka's class fails on some scenarios.
    """
    found = Tables([], [], [])
    for cluster in FLEETS["clusters"].clusters:
        found.topics.extend({"cluster": cluster["cluster"], **row} for row in cluster["topics"])
    for name, groups_of_case in GROUPS.items():
        for number, row in enumerate(groups_of_case):
            fails = name == "share groups" and any((run["topic"], run["count"]) == ("u", 3) for run in row["current"])
            if name != "long runs" and not fails and None not in (row["cluster"], row["group_id"]):
                key = {"cluster": row["cluster"], "group_id": f"{name} {number}"}
                found.members.extend({**key, **member} for member in row["members"] if member)
                found.current.extend({**key, **run} for run in row["current"])
    return found


def small(*members: Row, cluster: str = "c") -> tuple[list[Row], list[Row]]:
    """Return two topics of a cluster, and these members of its group `g`."""
    topics = [
        {"cluster": cluster, "topic": "t", "partitions": 3, "racks": None},
        {"cluster": cluster, "topic": "u", "partitions": 2, "racks": None},
    ]
    named = {"cluster": cluster, "group_id": "g", "topics": ["t"]}
    return topics, [{**named, **member} for member in members]


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
