"""File with the page of a live cluster, which is written again while events happen and when the watch ends."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError
from assignor.page.html import check_page, write_html

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignor.page.watch_page import WatchPage

WRITE_SECONDS = 30.0
"""Shortest time between two writes of the page while events happen."""

_JOIN_SECONDS = 0.05


class PageFile:
    """File with the page of a watch.

    It is written in a thread of its own, for which the watch waits, so that Ctrl-C can end a long write.

    Args:
        path: The HTML file.
        page: The page.
        notice: Function that gets a sentence if the page cannot be written while the watch goes on.
        is_stopped: Function that returns True if the watch ends, so that nothing waits for a write.
        clock: Function that returns seconds.

    Raises:
        IllegalArgumentError: The page cannot be written to the path.
    """

    def __init__(
        self,
        path: str,
        page: WatchPage,
        notice: Callable[[str], None],
        is_stopped: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        check_page(path)
        self._path = path
        self._page = page
        self._notice = notice
        self._is_stopped = is_stopped
        self._clock = clock
        self._written: float | None = None
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def write_if_due(self) -> None:
        """Write the page unless it was written less than `WRITE_SECONDS` ago."""
        now = self._clock()
        if self._written is None or now - self._written >= WRITE_SECONDS:
            self._written = now
            self._start()
            while self._is_writing(_JOIN_SECONDS) and not self._is_stopped():
                pass
            try:
                self._raise_error()
            except IllegalArgumentError as error:
                self._notice(str(error))

    def finish(self, seconds: float | None = None) -> None:
        """Write the page for the last time.

        Args:
            seconds: How long to wait for it; None for no limit. After that, the page stays as it was written before.

        Raises:
            IllegalArgumentError: The file cannot be written.
        """
        if seconds is None:
            self._is_writing(None)
            self._error = None
            self.write()
            return
        end = time.monotonic() + seconds
        if not self._is_writing(seconds):
            self._error = None
            self._start()
            if not self._is_writing(max(0, end - time.monotonic())):
                self._raise_error()
                return
        lacks = "lacks the last events" if Path(self._path).exists() else "was not written"
        self._notice(f"the page {self._path} {lacks}: writing it takes longer than {seconds:g} s")

    def _start(self) -> None:
        """Start to write the page in a thread."""
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def _write(self) -> None:
        try:
            self.write()
        except Exception as error:
            self._error = error

    def _is_writing(self, seconds: float | None) -> bool:
        """Wait some seconds, or without a limit, for the end of the write; return True if it goes on."""
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                return True
            self._thread = None
        return False

    def _raise_error(self) -> None:
        """Raise the error of the last write."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def write(self) -> None:
        """Write the page.

        Raises:
            IllegalArgumentError: The file cannot be written.
        """
        write_html(self._path, self._page.html())
