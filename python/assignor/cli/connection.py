"""Options of the commands that read a live cluster: its address, and the settings of the clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError
from assignor.validation import shown

if TYPE_CHECKING:
    import argparse

    from assignor.cluster.connection import ClientSettings

DEFAULT_TIMEOUT_MS = 10_000
"""Default of `--timeout`."""

SHORTEST_TIMEOUT_MS = 100
"""Lowest value of `--timeout`. A lower number is rejected, because it is probably a number of seconds."""


LONGEST_TIMEOUT_MS = 2**31 - 1
"""Highest value of `--timeout`: librdkafka has 32 bits for it."""


def add_connection(command: argparse.ArgumentParser) -> None:
    """Add the options that select a cluster; they have the names that Kafka's own tools use."""
    command.add_argument(
        "--bootstrap-server", metavar="HOST:PORT", help="addresses of brokers of a live cluster, separated by commas"
    )
    command.add_argument(
        "--command-config",
        metavar="FILE",
        help="file with settings of a Java client or of librdkafka, such as security.protocol and sasl.jaas.config",
    )
    command.add_argument(
        "--timeout",
        type=int,
        metavar="MS",
        help=f"milliseconds to wait for an answer of the cluster (default: {DEFAULT_TIMEOUT_MS})",
    )


def check_source(options: argparse.Namespace, needs: str, *names: str) -> None:
    """Check that a command reads either paths or a live cluster, and that options of a cluster stand with its address.

    Args:
        options: The options, with `paths` and those of `add_connection`.
        needs: Error for both or none.
        names: Further options of a live cluster.

    Raises:
        IllegalArgumentError: Both or none are given, or an option needs `--bootstrap-server`.
    """
    if bool(options.paths) == (options.bootstrap_server is not None):
        raise IllegalArgumentError(needs)
    for name in (*names, "command_config", "timeout"):
        if getattr(options, name) is not None and options.bootstrap_server is None:
            raise IllegalArgumentError(f"--{name.replace('_', '-')} {getattr(options, name)} needs --bootstrap-server")


def connection_settings(options: argparse.Namespace) -> ClientSettings:
    """Return the settings of the clients from the options.

    Raises:
        IllegalArgumentError: No address is given, or a value or the file is invalid.
    """
    from assignor.cluster.connection import ClientSettings

    timeout = DEFAULT_TIMEOUT_MS if options.timeout is None else options.timeout
    if timeout < SHORTEST_TIMEOUT_MS:
        raise IllegalArgumentError(
            f"--timeout {timeout}: the time is in milliseconds and must be at least {SHORTEST_TIMEOUT_MS}"
        )
    if timeout > LONGEST_TIMEOUT_MS:
        raise IllegalArgumentError(
            f"--timeout {shown(timeout)}: the time in milliseconds must be at most {LONGEST_TIMEOUT_MS}"
        )
    return ClientSettings.read(options.bootstrap_server, options.command_config, timeout / 1000)
