"""Questions that a watch asks the cluster again and again beside the log: who leads its partitions, who rebalances."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from assignor.cluster.background import Background
from assignor.cluster.confluent import rebalancing_groups
from assignor.cluster.log import OffsetsLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.cluster.connection import ClientSettings

Result = TypeVar("Result")

LEADERS_SECONDS = 1.0
"""Time between two requests for the leaders of the partitions of the log."""

REBALANCES_SECONDS = 10.0
"""Time between two requests for the groups that are in a rebalance."""

TIMEOUT = 3.0
"""Seconds to wait for an answer."""


class Poll(Generic[Result]):
    """Call that is repeated in a thread of its own.

    Args:
        call: The function; it has no result if it raises `ClusterError`.
        pause: Seconds from the start of a call to the start of the next.
    """

    def __init__(self, call: Callable[[], Result], pause: float) -> None:
        self._background = Background(call)
        self._pause = pause
        self._started: float | None = None

    def take(self) -> Result | None:
        """Return a new result, only once, or None; start the next call if it is due."""
        found = self._background.take()
        now = time.monotonic()
        if self._started is None or now - self._started >= self._pause:
            self._started = now
            self._background.start()
        return found


def poll_leaders(settings: ClientSettings, admin: Any) -> Poll[dict[int, int | None]]:
    """Return a poll of the leaders of the partitions of `__consumer_offsets`, see `OffsetsLog.leaders`."""
    log = OffsetsLog(dataclasses.replace(settings, timeout=TIMEOUT))
    return Poll(lambda: log.leaders(admin), LEADERS_SECONDS)


def poll_rebalances(settings: ClientSettings, admin: Any) -> Poll[list[str]]:
    """Return a poll of the groups that are waiting for members to join."""
    quick = dataclasses.replace(settings, timeout=TIMEOUT)
    return Poll(lambda: rebalancing_groups(quick, admin), REBALANCES_SECONDS)
