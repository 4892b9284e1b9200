"""Tables of a page, computed from events and rows of a report: each number of the page is in one of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assignor.page.timeline import LAST_TIME, STEPS_MS, Timeline
from assignor.page.what_if import what_ifs
from assignor.report.findings import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assignor.page.data import MemberRow, PageData, Row

MOST_GROUPS = 40
"""Largest number of groups that a page shows: those with the most severe findings, then with the most rebalances."""

MOST_MEMBERS = 60
"""Largest number of members of a group that a page lists: half have the most partitions, half the fewest."""

MOST_FINDINGS = 1_000
"""Largest number of findings that a page lists."""

MOST_LAG_POINTS = 1_500
"""Largest number of points of lag over time, unless one time bin has more."""

MOST_LAG_ROWS = 1_500
"""Largest number of partitions with lag that a page lists: those with the highest lag."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of a page.

    Attributes:
        since: Start of the time range in milliseconds.
        until: End of the time range in milliseconds.
        step: Length of a time bin in milliseconds.
        total: Totals of all groups, also of those that are not shown: `groups`, `rebalances`, `storms`, `findings`,
            `records` (None if not known).
        shown: Groups that the page shows, in the order that `MOST_GROUPS` states.
        causes: Most likely cause to the number of rebalances of the groups that are shown, the most frequent first.
        groups: A row per group that is shown, as in `report.json`, with its number of rebalances.
        findings: A row per finding, the most severe first.
        rebalances: A row per group, time bin and cause.
        storms: A row per storm.
        members: A row per member with its load.
        what_if: A row per group and what-if.
        what_if_members: A row per member with its load now and after.
        lag: A row per partition; None if lag is not known.
        lag_of_topics: A row per group and topic with the sum of the lag.
        lag_over_time: A row per group and time bin with the time and the size of the highest lag in the bin: `start`,
            `end` (a millisecond later) and `lag`.
        lag_step: Length of these time bins in milliseconds.
        severities: Number of findings by severity.
        left_out: Counts of rows that the page does not list, by name of the table.
    """

    since: int
    until: int
    step: int
    total: dict[str, int | None]
    shown: list[str]
    causes: dict[str, int]
    groups: list[Row]
    findings: list[Row]
    rebalances: list[Row]
    storms: list[Row]
    members: list[Row]
    what_if: list[Row]
    what_if_members: list[Row]
    lag: list[Row] | None
    lag_of_topics: list[Row]
    lag_over_time: list[Row]
    lag_step: int
    severities: dict[str, int]
    left_out: dict[str, int]


def tables(data: PageData, timeline: Timeline | None = None) -> Tables:
    """Compute the tables of a page.

    Args:
        data: Events and rows.
        timeline: Counts of earlier events, to which those of `data` are added.
    """
    timeline = timeline or Timeline()
    timeline.add(data.events)
    reported = {str(row["group"]): row for row in data.groups}
    shown = _shown(timeline, reported, data.findings)
    names = set(shown)
    lags = [] if data.lag_over_time is None else _known_lags(data.lag_over_time(shown))
    times = [data.since, data.until, timeline.since, timeline.until, *(row["at"] for row in lags)]
    since = min((each for each in times if each is not None), default=0)
    until = max((each for each in times if each is not None), default=since)
    step, rebalances = timeline.rows(names, since, until)
    findings = sorted(data.findings, key=lambda row: SEVERITIES.index(row["severity"]))
    storms = timeline.storms(names)
    by_group: dict[str, list[MemberRow]] = {}
    for member in data.members(shown):
        by_group.setdefault(member.group, []).append(member)
    summaries: list[Row] = []
    loads: list[Row] = []
    for group in shown:
        if group in reported:
            found, rows = what_ifs(reported[group], by_group.get(group, ()), data.topics)
            summaries += found
            loads += _cut(rows, lambda row: max(row["now"] or 0, row["less"] or 0, row["more"] or 0))
    members = [row for group in shown for row in _members(by_group.get(group, ()))]
    lag = None if data.lag is None else _lag(data.lag(shown), by_group)
    of_topics = _of_topics(lag or ())
    lag_step, points = _lag_points(lags, step)
    left_out = {
        "groups": len({*timeline.rebalances, *reported}) - len(shown),
        "rebalances": sum(count for group, count in timeline.rebalances.items() if group not in names),
        "findings": max(0, len(findings) - MOST_FINDINGS),
        "storms": timeline.count_storms() - len(storms),
        "members": sum(len(found) for found in by_group.values()) - len(members),
        "lag": max(0, len(lag or ()) - MOST_LAG_ROWS),
        "lag_of_topics": max(0, len(of_topics) - MOST_LAG_ROWS),
    }
    return Tables(
        since=since,
        until=until,
        step=step,
        total={
            "records": data.records,
            "groups": left_out["groups"] + len(shown),
            "rebalances": timeline.rebalances.total(),
            "storms": timeline.count_storms(),
            "findings": len(findings),
        },
        shown=shown,
        causes=_causes(rebalances),
        groups=[_group(group, reported.get(group, {}), timeline) for group in shown],
        findings=[dict(row) for row in findings[:MOST_FINDINGS]],
        rebalances=rebalances,
        storms=storms,
        members=members,
        what_if=summaries,
        what_if_members=loads,
        lag=lag if lag is None else lag[:MOST_LAG_ROWS],
        lag_of_topics=of_topics[:MOST_LAG_ROWS],
        lag_over_time=points,
        lag_step=lag_step,
        severities={name: sum(row["severity"] == name for row in findings) for name in SEVERITIES},
        left_out=left_out,
    )


def _shown(
    timeline: Timeline, reported: Mapping[str, Mapping[str, Any]], findings: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Return the groups that the page shows: by most severe finding, then by rebalances, then by name."""
    worst: dict[str, int] = {}
    for row in findings:
        severity = SEVERITIES.index(row["severity"])
        worst[row["group"]] = min(worst.get(row["group"], len(SEVERITIES)), severity)

    def rank(group: str) -> tuple[int, int, str]:
        return worst.get(group, len(SEVERITIES)), -timeline.rebalances[group], group

    return sorted({*timeline.rebalances, *reported}, key=rank)[:MOST_GROUPS]


