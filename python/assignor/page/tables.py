"""Tables of a page, computed from events and rows of a report: each number of the page is in one of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assignor.page.cost_rows import cost_rows
from assignor.page.data import read_rows
from assignor.page.rebalance_details import cut
from assignor.page.scales import scales
from assignor.page.task_rows import task_rows
from assignor.page.timeline import LAST_TIME, MOST_OTHER_ROWS, STEPS_MS, Timeline
from assignor.page.what_if import what_ifs
from assignor.report.findings import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from assignor.lag_time_sums import By
    from assignor.page.data import MemberRow, PageData, Row
    from assignor.page.rebalance_details import Details

FIRST_GROUPS = 40
"""Number of groups with short time bins and lag over time, and of rows of a chart with a row per group.

The first groups are those with the most severe findings, then those with the most rebalances.
"""

MOST_MEMBERS = 60
"""Largest number of members of a group that a page lists: half have the most partitions, half the fewest."""

MOST_MEMBER_ROWS = 4_000
"""Largest number of members that a page lists, and of members whose load it computes for a what-if."""

MOST_SCALE_ROWS = 1_000
"""Number of rows of groups by their number of members after which the other groups are not computed."""

MOST_MEMBERS_READ = 20_000
"""Largest number of members that are read for a page, unless the first groups have more."""

MOST_PARTITIONS_READ = 200_000
"""Largest number of partitions whose lag is read for a page, unless the first groups have more."""

MOST_REBALANCE_ROWS = 15_000
"""Largest number of rows of rebalances of other than the first groups."""

MOST_FINDINGS = 5_000
"""Largest number of findings that a page lists."""

MOST_FINDING_CHARACTERS = 600_000
"""Number of characters of the findings of a page after which the other findings have no evidence."""

MOST_DETAIL_CHARACTERS = 400_000
"""Number of characters of the details of rebalances after which the other rows only count their causes."""

MOST_LAG_POINTS = 1_500
"""Largest number of points of lag over time, unless one time bin has more."""

MOST_LAG_ROWS = 3_000
"""Largest number of partitions, groups, topics of groups and members whose lag a page lists: the highest ones."""

TABLES = (
    *("findings", "rebalances", "storms", "members", "what_if", "what_if_members", "scales", "lag_of_groups"),
    *("lag_of_topics", "lag_of_members", "lag", "lag_over_time", "tasks", "task_moves"),
    *("costs", "cost_parts", "groups"),
)
"""Fields of `Tables` that a page shows as a table of HTML."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Tables of a page.

    Attributes:
        since: Start of the time range in milliseconds.
        until: End of the time range in milliseconds.
        step: Length of a time bin in milliseconds.
        other_step: Length of the time bins of other than the first groups, a multiple of `step`.
        total: Totals: `groups`, `rebalances`, `storms`, `findings`, `records` (None if not known).
        shown: All groups: by most severe finding, then by rebalances, then by name.
        causes: Most likely cause to its number of rebalances, the most frequent first.
        groups: A row per group, as in `report.json`, with its number of rebalances.
        findings: A row per finding, the most severe first.
        rebalances: A row per group, time bin and cause; those of the `FIRST_GROUPS` first groups come first.
        totals: A row per time bin of the length `step` with the sums of all groups.
        storms: A row per storm.
        silences: A row per silence of the log.
        notes: Sentences on what is not known.
        members: A row per member with its load.
        what_if: A row per group and what-if.
        what_if_members: A row per member with its load now and after.
        scales: A row per group and number of members with the load.
        lag: A row per partition; None if lag is not known.
        lag_of_groups: A row per group with the sum of the lag, and the lag in time.
        lag_of_members: A row per member with the same.
        lag_of_topics: A row per group and topic with the sum of the lag.
        lag_over_time: A row per group and time bin with the time and the size of the highest lag in the bin: `start`,
            `end` (a millisecond later) and `lag`.
        lag_step: Length of these time bins in milliseconds.
        tasks: A row per process of a group that has tasks.
        task_moves: A row per generation that moves tasks or state.
        costs: A row per group with its cost of rebalances, the dearest first.
        cost_parts: A row per cause, hour and member of these groups.
        task_problems: Sentences on what is wrong with tasks.
        severities: Number of findings by severity.
        left_out: Counts of rows that the page does not list, by name of the table.
    """

    since: int
    until: int
    step: int
    other_step: int
    total: dict[str, int | None]
    shown: list[str]
    causes: dict[str, int]
    groups: list[Row]
    findings: list[Row]
    rebalances: list[Row]
    totals: list[Row]
    storms: list[Row]
    silences: list[Row]
    notes: tuple[str, ...]
    members: list[Row]
    what_if: list[Row]
    what_if_members: list[Row]
    scales: list[Row]
    lag: list[Row] | None
    lag_of_groups: list[Row]
    lag_of_topics: list[Row]
    lag_of_members: list[Row]
    lag_over_time: list[Row]
    lag_step: int
    tasks: list[Row]
    task_moves: list[Row]
    costs: list[Row]
    cost_parts: list[Row]
    task_problems: list[str]
    severities: dict[str, int]
    left_out: dict[str, int]


def tables(data: PageData, timeline: Timeline | None = None) -> Tables:
    """Compute the tables of a page.

    Args:
        data: Events and rows.
        timeline: Counts of earlier events, to which those of `data` are added.
    """
    timeline = timeline or Timeline()
    timeline.add(read_rows(data.events, "events", "event"))
    reported = {str(row["group"]): row for row in data.groups}
    shown = _shown(timeline, reported, data.findings)
    first, others = shown[:FIRST_GROUPS], set(shown[FIRST_GROUPS:])
    lags = [] if data.lag_over_time is None else _known_lags(data.lag_over_time(first))
    times = [data.since, data.until, timeline.since, timeline.until, *(row["at"] for row in lags)]
    since = min((each for each in times if each is not None), default=0)
    until = max((each for each in times if each is not None), default=since)
    step, rebalances = timeline.rows(set(first), since, until)
    other_step, more = timeline.rows(others, since, until, MOST_OTHER_ROWS, step) if others else (step, [])
    ranks = {group: rank for rank, group in enumerate(shown)}
    more = sorted(more, key=lambda row: ranks[row["group"]])[:MOST_REBALANCE_ROWS]
    rebalances = _with_details([*rebalances, *sorted(more, key=lambda row: row["start"])])
    findings = sorted(data.findings, key=lambda row: SEVERITIES.index(row["severity"]))
    storms = timeline.storms(ranks)
    by_group: dict[str, list[MemberRow]] = {}
    read = _within(shown, reported, "members", MOST_MEMBERS_READ)
    for member in data.members(read):
        by_group.setdefault(member.group, []).append(member)
    summaries: list[Row] = []
    loads: list[Row] = []
    members: list[Row] = []
    scaled: list[Row] = []
    no_what_if = no_scale = 0
    for group in read:
        of_group = by_group.get(group, ())
        if len(members) < MOST_MEMBER_ROWS:
            members += _members(of_group, _rates(reported.get(group, {})))
        if group in reported and len(scaled) < MOST_SCALE_ROWS:
            scaled += scales(reported[group], of_group, data.topics)
        else:
            no_scale += 1
        if group in reported and len(loads) < MOST_MEMBER_ROWS:
            found, rows = what_ifs(reported[group], of_group, data.topics)
            summaries += found
            loads += _cut(rows, lambda row: max(row["now"] or 0, row["less"] or 0, row["more"] or 0))
        else:
            no_what_if += 1
    has_lag = _within(shown, reported, "partitions", MOST_PARTITIONS_READ)
    lag, lags_of = _lag(None if data.lag is None else data.lag(has_lag), by_group)
    lag_step, points = _lag_points(lags, step)
    costs, cost_parts = cost_rows((group, reported.get(group, {})) for group in shown)
    of_processes, task_moves, task_problems = task_rows((group, reported.get(group, {})) for group in shown)
    not_read = sum(_size(reported, group, "members") for group in shown[len(read) :])
    left_out = {
        "rebalances": timeline.rebalances.total() - sum(row["rebalances"] for row in rebalances),
        "findings": max(0, len(findings) - MOST_FINDINGS),
        "storms": timeline.count_storms() - len(storms),
        "members": sum(len(found) for found in by_group.values()) + not_read - len(members),
        "what_if": no_what_if + len(shown) - len(read) if loads else 0,
        "scales": no_scale + len(shown) - len(read) if scaled else 0,
        "lag": max(0, len(lag or ()) - MOST_LAG_ROWS),
        **{f"lag_of_{name}s": max(0, len(rows) - MOST_LAG_ROWS) for name, rows in lags_of.items()},
        "lag_not_read": 0 if data.lag is None else len(shown) - len(has_lag),
        "lag_over_time": 0 if data.lag_over_time is None else len(others),
    }
    return Tables(
        since=since,
        until=until,
        step=step,
        other_step=other_step,
        total={
            "records": data.records,
            "groups": len(shown),
            "rebalances": timeline.rebalances.total(),
            "storms": timeline.count_storms(),
            "findings": len(findings),
        },
        shown=shown,
        causes=_causes(rebalances),
        groups=[_group(group, reported.get(group, {}), timeline) for group in shown],
        findings=_findings(findings[:MOST_FINDINGS]),
        rebalances=rebalances,
        totals=timeline.totals(step),
        storms=storms,
        silences=timeline.silences,
        notes=tuple(data.notes),
        members=members,
        what_if=summaries,
        what_if_members=loads,
        scales=scaled,
        lag=lag if lag is None else lag[:MOST_LAG_ROWS],
        lag_of_groups=lags_of["group"][:MOST_LAG_ROWS],
        lag_of_topics=lags_of["topic"][:MOST_LAG_ROWS],
        lag_of_members=lags_of["member"][:MOST_LAG_ROWS],
        lag_over_time=points,
        lag_step=lag_step,
        tasks=of_processes,
        task_moves=task_moves,
        costs=costs,
        cost_parts=cost_parts,
        task_problems=task_problems,
        severities={name: sum(row["severity"] == name for row in findings) for name in SEVERITIES},
        left_out=left_out,
    )


def _within(groups: Sequence[str], reported: Mapping[str, Mapping[str, Any]], field: str, most: int) -> list[str]:
    """Return the first groups, and those after them until the sum of a field of their rows exceeds a number."""
    found = list(groups[:FIRST_GROUPS])
    total = sum(_size(reported, group, field) for group in found)
    for group in groups[FIRST_GROUPS:]:
        total += _size(reported, group, field)
        if total > most:
            break
        found.append(group)
    return found


def _size(reported: Mapping[str, Mapping[str, Any]], group: str, field: str) -> int:
    return reported[group][field] or 0 if group in reported else 0


def _findings(rows: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return the findings with shortened texts and evidence; evidence of the last ones is dropped if it is long."""
    characters = 0
    found = []
    for row in rows:
        text = cut(row["text"])
        evidence = cut(row["evidence"]) if characters < MOST_FINDING_CHARACTERS else ""
        characters += len(text) + len(evidence)
        found.append({**row, "text": text, "evidence": evidence})
    return found


