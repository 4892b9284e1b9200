"""Traffic of the groups of a live cluster, from two descriptions of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.cluster.description import OWNERS, table_of_rows
from assignor.lag import TIMED_END_OFFSETS
from assignor.report.traffic import group_traffic
from assignor.traffic import COMMITS, partition_traffic

if TYPE_CHECKING:
    from assignor.cluster.cluster_description import ClusterDescription
    from assignor.report.traffic import GroupTraffic


def described_traffic(earlier: ClusterDescription, later: ClusterDescription) -> dict[str, GroupTraffic]:
    """Return the traffic of each group that has members with partitions, and committed offsets.

    Two measurements show the rate between them, and are too few to judge whether it is uneven
    (`assignor.traffic.MIN_MEASUREMENTS`).

    Args:
        earlier: A description of the cluster.
        later: A later one, whose owners have the traffic.
    """
    commits: dict[tuple[Any, ...], int | None] = {}
    ends: dict[tuple[Any, ...], int | None] = {}
    for description in (earlier, later):
        for group, rows in description.partitions.items():
            at = description.read_at[group]
            for row in rows:
                place = (row["topic"], row["partition"])
                commits[group, *place, at] = row["committed"]
                ends[at, *place, None] = row["end_offset"]
    owners = [
        (group.group_id, *place, member)
        for group in later.groups
        for place, members in group.owners().items()
        for member in members
    ]
    owned = table_of_rows(owners, OWNERS)
    measured = partition_traffic(
        table_of_rows([(*key[:3], committed, key[3]) for key, committed in sorted(commits.items())], COMMITS),
        table_of_rows([(*key, end) for key, end in ends.items()], TIMED_END_OFFSETS),
        partitions=owned.select(["group_id", "topic", "partition"]),
    )
    ids = {group.group_id: [member.member_id for member in group.members] for group in later.groups}
    return group_traffic(measured, owned, ids)[0]
