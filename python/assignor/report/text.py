"""Report as text: a table of the groups, findings, the partitions of each member, and totals."""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from assignor.dependencies import dependency

with dependency("rich"):
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console
    from rich.measure import Measurement
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text

from assignor.lines import escape, format_count, format_spans, wrap
from assignor.replay import cost_text
from assignor.replay.event_text import silence_text
from assignor.report.findings import KINDS, SEVERITIES
from assignor.report.group_findings import findings_of_assignor
from assignor.report.group_report import by_group
from assignor.report.lag_text import behind_text, catch_up_text, lag_lines
from assignor.report.report import ADMIN, LOG, NO_LOG, NO_TOPICS
from assignor.report.traffic_findings import traffic_line

if TYPE_CHECKING:
    from assignor.report.findings import Finding
    from assignor.report.group_report import Compared, GroupReport, MemberReport, Remark
    from assignor.report.report import Report

_MEMBERS_SHOWN = 12
_REMARKS_SHOWN = 40
_FINDINGS_SHOWN = 5
_TASKS_SHOWN = 12
_LAG_LINES_SHOWN = 40
_TRAFFIC_SHOWN = 12
_COSTS_SHOWN = 10

_HEADER = (
    "group",
    "kind",
    "state",
    "protocol",
    "generation",
    "members",
    "idle",
    "topics",
    "partitions",
    "per member",
    "lag",
    "behind",
    "catches up",
    "range = Kafka",
    "KIP-848",
    "remark",
)
_RIGHT = frozenset(
    {"generation", "members", "idle", "topics", "partitions", "per member", "lag", "behind", "range = Kafka"}
)
_UNLIMITED = 100_000
_NO_NAME = '""'
"""Name of a group whose id is empty."""
_LEFT_OUT_FIRST = ("topics", "kind", "partitions", "protocol", "generation", "idle", "KIP-848")
_DIFFERENT = {
    "explained": "different because of other topic metadata",
    "healed": "different, but corrected within seconds",
}
_NOT_COMPARED = {
    "unreadable": "not compared, because the bytes of a member cannot be decoded",
    "unknown_topics": "not compared, because the topic metadata lacks topics",
    "not_determined": "not compared, because the log does not determine the answer of the assignor",
}
_SHARE_LAG = (
    "lag of share groups: records from the start offset of the share group on; acknowledged ones after it count, too"
)
_LEGEND = {
    "idle": "idle: members without partitions",
    "per member": "per member: fewest–most partitions of a member",
    "lag": "lag: end offsets minus committed offsets; +n: n partitions with unknown lag",
    "behind": "behind: age of the oldest record that is not read; > is a lower bound",
    "catches up": "catches up: time until the lag is 0 if it goes on falling, or why it does not",
    "KIP-848": "KIP-848: whether a classic group can move to group.protocol=consumer, see `assignor migrate`",
    "range = Kafka": "range = Kafka: range assignments equal to Kafka's / range assignments compared",
}


def render(report: Report, *, colour: bool = False, width: int | None = None) -> str:
    """Render a report as text: a table of groups, findings, the partitions of each member, and totals.

    Args:
        report: The report.
        colour: True to colour rebalance storms and groups that are gone.
        width: Columns of the terminal. The table omits its least important columns and long lines are wrapped to
            fit; None for no limit.
    """
    table, shown = _table(report, colour, width)
    parts = [
        table,
        "\n".join(line for entry in _legend(report.groups, shown) for line in wrap(entry, width)),
        *(_section(title, lines, width) for title, lines in _sections(report)),
        "\n".join(map(escape, _totals(report))),
    ]
    return "\n\n".join(part for part in parts if part)


