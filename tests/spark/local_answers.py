"""Answers of `Fleet` for one group of a drawn fleet, computed by the functions of the package for this group alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from assignor import PartitionInfo, Subscription, lag
from assignor.lag_time import TIMED_COMMITTED, lag_in_time
from assignor.migration import BrokerSettings, ClassicGroup, ClassicMember, Migration, migrate
from assignor.scaling import ScaledGroup, scale

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.spark.drawn_fleet import DrawnGroup, Row

COMPUTED: dict[str | None, tuple[str | None, ...]] = {
    None: (None, "range", "roundrobin", "sticky", "cooperative-sticky"),
    "classic": (None, "range", "roundrobin", "sticky", "cooperative-sticky"),
    "consumer": (None, "uniform", "range"),
    "share": (None, "simple"),
}
"""Kafka's assignors by group protocol."""


def migration(group: DrawnGroup, topics: list[Row], settings: BrokerSettings, *, later: bool) -> Migration | None:
    """Return the answer of `migrate` for a group; None if the group has no members or is not a classic one."""
    members = [row for row in group.members if row["member_id"] is not None]
    if not members or members[0]["group_protocol"] not in (None, "classic"):
        return None
    names = ("group_instance_id", "rack", "library", "library_version", "conversion_problem", "dialect")
    given = ClassicGroup(
        group.group_id,
        tuple(
            ClassicMember(
                row["member_id"],
                topics=tuple(row["topics"]),
                spans=tuple(
                    (span["topic"], span["start"], span["count"])
                    for span in group.current
                    if span["member_id"] == row["member_id"]
                ),
                pattern=tuple(row.get("pattern") or ()),
                **{name: row.get(name) for name in names},
            )
            for row in members
        ),
        members[0]["assignor"],
        members[0]["protocol_type"],
        generation=members[0]["generation"],
    )
    (found,) = migrate([given], topics, settings=settings, later=later)
    return found


def scaled(group: DrawnGroup, topics: list[Row], max_members: int | None) -> tuple[ScaledGroup, ...]:
    """Return the answer of `scale` for a group; nothing if the group has no members or its assignor is not Kafka's."""
    members = [row for row in group.members if row["member_id"] is not None]
    if not members or members[0]["assignor"] not in COMPUTED[members[0]["group_protocol"]]:
        return ()
    partitions: dict[str, Any] = {
        row["topic"]: row["partitions"]
        if row["racks"] is None
        else [PartitionInfo(id, tuple(racks)) for id, racks in enumerate(row["racks"])]
        for row in topics
    }
    owned: dict[str, list[tuple[str, int]]] = {}
    for span in group.current:
        ids = range(span["start"], span["start"] + span["count"])
        owned.setdefault(span["member_id"], []).extend((span["topic"], id) for id in ids)
    weights = {row["topic"]: row["weights"] for row in topics if row["weights"] is not None}
    found = scale(
        partitions,
        {
            row["member_id"]: Subscription(
                tuple(row["topics"]),
                row["group_instance_id"],
                row["rack"],
                generation=row["generation"],
                pattern=tuple(row.get("pattern") or ()) or None,
                dialect=row.get("dialect") or "java",
            )
            for row in members
        },
        max_members=max_members,
        assignor=members[0]["assignor"],
        group_protocol=members[0]["group_protocol"] or "classic",
        topic_ids={row["topic"]: row["topic_id"] for row in topics if row.get("topic_id")} or None,
        assignment=owned,
        weights=weights or None,
        group=group.group_id,
    )
    return found.counts


def time_lag(current: Iterable[Row], committed: Iterable[Row], ends: list[Row], last: int, window_ms: int) -> pa.Table:
    """Return the lag in time of the partitions of a group.

    Args:
        current: Spans that members own.
        committed: Commits, in the order of time.
        ends: End offsets of the partitions over time.
        last: Last time of the end offsets of the cluster.
        window_ms: As for `lag_in_time`.
    """
    commits = [row for row in committed if row["at"] <= last]
    latest = {(row["group_id"], row["topic"], row["partition"]): row for row in commits}
    key = [(name, lag.POSITIONS.field(name).type) for name in ("group_id", "topic", "partition")]
    owners = [{**row, "partition": id} for row in current for id in range(row["start"], row["start"] + row["count"])]
    positions = lag.join_owners(
        pa.Table.from_pylist(list(latest.values()), pa.schema([*key, ("committed", pa.int64())])),
        pa.Table.from_pylist(owners, pa.schema([*key, ("member_id", pa.string())])),
    )
    now = pa.Table.from_pylist([row for row in ends if row["at"] == last], lag.END_OFFSETS)
    tables = pa.Table.from_pylist(ends, lag.TIMED_END_OFFSETS), pa.Table.from_pylist(commits, TIMED_COMMITTED)
    return cast("pa.Table", lag_in_time(lag.partition_lag(positions, now), last, *tables, window_ms=window_ms))
