"""Command `assignor explain`: what a topic pattern matches, and probable mistakes in it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from assignor.cli.match import add_pattern, topics_of
from assignor.cli.output import add_format
from assignor.terminal import print_json, print_lines

if TYPE_CHECKING:
    import argparse


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Explain what a topic pattern matches in its dialect, and report probable mistakes: globs, unescaped dots, a "
        "missing .* at the end. With topics, name those that it matches."
    )
    add_pattern(command, nargs="*")
    add_format(command, default="text")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from assignor import explain_pattern

    topics = topics_of(options.topics) if options.topics else None
    found = explain_pattern(options.pattern, options.dialect, topics, include_internal=options.include_internal)
    if options.format == "json":
        print_json(dataclasses.asdict(found))
    else:
        print_lines(str(found).split("\n"))
    return 0
