"""Description of a cluster as text: a table of the groups, and tables of members and partitions of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.lines import escape, format_count, format_spans, spans_of

with dependency("rich"):
    from rich.cells import cell_len

from assignor.report.lag_text import behind_text, catch_up_text, deletion_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assignor.cluster.cluster_description import ClusterDescription
    from assignor.cluster.descriptions import GroupDescription, MemberDescription
    from assignor.cluster.topic_retention import TopicRetention

GROUPS_WITH_MEMBERS = 20
"""Highest number of groups whose members and partitions are listed, unless the groups are named."""

NOTES = {
    "never_committed": "never committed",
    "unknown_end": "end offset unknown",
    "beyond_end": "committed beyond the end",
    "before_start": "committed before the start",
}
"""Text of each of `lag.PROBLEMS`."""

REBALANCING = "in a rebalance, for how long is not known: use `assignor watch`"
"""Note on a group that waits for members to join. A description is of one point in time, so it has no finding."""

_UNIQUE_PART = 8


def render(description: ClusterDescription, *, is_detailed: bool | None = None) -> str:
    """Render a description.

    Args:
        description: The description.
        is_detailed: True to list members and partitions; by default for at most `GROUPS_WITH_MEMBERS` groups.
    """
    groups = description.groups
    if is_detailed is None:
        is_detailed = len(groups) <= GROUPS_WITH_MEMBERS
    parts = [_groups(description)]
    if is_detailed:
        parts += [part for group in groups for part in _details(description, group)]
    elif groups:
        parts.append("name groups with --group to list their members and partitions")
    if description.problems:
        named = [f"  {escape(f'{group}: ' if group else '')}{escape(text)}" for group, text in description.problems]
        parts.append("\n".join(["Not described", *named]))
    if description.notes:
        parts.append("\n".join(["Notes", *(f"  {escape(note)}" for note in description.notes)]))
    return "\n\n".join(part for part in parts if part)


def _groups(description: ClusterDescription) -> str:
    header = (
        "group",
        "kind",
        "state",
        "protocol",
        "members",
        "partitions",
        "lag",
        "lag unknown",
        "behind",
        "catches up",
        "coordinator",
        "note",
    )
    rows = []
    for group in description.groups:
        lag = description.lag.get(group.group_id)
        node = group.coordinator
        rows.append(
            (
                group.group_id,
                group.kind or "?",
                group.state or "?",
                group.protocol,
                str(len(group.members)) if group.problem is None else "?",
                *(("",) * 5 if lag is None else _sums(lag)),
                "" if node is None else f"{node[1]}:{node[2]} (id {node[0]})",
                _notes(group, lag),
            )
        )
    if not rows:
        return "no groups, or this client has no permission to describe them"
    return table(header, rows, right=range(4, 9))


def _notes(group: GroupDescription, lag: dict[str, Any] | None) -> str:
    """Return the problems of a group and of its partitions."""
    found = [REBALANCING] if group.state == "PreparingRebalance" else []
    if lag is None:
        return "; ".join(found)
    found += [f"{text}: {lag[name]:,}" for name, text in NOTES.items() if lag[name]]
    if lag["unowned"]:
        found.append(f"without an owner: {lag['unowned']:,}, lag {_number(lag['unowned_lag'])}")
    return "; ".join(found)


def _details(description: ClusterDescription, group: GroupDescription) -> Iterator[str]:
    names = {member.member_id: member_name(member) for member in group.members}
    if group.members:
        header = (
            *("member", "client id", "host", "partitions", "lag", "lag unknown", "behind", "catches up"),
            *("member id", "assignment", "tasks"),
        )
        rows = []
        for member in group.members:
            lag = description.member_lag.get((group.group_id, member.member_id))
            rows.append(
                (
                    names[member.member_id],
                    member.client_id,
                    member.client_host.removeprefix("/"),
                    *((str(len(set(member.assigned))), "", "", "", "") if lag is None else _sums(lag)),
                    member.member_id,
                    format_spans(spans_of(sorted(set(member.assigned)))),
                    _tasks(member),
                )
            )
        yield "\n".join(
            [f"{escape(group.group_id)}: {format_count(len(rows), 'member')}", table(header, rows, right=(3, 4, 5, 6))]
        )
    partitions = description.partitions.get(group.group_id, [])
    if partitions:
        columns = (
            *("topic", "partition", "owner", "committed", "start", "end", "lag", "behind", "catches up", "deleted"),
            "note",
        )
        owners = group.owners() if group.kind == "share" else {}
        places = [
            (
                row["topic"],
                str(row["partition"]),
                ", ".join(names.get(id, "") for id in owners.get((row["topic"], row["partition"]), [row["member_id"]])),
                *("-" if row[name] is None else str(row[name]) for name in ("committed", "start_offset", "end_offset")),
                _number(row["lag"]),
                *_in_time(row),
                _deletion(row, description.retention),
                _note(row),
            )
            for row in partitions
        ]
        lines = table(columns, places, right=(1, 3, 4, 5, 6, 7))
        yield "\n".join([f"{escape(group.group_id)}: {format_count(len(places), 'partition')}", lines])


def _sums(lag: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a member or group: partitions, lag, number of unknown lags, and lag in time."""
    return (str(lag["partitions"]), _number(lag["lag"]), _count(lag["unknown"]), *_in_time(lag))


