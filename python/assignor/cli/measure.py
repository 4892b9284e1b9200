"""Option `--measure`: two descriptions of a live cluster, some time apart, which show what changes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from assignor.errors import IllegalArgumentError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from assignor.cluster.cluster_description import ClusterDescription
    from assignor.cluster.connection import ClientSettings

LONGEST = 86_400
"""Longest time between the two descriptions, in seconds."""


def add_measure(command: argparse.ArgumentParser, purpose: str) -> None:
    """Add the option; `purpose` says what the second description is for."""
    command.add_argument(
        "--measure", type=float, metavar="SECONDS", help=f"read the offsets again after this time, {purpose}"
    )


def check_measure(seconds: float | None) -> None:
    """Check the value of the option.

    Raises:
        IllegalArgumentError: It is no time between the limits.
    """
    if seconds is not None and not 0 < seconds <= LONGEST:
        raise IllegalArgumentError(
            f"--measure {seconds:g}: the number of seconds must be above 0 and at most {LONGEST:,}"
        )


def describe_twice(
    settings: ClientSettings,
    groups: Sequence[str],
    seconds: float | None,
    show: Callable[[str], None],
    *,
    admin: Any = None,
) -> tuple[ClusterDescription | None, ClusterDescription]:
    """Describe a cluster once, or twice with some time between.

    Args:
        settings: Settings of the clients.
        groups: Names of groups, or patterns; all groups if it is empty.
        seconds: Time between the two descriptions; None for one description.
        show: Function that shows the progress.
        admin: AdminClient of the cluster; a new one by default.

    Returns:
        The earlier description or None, and the last one.
    """
    from assignor.cluster.description import describe

    earlier = None
    if seconds is not None:
        earlier = describe(settings, groups, admin=admin, on_progress=show, has_other_groups=False, has_times=False)
        show(f"waiting {seconds:g} s to measure the lag again")
        time.sleep(seconds)
    return earlier, describe(settings, groups, admin=admin, on_progress=show, earlier=earlier)
