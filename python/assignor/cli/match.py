"""Command `assignor match`: the topics that a pattern matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.cli.inputs import STDIN, parse_json, place_of, read_text
from assignor.cli.output import add_format
from assignor.terminal import print_json, print_lines
from assignor.validation import DIALECTS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the description and the options to the parser of the command."""
    command.description = (
        "Print the topics that a topic pattern matches, in the given order, by the rules of the client or the broker "
        "that uses it. The text form has one topic per line, the JSON form is a list."
    )
    add_pattern(command, nargs="+")
    add_format(command, default="text")


def add_pattern(command: argparse.ArgumentParser, *, nargs: str) -> None:
    """Add the arguments PATTERN and TOPIC and the options of patterns."""
    command.add_argument("pattern", metavar="PATTERN", help="the pattern, as it is passed to the client")
    command.add_argument(
        "topics",
        metavar="TOPIC",
        nargs=nargs,
        help="names of topics; - reads them from standard input: one per line, a JSON list, or a JSON object with the "
        "names as keys",
    )
    command.add_argument(
        "--dialect", choices=DIALECTS, default=DIALECTS[0], help="dialect of the pattern (default: %(default)s)"
    )
    command.add_argument("--include-internal", action="store_true", help="match Kafka's internal topics, too")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from assignor import match_topics

    topics = topics_of(options.topics)
    found = match_topics(options.pattern, topics, dialect=options.dialect, include_internal=options.include_internal)
    if options.format == "json":
        print_json(found)
    else:
        print_lines(found)
    return 0


def topics_of(given: Sequence[str]) -> list[str]:
    """Return the topics of a command; a single `-` reads them from standard input."""
    if list(given) != [STDIN]:
        return list(given)
    text = read_text(STDIN)
    if not text.lstrip().startswith(("[", "{")):
        return [line.strip() for line in text.splitlines() if line.strip()]
    return list(parse_json(text, place_of(STDIN), of="topics"))
