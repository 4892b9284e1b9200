"""Command `assignor assign`: the partitions of each member of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.cli.inputs import add_group_input, read_group
from assignor.cli.output import add_format
from assignor.terminal import print_json, print_lines, width

if TYPE_CHECKING:
    import argparse


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Compute the assignment of a group as Kafka's assignor does, and print the partitions of each member: "
        '{"a": [["orders", 0], ["orders", 1]]}.'
    )
    add_group_input(command)
    add_format(command, default="json")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from assignor import plan
    from assignor.lines import escape, format_spans, spans_of, wrap

    group = read_group(options)
    found = plan(group.partitions_per_topic, group.subscriptions, **group.settings)
    if options.format == "json":
        print_json(dict(found))
        return 0
    for member, partitions in found.items():
        print_lines(wrap(escape(f"{member}: {format_spans(spans_of(partitions))}"), width()))
    return 0
