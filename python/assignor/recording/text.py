"""Text of a report for people: a table of its groups, what stands out, the members' partitions, totals."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from assignor.errors import MissingDependencyError

try:
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console
    from rich.measure import Measurement
    from rich.rule import Rule
    from rich.table import Table
    from rich.text import Text
except ImportError as error:
    raise MissingDependencyError("rich is not installed: pip install 'assignor[cli]'") from error

if TYPE_CHECKING:
    from assignor.recording.report import GroupReport, MemberReport, Report

_MEMBERS_SHOWN = 12
_TOPICS_SHOWN = 6
_REMARKS_SHOWN = 40

_HEADER = (
    "group",
    "kind",
    "state",
    "protocol",
    "generation",
    "members",
    "topics",
    "partitions",
    "idle",
    "load",
    "range equal",
    "",
)
_RIGHT = frozenset({"generation", "members", "topics", "partitions", "idle", "load", "range equal"})
_UNLIMITED = 100_000
_LEFT_OUT_FIRST = ("topics", "kind", "partitions", "protocol", "generation", "idle")


def render(report: Report, *, colour: bool = False, width: int | None = None) -> str:
    """Render a report; the arguments are those of `Report.to_text`."""
    parts = [
        _table(report.groups, colour, width),
        *(_section(title, lines, width) for title, lines in _sections(report)),
        "\n".join(_totals(report)),
    ]
    return "\n\n".join(part for part in parts if part)


def _sections(report: Report) -> Iterator[tuple[str, list[str]]]:
    notable = [line for group in report.groups for line in _notable(group)]
    if notable:
        yield "What stands out", notable
    remarks = [f"{found.group}, generation {found.generation}: {found.text}" for found in report.remarks]
    if len(remarks) > _REMARKS_SHOWN:
        remarks[_REMARKS_SHOWN:] = [f"and {len(remarks) - _REMARKS_SHOWN} more, in the generations of the output"]
    if remarks:
        yield "Range generations with something to say", remarks
    differing = [line for group in report.groups for line in _differing(group)]
    if differing:
        yield "Assignments that differ from those of Kafka's assignors", differing
    if report.members:
        yield "Who has what", list(_who_has_what(report.members))


def _totals(report: Report) -> Iterator[str]:
    states: dict[str, int] = {}
    for group in report.groups:
        states[group.state] = states.get(group.state, 0) + 1
    checked = sum(group.range_generations.checked for group in report.groups)
    equal = sum(group.range_generations.equal for group in report.groups)
    unknown = sum(group.range_generations.unknown for group in report.groups)
    standing = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
    members = sum(group.members for group in report.groups)
    partitions = sum(group.partitions for group in report.groups)
    idle = sum(group.idle_members for group in report.groups)
    types = len(report.records_by_type)
    yield f"{report.records:,} records of {types} types, {report.bad_records:,} that cannot be decoded"
    yield f"{len(report.groups):,} groups: {standing}"
    yield f"{members:,} members with {partitions:,} partitions, {idle:,} members idle"
    yield (
        f"{checked:,} range generations compared with Kafka's rules: {equal:,} equal, {checked - equal:,} different"
        f"{f'; {unknown:,} more that cannot be read' if unknown else ''}"
    )
    others = [found for group in report.groups for found in group.assignments]
    if others:
        checked = sum(found.checked for found in others)
        equal = sum(found.equal for found in others)
        yield (
            f"{checked:,} assignments of Kafka's other assignors compared with their answers: {equal:,} equal, "
            f"{checked - equal:,} different"
        )


def _table(groups: Sequence[GroupReport], colour: bool, width: int | None) -> str:
    rows = [[_plain(cell) for cell in _row(group)] for group in groups]
    shown = list(_HEADER)
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
        if width is not None and Measurement.get(console, console.options, table).maximum > width:
            shown.remove(name)
            table = _table_of(shown, rows)
    with console.capture() as capture:
        console.print(table)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def _table_of(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    for name in names:
        table.add_column(justify="right" if name in _RIGHT else "left", no_wrap=True)
    table.add_row(*names)
    table.add_row(*(Rule(style="none") for _ in names))
    for row in rows:
        cells = dict(zip(_HEADER, row, strict=True))
        style = "bold red" if row[-1] else "dim" if cells["state"] == "gone" else ""
        table.add_row(*(Text(cells[name]) for name in names), style=style)
    return table


def _row(group: GroupReport) -> tuple[str, ...]:
    ranges = group.range_generations
    load = "" if group.most_loaded is None else f"{group.least_loaded}–{group.most_loaded}"
    compared = f"{ranges.equal}/{ranges.checked}" if ranges.checked else ""
    return (
        group.group,
        group.kind,
        group.state,
        group.protocol or "",
        "" if group.generation is None else str(group.generation),
        str(group.members),
        str(group.topics),
        str(group.partitions),
        str(group.idle_members) if group.members else "",
        load,
        f"{compared} +{ranges.unknown}?" if ranges.unknown else compared,
        "REBALANCE STORM" if group.stormy else "",
    )


def _notable(group: GroupReport) -> Iterator[str]:
    if group.stormy:
        unowned = f", and {group.unowned} of its partitions are owned by nobody" if group.unowned else ""
        yield (
            f"{group.group}: a rebalance storm: {group.rebalances:,} rebalances, up to {group.busiest_minute:,} within "
            f"a minute without a member coming or going{unowned}"
        )
    elif group.unowned:
        yield f"{group.group}: {group.unowned} partitions of its topics are owned by nobody"
    if group.idle_members:
        yield f"{group.group}: {group.idle_members} of {group.members} members have no partition"
    if group.least_loaded is not None and group.most_loaded is not None:
        least, most = group.least_loaded, group.most_loaded
        if least and most >= 2 * least and most - least > group.topics:
            yield f"{group.group}: skewed: one member has {most} partitions, another {least}"
    if group.bad_records:
        yield f"{group.group}: {group.bad_records} records that cannot be decoded"


def _differing(group: GroupReport) -> Iterator[str]:
    for found in group.assignments:
        if found.reason is not None:
            counts = f"{found.checked - found.equal:,} of {found.checked:,}"
            yield f"{group.group}: {counts} under {found.assignor}; the first one: {found.reason}"


def _who_has_what(members: Iterable[MemberReport]) -> Iterator[str]:
    by_group: dict[str, list[MemberReport]] = {}
    for member in members:
        by_group.setdefault(member.group, []).append(member)
    for group, found in by_group.items():
        yield group
        widest = max(cell_len(member.name) for member in found[:_MEMBERS_SHOWN])
        for member in found[:_MEMBERS_SHOWN]:
            yield f"  {set_cell_size(member.name, widest)}  {_spans(member.spans)}"
        if len(found) > _MEMBERS_SHOWN:
            yield f"  and {len(found) - _MEMBERS_SHOWN} more members"


def _spans(spans: Sequence[tuple[str, int, int]]) -> str:
    runs: dict[str, list[str]] = {}
    for topic, start, count in spans:
        runs.setdefault(topic, []).append(f"{start}" if count == 1 else f"{start}–{start + count - 1}")
    topics = [f"{topic}[{_runs(found)}]" for topic, found in runs.items()]
    if len(topics) > _TOPICS_SHOWN:
        topics[_TOPICS_SHOWN:] = [f"and {len(topics) - _TOPICS_SHOWN} more topics"]
    return " ".join(topics) or "nothing"


def _runs(runs: list[str]) -> str:
    longest = 8
    return " ".join(runs) if len(runs) <= longest else f"{' '.join(runs[:longest])} …{len(runs) - longest} more"


def _section(title: str, lines: Sequence[str], width: int | None) -> str:
    return "\n".join([title, *(wrapped for line in lines for wrapped in _wrap(f"  {_plain(line)}", width))])


def _wrap(line: str, width: int | None) -> list[str]:
    if width is None or len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _plain(text: str) -> str:
    """The text with what a terminal would obey, or break a line at, spelled out: anybody may choose a client id."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )
