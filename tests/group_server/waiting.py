"""Waiting for what happens in other threads and processes: no time is slept away, and every wait has an end."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LIMIT", "News"]

LIMIT = 20.0
"""Seconds that any one wait may take; far more than it should."""


class News:
    """Where servers and members tell that something happened, and where a test waits for it."""

    def __init__(self) -> None:
        self._told = threading.Condition()
        self._count = 0

    def tell(self) -> None:
        """Something happened; who waits looks again."""
        with self._told:
            self._count += 1
            self._told.notify_all()

    def until(self, condition: Callable[[], object], message: Callable[[], str] | str, limit: float = LIMIT) -> None:
        """Return as soon as a condition is true.

        Raises:
            TimeoutError: It is not within so many seconds; with the message.
        """
        end = time.monotonic() + limit
        while True:
            with self._told:
                seen = self._count
            if condition():
                return
            with self._told:
                if not self._told.wait_for(lambda: self._count != seen, max(0.0, end - time.monotonic())):  # noqa: B023
                    raise TimeoutError(f"after {limit} s: {message if isinstance(message, str) else message()}")
