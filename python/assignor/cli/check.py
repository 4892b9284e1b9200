"""Command `assignor check`: whether an assignment leaves out, repeats or misplaces partitions."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from assignor.cli.inputs import (
    STDIN,
    GroupInput,
    add_described_group,
    add_group_protocol,
    group_of,
    partitions_of,
    place_of,
    read_group_data,
)
from assignor.cli.output import add_format
from assignor.display import PROBLEMS
from assignor.errors import IllegalArgumentError
from assignor.lines import format_count
from assignor.terminal import notice, print_json, print_line
from assignor.validation import shown

if TYPE_CHECKING:
    import argparse

    from assignor import Plan
    from assignor.names import GroupProtocol

FOUND = 1
"""Exit code if the assignment has a problem."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Find partitions that an assignment leaves out, assigns twice or must not assign. The assignment can come from "
        f"any assignor. The exit code is {FOUND} if the command finds a problem."
    )
    command.add_argument(
        "assignment",
        metavar="ASSIGNMENT",
        help="output of `assignor assign`, `assignor plan`, `assignor describe --json` or kafka-consumer-groups.sh "
        "--describe, or - for standard input",
    )
    command.add_argument(
        "input",
        metavar="INPUT",
        nargs="?",
        help="the group, as for `assignor assign`, or - for standard input; without INPUT, ASSIGNMENT must be a group "
        "that also has the key assignment, or the description of a group",
    )
    add_group_protocol(command)
    add_described_group(command)
    add_format(command, default="json")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from assignor import check

    if options.assignment == options.input == STDIN:
        raise IllegalArgumentError("ASSIGNMENT and INPUT cannot both be standard input; give a file for one of them")
    given, place = read_group_data(options.assignment, options.group), place_of(options.assignment)
    other = None if options.input is None else read_group_data(options.input, options.group)
    if options.group is not None and not any(isinstance(each, GroupInput) for each in (given, other)):
        raise IllegalArgumentError(f"{place} is no description of groups; remove --group")
    if options.input is None:
        group = group_of(given, place)
        if "assignment" not in group.others:
            raise IllegalArgumentError(f"{place} has no assignment; add the key assignment, or give INPUT")
        given = group.others["assignment"]
    else:
        group = group_of(other, place_of(options.input))
        if isinstance(given, GroupInput):
            group = dataclasses.replace(group, is_settled=given.is_settled)
            given = given.others["assignment"]
    assignment = _assignment(given, place)
    protocol = options.group_protocol or group.settings.get("group_protocol") or _protocol_of(assignment)
    found = check(assignment, group.partitions_per_topic, group.subscriptions, group_protocol=protocol)
    if not group.is_settled and found.unowned:
        count = format_count(len(found.unowned), "partition")
        notice(f"{place}: {count} without an owner not reported: the group has not settled, and may assign them")
        found = dataclasses.replace(found, unowned=())
    if options.format == "json":
        print_json(dataclasses.asdict(found))
    else:
        _print_text(dataclasses.asdict(found))
    return FOUND if found else 0


def _assignment(data: Any, place: str) -> Plan | dict[str, Any]:
    """Return an assignment from the JSON of `assignor assign` or `assignor plan`."""
    from assignor import Plan

    if not isinstance(data, dict):
        raise IllegalArgumentError(f"{place}: the assignment must be an object of members, not {shown(data)}")
    if "spans" in data and "members" in data:
        return Plan.from_json(json.dumps(data))
    return {name: partitions_of(given, f"{place}: member {name!r}") for name, given in data.items()}


def _protocol_of(assignment: Plan | dict[str, Any]) -> GroupProtocol:
    """Return the group protocol of an assignment; only a plan has one."""
    return "classic" if isinstance(assignment, dict) else assignment.group_protocol


def _print_text(found: dict[str, Any]) -> None:
    if not any(found.values()):
        print_line("no problem found")
    for name, text in PROBLEMS.items():
        for entry in found[name]:
            member, (topic, partition) = (None, entry) if name in ("unowned", "doubly_owned") else entry
            to = "" if member is None else f" ({member})"
            print_line(f"{topic}[{partition}] {text}{to}")
