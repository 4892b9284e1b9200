"""Report from one description of a cluster by an Admin client, for users who may not read `__consumer_offsets`."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from assignor.cluster.cluster_description import without
from assignor.cluster.descriptions import REBALANCING
from assignor.findings import check
from assignor.lines import format_partitions, spans_of
from assignor.model import Subscription
from assignor.replay.polled_groups import polled_members
from assignor.report.described_traffic import described_traffic
from assignor.report.group_report import Compared, GroupReport, MemberReport
from assignor.report.lag import GroupLag
from assignor.report.migrations import described_migrations
from assignor.report.report import ADMIN, MOST_GROUPS_WITH_MEMBERS, Report

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from assignor.cluster.cluster_description import ClusterDescription
    from assignor.cluster.descriptions import GroupDescription
    from assignor.findings import Findings
    from assignor.replay.polled_groups import PolledMember

    Event = dict[str, Any]

_SEEN = "An Admin client described the group with this assignment; since when it has had it is not known."


def report_of(
    description: ClusterDescription,
    topics: pa.RecordBatch,
    at: int,
    *,
    since: int | None = None,
    earlier: ClusterDescription | None = None,
) -> Report:
    """Return the report on the groups of a description.

    Args:
        description: The groups with their lag.
        topics: Topic metadata that was read after the groups, with the columns of `topics.parquet`. Otherwise a
            partition that was added in between would seem not to exist.
        at: Time of the description in milliseconds.
        since: Time of `Report.since`.
        earlier: An earlier description, from which the traffic in between is known.
    """
    partitions: dict[str, list[int]] = defaultdict(list)
    for row in topics.select(["topic", "partition"]).to_pylist():
        partitions[row["topic"]].append(row["partition"])
    groups, members, undescribed = [], [], set()
    migrations = described_migrations(description, topics)
    traffic = {} if earlier is None else described_traffic(earlier, description)
    for group in description.groups:
        found = sorted(polled_members(group), key=lambda member: (member.client_id, member.id))
        if group.problem is not None or group.state in REBALANCING:
            undescribed.add(group.group_id)
            found = []
        lag = _lag(description, group.group_id, at)
        reported = _group(group, found, partitions, lag)
        reported = dataclasses.replace(
            reported,
            migration=migrations.get(group.group_id),
            traffic=None if group.group_id in undescribed else traffic.get(group.group_id),
        )
        groups.append(reported)
        members += [_member(group.group_id, each) for each in found]
    return Report(
        records=0,
        records_by_type={},
        bad_records=0,
        groups=tuple(groups),
        remarks=(),
        members=tuple(members) if len(groups) <= MOST_GROUPS_WITH_MEMBERS else (),
        since=since,
        mode=ADMIN,
        undescribed=frozenset(undescribed),
        problems=description.problems,
        notes=description.notes,
    )


def _group(
    group: GroupDescription,
    members: Sequence[PolledMember],
    partitions: Mapping[str, list[int]],
    lag: GroupLag | None,
) -> GroupReport:
    loads = [len(member.assigned) for member in members]
    owned = {place for member in members for place in member.assigned}
    topics = {topic for topic, _ in owned}
    wanted = topics | {topic for member in members for topic in member.topics}
    known = {topic: partitions[topic] for topic in wanted if topic in partitions}
    problems = check(
        {member.id: member.assigned for member in members},
        known,
        {member.id: Subscription(topics=member.topics) for member in members},
    )
    unowned = [(place.topic, place.partition) for place in problems.unowned]
    return GroupReport(
        group=group.group_id,
        kind=group.kind,
        state=group.state,
        protocol=group.protocol or None,
        generation=None,
        members=len(members),
        topics=len(topics),
        partitions=len(owned),
        unowned=len(unowned) if known or not members else None,
        idle_members=loads.count(0),
        least_loaded=min(loads, default=None),
        most_loaded=max(loads, default=None),
        range_generations=Compared(),
        rebalances=0,
        busiest_minute=0,
        bad_records=0,
        events=tuple(_wrong_owners(problems, known, can_share=group.kind == "share")),
        unowned_spans=tuple(spans_of(sorted(unowned))),
        lag=lag,
    )


def _wrong_owners(found: Findings, known: Mapping[str, list[int]], *, can_share: bool) -> Iterator[Event]:
    """Yield the problems with owners as events.

    Args:
        found: What is wrong with the owners.
        known: Partitions of the topics that this client may describe; another topic is not unknown.
        can_share: Whether a partition may have several owners, as in share groups.
    """
    problems = {
        "two_owners": [] if can_share else sorted(set(found.doubly_owned)),
        "not_subscribed": sorted({place for _, place in found.not_subscribed}),
        "unknown_partition": sorted({place for _, place in found.unknown if place.topic in known}),
    }
    for problem, places in problems.items():
        if places:
            yield {
                "event": "offsets",
                "problem": problem,
                "topic_partitions": [{"topic": place.topic, "partition": place.partition} for place in places],
                "evidence": f"{format_partitions(places)}. {_SEEN}",
                "since": None,
                "until": None,
            }


def _lag(description: ClusterDescription, group: str, at: int) -> GroupLag | None:
    sums = description.lag.get(group)
    if sums is None:
        return None
    rows = description.partitions.get(group, ())
    beyond, before = (
        tuple(spans_of(sorted({(row["topic"], row["partition"]) for row in rows if row["problem"] == problem})))
        for problem in ("beyond_end", "before_start")
    )
    deleted = {(row["topic"], row["partition"]): row["deleted"] or 0 for row in rows}
    members = [row for (name, _), row in description.member_lag.items() if name == group]
    rows_of = {"topics": description.topic_lag.get(group, []), "members": members}
    times = {name: [without(row, "group_id") for row in found] for name, found in rows_of.items()}
    return GroupLag(at, {**without(sums, "group_id"), **times}, (beyond, before), sum(deleted.values()))


def _member(group: str, member: PolledMember) -> MemberReport:
    return MemberReport(group, member.id, member.instance, member.client_id, tuple(spans_of(member.assigned)))
