"""Options `--broker-log` and `--broker-log-zone`: log files of the brokers, which say why rebalances began."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError
from assignor.validation import check_path

if TYPE_CHECKING:
    import argparse

    from assignor.cluster import Recording
    from assignor.sources.broker_log import BrokerLog


def add_broker_log(command: argparse.ArgumentParser) -> None:
    """Add the options to the parser of a command."""
    command.add_argument(
        "--broker-log",
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="log files of the brokers, such as server.log or server.log.2026-11-25-13.gz: the reason that a broker "
        "logged becomes the first cause of a rebalance; give it after the input",
    )
    command.add_argument(
        "--broker-log-zone",
        metavar="ZONE",
        help="time zone of the lines of --broker-log that do not show one, such as +01:00 or Europe/Berlin (default: "
        "found by comparing the lines with the records, else UTC)",
    )


def read_broker_log(options: argparse.Namespace, recording: Recording) -> BrokerLog:
    """Read the files of `--broker-log`; without any, return a log without rebalances.

    Raises:
        IllegalArgumentError: A file cannot be read, no file has a line about a rebalance, or the time zone is not
            known.
    """
    from assignor.sources.broker_log import BrokerLog, read_broker_log
    from assignor.sources.log_zones import Zone

    if not options.broker_log:
        if options.broker_log_zone is not None:
            raise IllegalArgumentError(f"--broker-log-zone {options.broker_log_zone} needs --broker-log")
        return BrokerLog((), ())
    zone = None if options.broker_log_zone is None else Zone(options.broker_log_zone)
    for path in options.broker_log:
        check_path(path, "--broker-log")
        if Path(path).is_dir():
            raise IllegalArgumentError(
                f"--broker-log {path} is a folder: give log files, and the input before --broker-log"
            )
    found = read_broker_log([Path(path) for path in options.broker_log], recording, zone)
    rebalances = (
        each
        for each in found.rebalances
        if (recording.groups is None or recording.groups.matches(each.group))
        and (recording.until is None or each.at <= recording.until)
    )
    return BrokerLog(tuple(rebalances), found.notes)
