"""Command `assignor describe`: groups of a live cluster with their state, members, partitions and lag."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.cli.connection import add_connection, connection_settings
from assignor.cli.measure import add_measure, check_measure, describe_twice
from assignor.cli.selection import add_groups
from assignor.dependencies import require
from assignor.terminal import print_json, print_lines, status_line

if TYPE_CHECKING:
    import argparse

INCOMPLETE = 1
"""Exit code if a group that `--group` chooses cannot be described."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Show the consumer groups of a live cluster: state, coordinator, members with their hosts and partitions, and "
        "current lag, also in time. The command only reads, with the calls of an admin client. It needs no permission "
        "on __consumer_offsets."
    )
    add_connection(command)
    add_groups(command)
    add_measure(command, "to know the growth of the lag and the time to catch up")
    command.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    check_measure(options.measure)
    settings = connection_settings(options)
    require("pyarrow", "confluent_kafka", *(() if options.json else ("rich",)))
    from assignor.cluster.name_patterns import NamePatterns

    chosen = NamePatterns(options.group)
    with status_line() as show:
        _, found = describe_twice(settings, options.group, options.measure, show)
    if options.json:
        print_json(found.to_json())
    else:
        from assignor.report.description_text import render

        is_named = bool(options.group) and chosen.are_names
        print_lines(render(found, is_detailed=True if is_named else None).split("\n"))
    return INCOMPLETE if any(group and chosen.matches(group) for group, _ in found.problems) else 0
