"""Command `assignor describe`: groups of a live cluster with their state, members, partitions and lag."""

from __future__ import annotations

import contextlib
import json
import sys
from typing import TYPE_CHECKING

from assignor.cli.connection import add_connection, connection_settings
from assignor.cli.inputs import add_groups
from assignor.cli.output import needs_ascii

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator

INCOMPLETE = 1
"""Exit code if a group that `--group` names cannot be described."""

_CLEAR_LINE = "\r\x1b[K"


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Show the consumer groups of a live cluster: state, coordinator, members with their hosts and partitions, and "
        "current lag. The command only reads, with the calls of an admin client. It needs no permission on "
        "__consumer_offsets."
    )
    add_connection(command)
    add_groups(command)
    command.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    settings = connection_settings(options)
    if not options.json:
        import assignor.report.description_text  # noqa: F401  # fails before any work if rich is missing
    from assignor.cluster.description import describe

    with _progress() as show:
        found = describe(settings, options.group, on_progress=show)
    if options.json:
        print(json.dumps(found.to_json(), ensure_ascii=needs_ascii()))
    else:
        from assignor.report.description_text import render

        print(render(found, is_detailed=True if options.group else None))
    named = set(options.group)
    return INCOMPLETE if any(group in named for group, _ in found.problems) else 0


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Yield a function that shows a text on the last line of the terminal; the line is cleared at the end."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return

    def show(text: str) -> None:
        sys.stderr.write(f"{_CLEAR_LINE}{text}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write(_CLEAR_LINE)
        sys.stderr.flush()
