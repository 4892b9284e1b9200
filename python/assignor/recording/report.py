"""What a recording says about its groups, as data, as JSON and as text for people."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

STORM = 20
"""From so many rebalances within a minute on, with no change of members, a group counts as in a rebalance storm."""

MOST_GROUPS_WITH_MEMBERS = 60
"""For a fleet of more groups the report does not say who has what; the Parquet output does."""

_MEMBERS_SHOWN = 12
_TOPICS_SHOWN = 6
_REMARKS_SHOWN = 40


@dataclass(frozen=True, slots=True)
class RangeGenerations:
    """How a group's generations under `range` compare with what the range rules give.

    Attributes:
        checked: How many could be compared.
        equal: How many of those are equal.
        unknown: How many could not, because a member's bytes cannot be read.
    """

    checked: int = 0
    equal: int = 0
    unknown: int = 0


@dataclass(frozen=True, slots=True)
class GroupReport:
    """A group at the end of the log.

    Attributes:
        group: Its name.
        kind: `classic`, `consumer`, `share`, `streams`, or `offsets` for a name that only has offsets.
        state: Kafka's name for the state, or `gone`.
        protocol: The assignor in use; None where there is none or the log does not say.
        generation: The last generation or group epoch.
        members: How many members.
        topics: How many topics they have partitions of.
        partitions: How many partitions they have.
        unowned: Partitions of the topics they subscribe to that nobody has; None where that cannot be said.
        idle_members: Members without a partition.
        least_loaded: Partitions of the member that has fewest; None without members.
        most_loaded: Partitions of the member that has most.
        range_generations: The comparison.
        rebalances: How many new generations or epochs the log has.
        busiest_minute: The most rebalances within a minute that changed no member.
        bad_records: Records of the group that could not be decoded.
    """

    group: str
    kind: str
    state: str
    protocol: str | None
    generation: int | None
    members: int
    topics: int
    partitions: int
    unowned: int | None
    idle_members: int
    least_loaded: int | None
    most_loaded: int | None
    range_generations: RangeGenerations
    rebalances: int
    busiest_minute: int
    bad_records: int

    @property
    def stormy(self) -> bool:
        """Whether the group rebalances over and over without a member coming or going."""
        return self.busiest_minute >= STORM

    def to_json(self) -> dict[str, object]:
        """The group as `assignor report --json` prints it."""
        return {
            "group": self.group,
            "kind": self.kind,
            "state": self.state,
            "protocol": self.protocol,
            "generation": self.generation,
            "members": self.members,
            "topics": self.topics,
            "partitions": self.partitions,
            "idle_members": self.idle_members,
            "range_generations": {
                "checked": self.range_generations.checked,
                "equal": self.range_generations.equal,
                "unknown": self.range_generations.unknown,
            },
        }


@dataclass(frozen=True, slots=True)
class Remark:
    """Something to know about one generation of a group."""

    group: str
    generation: int
    range: str
    text: str


@dataclass(frozen=True, slots=True)
class MemberReport:
    """A member and what it has: topic to runs of (first id, count)."""

    group: str
    member_id: str
    group_instance_id: str | None
    client_id: str
    spans: tuple[tuple[str, int, int], ...]

    @property
    def name(self) -> str:
        """What people know it by: its instance id, else its client id with the beginning of what is unique to it."""
        if self.group_instance_id:
            return self.group_instance_id
        unique = self.member_id.removeprefix(f"{self.client_id}-")
        return f"{self.client_id} {unique[:8]}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a recording says.

    Attributes:
        records: How many records it has, those of aborted transactions too.
        records_by_type: Record type to (values, tombstones).
        bad_records: How many could not be decoded.
        groups: The groups, by name.
        remarks: What there is to know about their range generations.
        members: The members at the end of the log; left out for a fleet of more than 60 groups.
    """

    records: int
    records_by_type: dict[int, tuple[int, int]]
    bad_records: int
    groups: tuple[GroupReport, ...]
    remarks: tuple[Remark, ...]
    members: tuple[MemberReport, ...]

    def to_json(self) -> dict[str, object]:
        """The object that `assignor report --json` prints."""
        return {
            "records": self.records,
            "records_by_type": {
                str(number): {"values": values, "tombstones": tombstones}
                for number, (values, tombstones) in sorted(self.records_by_type.items())
            },
            "bad_records": self.bad_records,
            "groups": [group.to_json() for group in self.groups],
        }

    def to_text(self, *, colour: bool = False, width: int | None = None) -> str:
        """The report for people: a table of groups, what stands out, who has what, totals.

        Args:
            colour: Paint storms and what is gone.
            width: Columns of the terminal: the table leaves out what it can best do without, and long lines are
                wrapped; None for as wide as it comes.
        """
        parts = [
            _table(_HEADER, [_row(group) for group in self.groups], colour, width),
            *(_section(title, lines, width) for title, lines in self._sections()),
            "\n".join(self._totals()),
        ]
        return "\n\n".join(part for part in parts if part)

    def _sections(self) -> Iterator[tuple[str, list[str]]]:
        notable = [line for group in self.groups for line in _notable(group)]
        if notable:
            yield "What stands out", notable
        remarks = [f"{found.group}, generation {found.generation}: {found.text}" for found in self.remarks]
        if len(remarks) > _REMARKS_SHOWN:
            remarks[_REMARKS_SHOWN:] = [f"and {len(remarks) - _REMARKS_SHOWN} more, in the generations of the output"]
        if remarks:
            yield "Range generations with something to say", remarks
        if self.members:
            yield "Who has what", list(_who_has_what(self.members))

    def _totals(self) -> Iterator[str]:
        states: dict[str, int] = {}
        for group in self.groups:
            states[group.state] = states.get(group.state, 0) + 1
        checked = sum(group.range_generations.checked for group in self.groups)
        equal = sum(group.range_generations.equal for group in self.groups)
        unknown = sum(group.range_generations.unknown for group in self.groups)
        standing = ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))
        members = sum(group.members for group in self.groups)
        partitions = sum(group.partitions for group in self.groups)
        idle = sum(group.idle_members for group in self.groups)
        types = len(self.records_by_type)
        yield f"{self.records:,} records of {types} types, {self.bad_records:,} that cannot be decoded"
        yield f"{len(self.groups):,} groups: {standing}"
        yield f"{members:,} members with {partitions:,} partitions, {idle:,} members idle"
        yield (
            f"{checked:,} range generations compared with Kafka's rules: {equal:,} equal, {checked - equal:,} different"
            f"{f'; {unknown:,} more that cannot be read' if unknown else ''}"
        )


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
_LEFT_OUT_FIRST = ("topics", "kind", "partitions", "protocol", "generation", "idle")


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