def _sections(report: Report) -> Iterator[tuple[str, list[str]]]:
    silences = [silence_text(found.to_json()) for found in report.silences[-_FINDINGS_SHOWN:]]
    if len(report.silences) > _FINDINGS_SHOWN:
        silences.append(f"and {len(report.silences) - _FINDINGS_SHOWN:,} earlier silences, see --json")
    if silences:
        yield "Silences of the log", silences
    if report.broker_log is not None:
        yield "Log of the broker", list(report.broker_log.lines())
    if report.brokers is not None and (lines := report.brokers.lines()):
        if len(lines) > _FINDINGS_SHOWN:
            earlier = f"and {len(lines) - _FINDINGS_SHOWN:,} earlier changes, see --json"
            lines = [*lines[-_FINDINGS_SHOWN:], earlier]
        yield "Coordinators and brokers", lines
    attention = list(_attention(report.findings()))
    if attention:
        yield "Groups that need attention", attention
    lags = [(group.group, group.lag.sums) for group in report.groups if group.lag is not None]
    in_time = [line for name, sums in lags for line in lag_lines(name, sums)]
    if in_time:
        more = len(in_time) - _LAG_LINES_SHOWN
        yield (
            "Lag in time",
            [
                *in_time[:_LAG_LINES_SHOWN],
                *([f"and {format_count(more, 'more line')}, see --json"] if more > 0 else ()),
            ],
        )
    costs = list(_costs(report.groups))
    if costs:
        yield "Cost of rebalances: time without commits, the dearest groups first", costs
    remarks = list(_remarks(report.remarks))
    if len(remarks) > _REMARKS_SHOWN:
        remarks[_REMARKS_SHOWN:] = [
            f"and {format_count(len(remarks) - _REMARKS_SHOWN, 'more remark')} in the Parquet folder `generations`"
        ]
    if remarks:
        yield "Range assignments that differ from Kafka's, or have a remark", remarks
    differing = [line for group in report.groups for line in _differing(group)]
    if differing:
        yield "Assignments that differ from Kafka's assignors, or are not compared", differing
    traffic = [(group.group, group.traffic) for group in report.groups if group.traffic is not None]
    if traffic:
        traffic.sort(key=lambda entry: -entry[1].rate)
        lines = [traffic_line(name, found) for name, found in traffic[:_TRAFFIC_SHOWN]]
        more = len(traffic) - _TRAFFIC_SHOWN
        yield "Traffic", [*lines, *([f"and {format_count(more, 'more group')}, see --json"] if more > 0 else ())]
    if report.problems:
        yield "Not described", [f"{group}: {text}" if group else text for group, text in report.problems]
    tasks = [(group.group, group.tasks) for group in report.groups if group.tasks is not None]
    if tasks:
        lines = [line for name, found in tasks[:_TASKS_SHOWN] for line in found.lines(name)]
        more = len(tasks) - _TASKS_SHOWN
        yield "Tasks", [*lines, *([f"and {format_count(more, 'more group')}, see --json"] if more > 0 else ())]
    tasks_only = {group.group for group in report.groups if group.tasks is not None and not group.partitions}
    members = [member for member in report.members if member.group not in tasks_only]
    if members:
        yield "Assigned partitions", list(_assigned_partitions(members))
    if report.notes:
        yield "Notes" if report.mode == ADMIN else "Notes on the files", list(report.notes)


def _costs(groups: Iterable[GroupReport]) -> Iterator[str]:
    """Yield the costs of the dearest groups; a group whose rebalances took no partitions has none."""
    found = [
        (group.costs.rank, group.group, group.costs.total)
        for group in groups
        if group.costs is not None and (group.costs.total["revoked"] or group.costs.total["paused"])
    ]
    found.sort(key=lambda each: each[:2])
    for _, name, total in found[:_COSTS_SHOWN]:
        yield f"{name or _NO_NAME}: {cost_text.total(total)}"
    if len(found) > _COSTS_SHOWN:
        yield f"and {format_count(len(found) - _COSTS_SHOWN, 'more group')}, see --json"


def _remarks(remarks: Iterable[Remark]) -> Iterator[str]:
    """Yield the remarks; one that repeats is said once, with its generations."""
    found: dict[tuple[str, str, bool], list[int]] = {}
    for remark in remarks:
        found.setdefault((remark.group, remark.text, remark.of_class == "healed"), []).append(remark.generation)
    for (group, text, is_healed), generations in found.items():
        which = f"generation {generations[0]}"
        if len(set(generations)) > 1:
            which = f"{len(generations):,} generations from {min(generations)} to {max(generations)}"
        yield f"{group}, {which}: {text}{'; corrected within seconds' if is_healed else ''}"


