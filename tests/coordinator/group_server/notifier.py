"""Condition for events in other threads and processes: a test waits for it without polling, and with a time limit."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LIMIT", "Notifier"]

Found = TypeVar("Found")

LIMIT = 60.0
"""Time limit of a wait in seconds, far more than any wait should take."""


class Notifier:
    """Condition that servers and members notify of each event, and on which a test waits."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0

    def notify(self) -> None:
        """Report an event; waiting threads check again."""
        with self._condition:
            self._count += 1
            self._condition.notify_all()

    def until(self, find: Callable[[], Found | None], message: Callable[[], str], limit: float = LIMIT) -> Found:
        """Wait until `find` returns a true value, and return it.

        Raises:
            TimeoutError: The time limit passed; the error has the message.
        """
        end = time.monotonic() + limit
        while True:
            with self._condition:
                seen = self._count
            if found := find():
                return found
            if not self._wait_for_more(seen, end - time.monotonic()):
                raise TimeoutError(f"after {limit} s: {message()}")

    def _wait_for_more(self, seen: int, limit: float) -> bool:
        with self._condition:
            return self._condition.wait_for(lambda: self._count != seen, max(0.0, limit))