def _in_time(row: dict[str, Any]) -> tuple[str, str]:
    return _shown(behind_text(row)), _shown(catch_up_text(row))


def _deletion(row: dict[str, Any], retention: Mapping[str, TopicRetention]) -> str:
    """Return the time until unread records are deleted: the latest one if the size of the log is limited, too."""
    text, settings = deletion_text(row), retention.get(row["topic"])
    return text.replace("in ", "within ", 1) if settings is not None and settings.has_size else text


def _shown(text: str) -> str:
    """Return nothing for a value that is not known, so that a column without values is left out."""
    return "" if text == "-" else text


def _tasks(member: MemberDescription) -> str:
    """Return the tasks of a member of a streams group."""
    if member.tasks is None:
        return ""
    kinds = {"": member.tasks.active, "standby ": member.tasks.standby, "warm-up ": member.tasks.warmup}
    return "; ".join(f"{kind}{', '.join(tasks)}" for kind, tasks in kinds.items() if tasks)


def _note(row: dict[str, Any]) -> str:
    if row["problem"] == "before_start":
        return f"{NOTES['before_start']}: {format_count(row['deleted'], 'offset')} deleted"
    return NOTES.get(row["problem"], "")


def member_name(member: MemberDescription) -> str:
    """Return the instance id of a static member, else client id and start of the member id's unique part."""
    if member.group_instance_id:
        return member.group_instance_id
    unique = member.member_id.removeprefix(f"{member.client_id}-")
    return f"{member.client_id} {unique[:_UNIQUE_PART]}".strip()


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def _count(value: int) -> str:
    return f"{value:,}" if value else ""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> str:
    """Return rows as aligned columns under a header; columns without text are left out.

    Args:
        header: Names of the columns.
        rows: Cells of each row.
        right: Indices of the columns that are aligned on the right.
    """
    cells = [[escape(cell) for cell in row] for row in rows]
    shown = [number for number in range(len(header)) if any(row[number] for row in cells)]
    widths = {number: max(cell_len(row[number]) for row in [header, *cells]) for number in shown}
    lines = [header, ["─" * widths.get(number, 0) for number in range(len(header))], *cells]
    return "\n".join("  ".join(_cell(line[at], widths[at], at in right) for at in shown).rstrip() for line in lines)


def _cell(text: str, width: int, is_right: bool) -> str:
    padding = " " * (width - cell_len(text))
    return padding + text if is_right else text + padding
