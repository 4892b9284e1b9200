"""Page of a live cluster for an HTTP server: made again when it is asked for, if it is old."""

from __future__ import annotations

import gzip
import threading
import time
from typing import TYPE_CHECKING

from assignor.page.data import Live
from assignor.replay.watch_server import Served

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.page.watch_page import WatchPage

FRESH_SECONDS = 10.0
"""Age of a page at which a request makes a new one."""

_COMPRESSION = 4
"""Higher levels of gzip take longer than they save on a fast network."""


class LivePage:
    """Page of a watch that browsers keep open.

    Args:
        page: The page.
        note: Function that returns why the page is not complete, as one line; None if it is.
        refresh_seconds: Time after which a browser asks whether there is a newer page.
        clock: Function that returns seconds.
    """

    def __init__(
        self,
        page: WatchPage,
        note: Callable[[], str | None],
        *,
        refresh_seconds: float = FRESH_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._page = page
        self._note = note
        self._refresh_seconds = refresh_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._served: Served | None = None
        self._made = 0.0

    def current(self) -> Served:
        """Return the page. Requests that come while a page is made wait for that one."""
        with self._lock:
            if self._served is None or self._clock() - self._made >= FRESH_SECONDS:
                version = str(time.time_ns() // 1_000_000)
                note = self._note()
                notes = () if note is None else (f"This page is not complete: {note}.",)
                text = self._page.html(Live(version, self._refresh_seconds), notes).encode()
                self._served = Served(version, text, gzip.compress(text, _COMPRESSION))
                self._made = self._clock()
            return self._served
