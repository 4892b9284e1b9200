"""Fleets as plain rows: random fleets, the answers of `assign` for each group, and assignments by member."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assignor import PartitionInfo, Subscription, TopicPartition, assign
from tests.fleet.single_group import read_group

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
        ("pattern", pa.string()),
        ("dialect", pa.string()),
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


def partitions_per_topic(topics: Iterable[Row]) -> dict[str, dict[str, int | list[PartitionInfo]]]:
    """Return the argument `partitions_per_topic` of `assign` for each cluster."""
    found: dict[str, dict[str, int | list[PartitionInfo]]] = defaultdict(dict)
    for row in topics:
        racks = row.get("racks")
        partitions = (
            [PartitionInfo(number, tuple(on)) for number, on in enumerate(racks)] if racks else row["partitions"]
        )
        found[row["cluster"]][row["topic"]] = partitions
    return found


def subscriptions(
    members: Iterable[Row], current: Iterable[Row] = ()
) -> dict[tuple[str, str], dict[str, Subscription]]:
    """Return the subscriptions of each (cluster, group) for `assign`, with members in the order of their ids."""
    owned_by: dict[tuple[str, str, str], list[TopicPartition]] = defaultdict(list)
    for row in current:
        ids = range(row["start"], row["start"] + row["count"])
        owner = (row["cluster"], row["group_id"], row["member_id"])
        owned_by[owner] += [TopicPartition(row["topic"], id) for id in ids]
    found: dict[tuple[str, str], dict[str, Subscription]] = defaultdict(dict)
    for row in sorted(members, key=lambda row: str(row["member_id"]).encode("utf-16-be")):
        pattern = {"pattern": row["pattern"], "dialect": row["dialect"] or "java"} if row.get("pattern") else {}
        found[row["cluster"], row["group_id"]][row["member_id"]] = Subscription(
            topics=row.get("topics") or (),
            group_instance_id=row.get("group_instance_id"),
            rack=row.get("rack"),
            owned_partitions=tuple(owned_by[row["cluster"], row["group_id"], row["member_id"]]),
            generation=row.get("generation"),
            **pattern,
        )
    return found


def assignors(members: Iterable[Row]) -> dict[tuple[str, str], tuple[str, str | None]]:
    """Return the protocol and the assignor that the rows name, by cluster and group."""
    return {
        (row["cluster"], row["group_id"]): (row.get("group_protocol") or "classic", row.get("assignor"))
        for row in members
    }


def assigned(topics: Iterable[Row], members: Sequence[Row], current: Iterable[Row] = ()) -> Owned:
    """Return the answers of `assign`, called for each group with its assignor; omit groups under `stream`."""
    topics = list(topics)
    of_clusters = partitions_per_topic(topics)
    ids = {row["topic"]: row["topic_id"] for row in topics if row.get("topic_id")}
    named = assignors(members)
    found: Owned = {}
    for (cluster, group_id), of_group in subscriptions(members, current).items():
        protocol, name = named[cluster, group_id]
        if name == "stream":
            continue
        answer = assign(of_clusters.get(cluster, {}), of_group, assignor=name, group_protocol=protocol, topic_ids=ids)
        # Plain tuples, as in the result of `owned`.
        owned = {member: [(topic, number) for topic, number in ids] for member, ids in answer.items() if ids}
        found[cluster, group_id] = {member: sorted(ids) for member, ids in owned.items()}
    return {group: owned for group, owned in found.items() if owned}


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