def _with_details(rows: Iterable[Row]) -> list[Row]:
    """Return rows of rebalances with their details as text, and of the last rows only counts if there is much text."""
    characters = 0
    found = []
    for row in rows:
        details: Details = row["details"]
        text = details.text(row["rebalances"]) if characters < MOST_DETAIL_CHARACTERS else details.counts()
        characters += len(text)
        found.append({**row, "details": text})
    return found


def _shown(
    timeline: Timeline, reported: Mapping[str, Mapping[str, Any]], findings: Iterable[Mapping[str, Any]]
) -> list[str]:
    """Return all groups: by most severe finding, then by rebalances, then by name."""
    worst: dict[str, int] = {}
    for row in findings:
        severity = SEVERITIES.index(row["severity"])
        worst[row["group"]] = min(worst.get(row["group"], len(SEVERITIES)), severity)

    def rank(group: str) -> tuple[int, int, str]:
        return worst.get(group, len(SEVERITIES)), -timeline.rebalances[group], group

    return sorted({*timeline.rebalances, *reported, *worst}, key=rank)


def _causes(rebalances: Iterable[Row]) -> dict[str, int]:
    found = Counter[str]()
    for row in rebalances:
        found[row["cause"]] += row["rebalances"]
    return dict(found.most_common())


def _group(name: str, row: Mapping[str, Any], timeline: Timeline) -> Row:
    fields = ("kind", "state", "protocol", "generation", "members", "partitions", "unowned")
    migration = row.get("migration") or {}
    return {
        "group": name,
        "rebalances": timeline.rebalances[name],
        **{field: row.get(field) for field in fields},
        "migration": migration.get("verdict"),
        "migration_reason": migration.get("reason"),
    }


def _rates(row: Mapping[str, Any]) -> Mapping[str, float | None]:
    """Return the records per second of each member of a group, as in `report.json`."""
    traffic = row.get("traffic") or {}
    rates: Mapping[str, float | None] = traffic.get("members", {})
    return rates


def _members(members: Sequence[MemberRow], rates: Mapping[str, float | None]) -> list[Row]:
    rows = [
        {
            "group": member.group,
            "member": member.name,
            "member_id": member.member_id,
            "host": member.client_host.removeprefix("/"),
            "topics": len({topic for topic, _, _ in member.spans}),
            "partitions": member.partitions,
            "rate": None if (rate := rates.get(member.member_id)) is None else round(rate, 1),
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


def _lag(
    rows: Iterable[Mapping[str, Any]] | None, members: Mapping[str, Sequence[MemberRow]]
) -> tuple[list[Row] | None, Mapping[By, list[Row]]]:
    """Return the rows of partitions, and the sums of topics, members and groups; None and no rows without lag."""
    if rows is None:
        return None, {"topic": [], "member": [], "group": []}
    from assignor.page.lag_rows import partition_rows

    return partition_rows(rows, members)


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