def _style(row: Sequence[str]) -> tuple[str, str]:
    """What to write before and after a row of the table."""
    if row[-1]:
        return "\x1b[1;31m", "\x1b[0m"
    return ("\x1b[2m", "\x1b[0m") if row[2] == "gone" else ("", "")


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


def _who_has_what(members: Iterable[MemberReport]) -> Iterator[str]:
    by_group: dict[str, list[MemberReport]] = {}
    for member in members:
        by_group.setdefault(member.group, []).append(member)
    for group, found in by_group.items():
        yield group
        widest = max(_width(member.name) for member in found[:_MEMBERS_SHOWN])
        for member in found[:_MEMBERS_SHOWN]:
            yield f"  {_pad(member.name, widest)}  {_spans(member.spans)}"
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


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], colour: bool, width: int | None) -> str:
    cells = [[_plain(cell) for cell in row] for row in [header, *rows]]
    widths = {name: max(_width(row[column]) for row in cells) for column, name in enumerate(header)}
    shown = list(header)
    for name in _LEFT_OUT_FIRST:
        if width is not None and sum(widths[name] + 2 for name in shown) - 2 > width:
            shown.remove(name)

    def line(row: Sequence[str]) -> str:
        found = dict(zip(header, row, strict=True))
        return "  ".join(_pad(found[name], widths[name], right=name in _RIGHT) for name in shown).rstrip()

    lines = [line(cells[0]), "  ".join("─" * widths[name] for name in shown).rstrip()]
    for row in cells[1:]:
        before, after = _style(row) if colour else ("", "")
        lines.append(f"{before}{line(row)}{after}")
    return "\n".join(lines)


def _plain(text: str) -> str:
    """The text with what a terminal would obey, or break a line at, spelled out: anybody may choose a client id."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


def _width(text: str) -> int:
    """How many columns of a terminal the text takes."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)


def _pad(text: str, width: int, *, right: bool = False) -> str:
    space = " " * (width - _width(text))
    return space + text if right else text + space
