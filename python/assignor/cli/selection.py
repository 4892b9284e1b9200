"""Options that choose what a command reads and shows: groups by name or pattern, a range of time, and the brokers."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta

from assignor import _core
from assignor.errors import IllegalArgumentError
from assignor.lines import format_time
from assignor.validation import shown


def add_groups(command: argparse.ArgumentParser) -> None:
    """Add the option `--group`."""
    command.add_argument(
        "--group",
        action="append",
        default=[],
        type=utf8_name,
        metavar="PATTERN",
        help="only the groups with this name, in which * stands for any characters and ? for one; '!' before a pattern "
        "leaves its groups out; can be given more than once",
    )


def add_times(command: argparse.ArgumentParser, since: str) -> None:
    """Add the options `--since` and `--until`; `since` is what the command leaves out before that time."""
    example = "such as 2026-11-26T22:00, in UTC if it has no offset, or in milliseconds since 1970"
    command.add_argument("--since", type=time_value, metavar="TIME", help=f"leave out {since}; a time {example}")
    command.add_argument(
        "--until",
        type=time_value,
        metavar="TIME",
        help="do not read records after this time: the end of the log is then the last record before it",
    )


def add_broker_version(command: argparse.ArgumentParser) -> None:
    """Add the option `--broker-version`."""
    command.add_argument(
        "--broker-version",
        metavar="VERSION",
        help="version of the brokers, such as 4.3.1, on which the tasks of streams groups depend (default: not known)",
    )


def time_value(text: str) -> int:
    """Return the time of an option in milliseconds since 1970.

    Example:
        >>> time_value("1970-01-02"), time_value("1970-01-01T01:00:00.5+01:00"), time_value("1500")
        (86400000, 500, 1500)
    """
    try:
        if text.isascii() and text.isdigit():
            found = int(text)
        else:
            time = datetime.fromisoformat(text)
            time = time if time.tzinfo else time.replace(tzinfo=UTC)
            found = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
    except (ValueError, OverflowError):
        found = -1
    if not 0 <= found <= _core.LATEST_TIME:
        raise argparse.ArgumentTypeError(
            f"{shown(text)} is no time between 1970 and 9999; give one such as 2026-11-26T22:00, or milliseconds"
        )
    return found


def check_times(options: argparse.Namespace) -> None:
    """Check the options of `add_times`.

    Raises:
        IllegalArgumentError: The range of time is empty.
    """
    if options.since is not None and options.until is not None and options.since > options.until:
        raise IllegalArgumentError(
            f"--since {format_time(options.since)} is after --until {format_time(options.until)}: give an earlier time"
        )


def utf8_name(text: str) -> str:
    """Return the value of an option with a name; argparse reports one whose bytes are not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError(f"{shown(text)} is not UTF-8") from None
    return text