def _causes(rebalances: Iterable[Row]) -> dict[str, int]:
    found = Counter[str]()
    for row in rebalances:
        found[row["cause"]] += row["rebalances"]
    return dict(found.most_common())


def _group(name: str, row: Mapping[str, Any], timeline: Timeline) -> Row:
    fields = ("kind", "state", "protocol", "generation", "members", "partitions", "unowned")
    return {"group": name, "rebalances": timeline.rebalances[name], **{field: row.get(field) for field in fields}}


def _members(members: Sequence[MemberRow]) -> list[Row]:
    rows = [
        {
            "group": member.group,
            "member": member.name,
            "member_id": member.member_id,
            "host": member.client_host.removeprefix("/"),
            "topics": len({topic for topic, _, _ in member.spans}),
            "partitions": member.partitions,
        }
        for member in members
    ]
    return _cut(rows, lambda row: row["partitions"])


def _cut(rows: list[Row], load: Any) -> list[Row]:
    """Return the rows in descending order of their load; if there are many, the first and the last ones."""
    rows = sorted(rows, key=lambda row: (-load(row), row["member"], row["member_id"]))
    if len(rows) <= MOST_MEMBERS:
        return rows
    half = MOST_MEMBERS // 2
    return [*rows[:half], *rows[-half:]]


def _lag(rows: Iterable[Mapping[str, Any]], members: Mapping[str, Sequence[MemberRow]]) -> list[Row]:
    """Return the rows with the highest lag first; those whose lag is not known are last."""
    names = {(group, member.member_id): member.name for group, found in members.items() for member in found}
    fields = ("group", "topic", "partition", "lag", "committed", "end_offset", "member_id", "problem")
    return sorted(
        (
            {
                **{name: row[name] for name in fields},
                "member": names.get((row["group"], row["member_id"]), row["member_id"]),
            }
            for row in rows
        ),
        key=lambda row: (row["lag"] is None, -(row["lag"] or 0), row["group"], row["topic"], row["partition"]),
    )


def _of_topics(rows: Iterable[Row]) -> list[Row]:
    """Return the sum of the lag by group and topic, the highest first; a partition with two owners counts once."""
    partitions = {(row["group"], row["topic"], row["partition"]): row["lag"] for row in rows}
    found: dict[tuple[str, str], Row] = {}
    for (group, topic, _), lag in partitions.items():
        row = found.setdefault(
            (group, topic), {"group": group, "topic": topic, "lag": 0, "partitions": 0, "not_known": 0}
        )
        row["lag"] += lag or 0
        row["partitions"] += 1
        row["not_known"] += lag is None
    return sorted(found.values(), key=lambda row: (-row["lag"], row["group"], row["topic"]))


def _known_lags(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows with a known lag and a time between 1970 and 9999."""
    return [row for row in rows if row["lag"] is not None and 0 < row["at"] <= LAST_TIME]


def _lag_points(rows: Sequence[Mapping[str, Any]], step: int) -> tuple[int, list[Row]]:
    """Return the length of the time bins, at least `step`, and the highest lag of each group in each bin."""
    for length in STEPS_MS[STEPS_MS.index(step) :]:
        highest: dict[tuple[str, int], Mapping[str, Any]] = {}
        for row in rows:
            key = (row["group"], row["at"] // length)
            if key not in highest or highest[key]["lag"] < row["lag"]:
                highest[key] = row
        if len(highest) <= MOST_LAG_POINTS:
            break
    found = sorted(highest.values(), key=lambda row: (row["at"], row["group"]))
    return length, [
        {"group": row["group"], "start": row["at"], "end": row["at"] + 1, "lag": row["lag"]} for row in found
    ]
