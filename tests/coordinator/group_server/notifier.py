"""Waiting for what happens in other threads and processes: no time is slept away, and every wait has an end."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LIMIT", "Notifier"]

Found = TypeVar("Found")

LIMIT = 60.0
"""Seconds that any one wait may take; far more than it should."""


class Notifier:
    """Where servers and members tell that something happened, and where a test waits for it."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0

    def notify(self) -> None:
        """Something happened; who waits looks again."""
        with self._condition:
            self._count += 1
            self._condition.notify_all()

    def until(self, find: Callable[[], Found | None], message: Callable[[], str], limit: float = LIMIT) -> Found:
        """Give what is looked for as soon as it is there, and true.

        Raises:
            TimeoutError: It is not within so many seconds; with the message.
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