def _attention(findings: Iterable[Finding]) -> Iterator[str]:
    """Yield a line for each finding that needs attention, the most severe first.

    Only the last ones of a kind are listed if a group has many.
    """
    ordered = sorted(findings, key=lambda each: SEVERITIES.index(each.severity))
    for (group, kind), found in itertools.groupby(ordered, lambda each: (each.group, each.kind)):
        if KINDS[kind].needs_attention:
            texts = [each.text for each in found]
            yield from (f"{group}: {text}" for text in texts[-_FINDINGS_SHOWN:])
            if len(texts) > _FINDINGS_SHOWN:
                earlier = format_count(len(texts) - _FINDINGS_SHOWN, "earlier finding")
                yield f"{group}: and {earlier} of the kind {kind}, see --json"


def _totals(report: Report) -> Iterator[str]:
    states: dict[str, int] = {}
    for group in report.groups:
        states[group.state] = states.get(group.state, 0) + 1
    by_state = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
    members = sum(group.members for group in report.groups)
    partitions = sum(group.partitions for group in report.groups)
    idle = sum(group.idle_members for group in report.groups)
    if report.mode == LOG:
        records = f"{format_count(report.records, 'record')} of {format_count(len(report.records_by_type), 'type')}"
        copies = f"; {format_count(report.duplicates, 'duplicate')} of other records" if report.duplicates else ""
        yield f"{records}; {report.bad_records:,} cannot be decoded{copies}"
    if report.invalid_timestamps:
        have = "has a timestamp" if report.invalid_timestamps == 1 else "have timestamps"
        yield f"{format_count(report.invalid_timestamps, 'record')} {have} not between 1970 and 9999, see the findings"
    yield f"{format_count(len(report.groups), 'group')}{': ' if by_state else ''}{by_state}"
    own, are = "owns" if members == 1 else "own", "is" if idle == 1 else "are"
    owned = f"{format_count(members, 'member')} {own} {format_count(partitions, 'partition')}"
    yield f"{owned}; {format_count(idle, 'member')} {are} idle"
    if report.mode == ADMIN:
        yield NO_LOG
        return
    if not report.has_topics:
        yield NO_TOPICS
    if report.share_lag_unknown:
        yield report.share_lag_unknown
    ranges = [group.range_generations for group in report.groups]
    yield f"{format_count(_sum(ranges, 'checked'), 'range assignment')} {_compared(ranges)}"
    others = [found.compared for group in report.groups for found in group.assignments]
    if others:
        yield f"{format_count(_sum(others, 'checked'), 'assignment')} of other assignors {_compared(others)}"


def _sum(comparisons: Iterable[Compared], name: str) -> int:
    return sum(getattr(each, name) for each in comparisons)


def _compared(comparisons: Sequence[Compared]) -> str:
    """Return the counts of comparisons as text; classes that do not occur are left out."""
    counts = {name: _sum(comparisons, name) for name in ("equal", "unexplained", *_DIFFERENT, *_NOT_COMPARED)}
    found = [f"{counts['equal']:,} equal", f"{counts['unexplained']:,} different"]
    found += [f"{counts[name]:,} {text}" for name, text in _DIFFERENT.items() if counts[name]]
    left_out = [f"{counts[name]:,} {text}" for name, text in _NOT_COMPARED.items() if counts[name]]
    return "; ".join([f"compared with Kafka's: {', '.join(found)}", *left_out])


def _legend(groups: Sequence[GroupReport], shown: Sequence[str]) -> Iterator[str]:
    if any(group.state == "gone" for group in groups):
        yield "gone: the group and its offsets are deleted"
    if groups:
        yield from (text for name, text in _LEGEND.items() if name in shown)
    if "lag" in shown and any(group.kind == "share" and group.lag for group in groups):
        yield _SHARE_LAG


