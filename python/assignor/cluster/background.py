"""Calls in a thread of their own, so that a slow answer of one broker does not delay the events of the others."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Generic, TypeVar

from assignor.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Callable

Result = TypeVar("Result")


class Background(Generic[Result]):
    """Repeated call in a thread of its own, one at a time.

    Args:
        call: The function. If it raises `ClusterError`, there is no result.
    """

    def __init__(self, call: Callable[[], Result]) -> None:
        self._call = call
        self._thread: threading.Thread | None = None
        self._results: list[Result] = []

    def start(self) -> None:
        """Start a call, unless one is running."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def take(self, seconds: float = 0) -> Result | None:
        """Return the result of a call that has ended, only once; None without a new result.

        Args:
            seconds: How long to wait for the end of the call.
        """
        if self._thread is None:
            return None
        self._thread.join(seconds)
        if self._thread.is_alive():
            return None
        self._thread = None
        return self._results.pop() if self._results else None

    def _run(self) -> None:
        with contextlib.suppress(ClusterError):  # `Watch` reports brokers that do not answer
            self._results.append(self._call())
