"""Command `assignor scale`: a group with 1, 2, 3, ... members, and which of these numbers are good."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignor.cli.inputs import STDIN, GroupInput, add_group_input, read_group, read_text
from assignor.cli.output import add_format
from assignor.cli.sources import opened
from assignor.errors import AssignorError, IllegalArgumentError
from assignor.lines import escape, format_count
from assignor.terminal import notice, print_json, print_line
from assignor.validation import shown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from assignor.scaling import ScaledGroup, Scaling

_MARKS = {True: "yes", False: "-", None: "?"}

_COLUMNS = ("idle_members", "least_loaded", "most_loaded", "mean_load", "moved", "unowned", "rack_misses")
"""Columns of the text."""

_BY_WEIGHT = ("least_weight", "most_weight", "mean_weight", "weight_bound", "packed_weight")
"""Further columns of the text with weights."""

_OPTIONAL = ("unowned", "rack_misses")
"""Columns that the text leaves out if all of their numbers are 0."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Compute a group with 1, 2, 3, ... members: the load of the members, idle members, and the partitions that "
        "move from today. A number of members is good if no member is idle and loads differ by at most one partition. "
        "INPUT can also be a recording, or what people have in its place; then the records per second of each "
        "partition are the weights. With weights, a number of members is good by weight if the weights of the members "
        "differ by at most that of the heaviest partition."
    )
    add_group_input(command)
    command.add_argument(
        "--max",
        metavar="N",
        help="largest number of members (default: the number of members today)",
    )
    formats = add_format(command, default="text")
    formats.add_argument(
        "--keda",
        dest="format",
        action="store_const",
        const="keda",
        help="print the fragment of a KEDA ScaledObject with the smallest and the largest good number of members",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from assignor.scaling import scale

    max_members = _max_members(options.max)
    group = _read(options)
    if group.settings.get("prefer_rack_aware"):
        raise IllegalArgumentError(f"{group.place}: scale does not support prefer_rack_aware; remove it")
    settings = {name: group.settings[name] for name in _SETTINGS if group.settings.get(name) is not None}
    assignment = group.others.get("assignment")
    try:
        found = scale(
            group.partitions_per_topic,
            group.subscriptions,
            max_members=max_members,
            assignment=None if assignment is None else _assignment(assignment, group.place),
            weights=group.others.get("weights"),
            group=group.name,
            **settings,
        )
    except AssignorError as error:
        raise type(error)(f"{group.place}: {error}") from error
    if options.format == "json":
        print_json(found.to_json())
    elif options.format == "keda":
        for line in keda_lines(found):
            print_line(line)
    else:
        _print_text(found)
    return 0


_SETTINGS = ("assignor", "group_protocol", "topic_ids")


def _max_members(text: str | None) -> int | None:
    from assignor.scaling import MAX_MEMBERS

    if text is None:
        return None
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= number <= MAX_MEMBERS:
        raise IllegalArgumentError(f"--max must be a number from 1 to {MAX_MEMBERS}, got {shown(text)}")
    return number


def _read(options: argparse.Namespace) -> GroupInput:
    """Read the group of the input: JSON or a description of a group, or a group of a recording."""
    if options.input == STDIN or _is_group_file(options.input):
        return read_group(options)
    from assignor.replay.final_group import read_final_group

    with opened([options.input]) as recording:
        found = read_final_group(recording, options.group)
    settings = {"assignor": found.assignor, "group_protocol": found.group_protocol, "topic_ids": found.topic_ids}
    given = {name: getattr(options, name) for name in ("assignor", "group_protocol")}
    settings.update({name: value for name, value in given.items() if value is not None})
    weights = found.weights()
    if not weights:
        notice(f"the traffic of group {found.name!r} is not known: the log has no two commits of a partition")
    elif missing := found.uncommitted():
        notice(f"{format_count(missing, 'partition')} without a commit of group {found.name!r} count as 0 records/s")
    assignment = {member: [list(each) for each in owned] for member, owned in found.assignment.items()}
    others: dict[str, Any] = {"assignment": assignment, **({"weights": weights} if weights else {})}
    return GroupInput(
        options.input,
        dict(found.partitions_per_topic),
        dict(found.subscriptions),
        settings,
        others,
        name=found.name,
    )


def _is_group_file(path: str) -> bool:
    """Return True for a file with JSON or with the text of kafka-consumer-groups.sh, False for a recording."""
    from assignor.sources import group_text

    if not Path(path).is_file():
        return not Path(path).exists()  # `read_group` reports that it cannot be read
    with Path(path).open("rb") as file:
        start = file.read(1 << 16)
    if start.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{":
        return True
    if b"\0" in start:
        return False
    return group_text.is_group_text(read_text(path))


def _assignment(given: Any, place: str) -> dict[str, list[tuple[str, int]]]:
    from assignor.cli.inputs import partitions_of

    if not isinstance(given, dict):
        raise IllegalArgumentError(f"{place}: assignment must be an object of members and partitions")
    return {member: list(partitions_of(each, f"{place}: assignment: {member!r}")) for member, each in given.items()}


def keda_lines(found: Scaling) -> list[str]:
    """Return the fragment of a ScaledObject with the limits of the replicas; the good counts are an annotation.

    Raises:
        IllegalArgumentError: No number of members is good.
    """
    good = found.good
    by_weight = found.good_by_weight
    if by_weight is not None:
        good = tuple(count for count in good if count in by_weight)
    if not good:
        reason = found.problem or f"no number of members from 1 to {len(found.counts)} is good; raise --max"
        raise IllegalArgumentError(f"--keda has no counts: {reason}")
    counts = ",".join(map(str, good))
    return [
        "apiVersion: keda.sh/v1alpha1",
        "kind: ScaledObject",
        "metadata:",
        "  annotations:",
        f'    assignor/good-replica-counts: "{counts}"',
        "spec:",
        f"  minReplicaCount: {good[0]}",
        f"  maxReplicaCount: {good[-1]}",
    ]


def _print_text(found: Scaling) -> None:
    name = f"group {found.group}" if found.group else "group"
    print_line(
        escape(f"{name}: {format_count(found.members, 'member')}, {found.assignor} ({found.group_protocol} protocol)")
    )
    if found.problem is not None:
        print_line(found.problem)
        return
    columns = [name for name in _COLUMNS if name not in _OPTIONAL or any(getattr(row, name) for row in found.counts)]
    by_weight = found.has_weights and found.weights_problem is None
    marks = ["good", "good by weight"] if by_weight else ["good"]
    columns += _BY_WEIGHT if by_weight else ()
    rows = [["members", *marks, *(name.replace("_", " ") for name in columns)]]
    rows += [_cells(row, columns, by_weight=by_weight) for row in found.counts]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        print_line("  ".join(cell.rjust(size) for cell, size in zip(row, widths, strict=True)).rstrip())
    print_line(f"good numbers of members: {_listed(found.good)}")
    if found.good_by_weight is not None and by_weight:
        print_line(f"good by weight: {_listed(found.good_by_weight)}")
    elif found.weights_problem is not None:
        print_line(f"by weight: unknown, {found.weights_problem}")


def _cells(row: ScaledGroup, columns: Sequence[str], *, by_weight: bool) -> list[str]:
    marks = [_MARKS[row.is_good], *([_MARKS[row.is_good_by_weight]] if by_weight else [])]
    cells = []
    for name in columns:
        value = getattr(row, name)
        digits = ",.2f" if name in _BY_WEIGHT else ",.1f" if name == "mean_load" else ","
        cells.append("" if value is None else format(value, digits))
    return [f"{'today ' if row.is_today else ''}{row.members:,}", *marks, *cells]


def _listed(counts: Sequence[int]) -> str:
    return ", ".join(f"{count:,}" for count in counts) or "none"