def _table(report: Report, colour: bool, width: int | None) -> tuple[str, list[str]]:
    """Return the table and the names of its columns: those that fit into the width."""
    groups, has_log = report.groups, report.mode == LOG
    rows = [[escape(cell) for cell in _row(group, is_known=group.group not in report.undescribed)] for group in groups]
    optional = {
        **dict.fromkeys(("lag", "behind", "catches up"), any(group.lag for group in groups)),
        "remark": any(group.is_stormy for group in groups),
        "KIP-848": any(group.migration is not None for group in groups),
        "generation": has_log,
        "range = Kafka": has_log,
    }
    shown = [name for name in _HEADER if optional.get(name, True)]
    table = _table_of(shown, rows)
    console = Console(
        file=io.StringIO(),
        width=_UNLIMITED,
        color_system="standard" if colour else None,
        force_terminal=colour,
        no_color=False,
        legacy_windows=False,
    )
    for name in _LEFT_OUT_FIRST:
        if name in shown and width is not None and Measurement.get(console, console.options, table).maximum > width:
            shown.remove(name)
            table = _table_of(shown, rows)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()), shown


def _table_of(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    for name in names:
        table.add_column(justify="right" if name in _RIGHT else "left", no_wrap=True)
    table.add_row(*names)
    table.add_row(*(Rule(style="none") for _ in names))
    for row in rows:
        cells = dict(zip(_HEADER, row, strict=True))
        style = "bold red" if cells["remark"] else "dim" if cells["state"] == "gone" else ""
        table.add_row(*(Text(cells[name]) for name in names), style=style)
    return table


def _row(group: GroupReport, *, is_known: bool) -> tuple[str, ...]:
    """Return the cells of a group; `is_known` is false if its members or owners are not known."""
    ranges = group.range_generations
    per_member = "" if group.most_loaded is None else f"{group.least_loaded}–{group.most_loaded}"
    compared = f"{ranges.equal}/{ranges.checked}" if ranges.checked or ranges.unknown else ""
    if ranges.unknown:
        compared += f" ({ranges.unknown} not compared)"
    return (
        group.group,
        group.kind or "?",
        group.state or "?",
        group.protocol or "",
        "" if group.generation is None else str(group.generation),
        str(group.members) if is_known else "?",
        str(group.idle_members) if group.members and is_known else "",
        str(group.topics) if is_known else "?",
        str(group.partitions) if is_known else "?",
        per_member,
        _lag(group),
        *(("", "") if group.lag is None else (behind_text(group.lag.sums), catch_up_text(group.lag.sums))),
        compared,
        "" if group.migration is None else group.migration.verdict or "?",
        "REBALANCE STORM" if group.is_stormy else "",
    )


def _lag(group: GroupReport) -> str:
    if group.lag is None:
        return ""
    known, unknown = group.lag.sums["lag"], group.lag.sums["unknown"]
    return f"{'?' if known is None else f'{known:,}'}{f' +{unknown:,}' if unknown else ''}"


def _differing(group: GroupReport) -> Iterator[str]:
    for compared in group.assignments:
        for finding in findings_of_assignor(group.group, compared):
            yield f"{group.group}: {finding.text}; {finding.evidence.replace('The first', 'the first', 1)}"


def _assigned_partitions(members: Iterable[MemberReport]) -> Iterator[str]:
    for group, found in by_group(members).items():
        yield group
        widest = max(cell_len(member.name) for member in found[:_MEMBERS_SHOWN])
        for member in found[:_MEMBERS_SHOWN]:
            yield f"  {set_cell_size(member.name, widest)}  {format_spans(member.spans)}"
        if len(found) > _MEMBERS_SHOWN:
            yield f"  and {format_count(len(found) - _MEMBERS_SHOWN, 'more member')}"


def _section(title: str, lines: Sequence[str], width: int | None) -> str:
    return "\n".join([title, *(wrapped for line in lines for wrapped in wrap(f"  {escape(line)}", width))])
