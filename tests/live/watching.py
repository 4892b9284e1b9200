"""Watch in a thread, and the events that it has reported so far with the times of the reports."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Self

from assignor.cluster.connection import ClientSettings
from assignor.replay.watch import Watch
from assignor.replay.watch_loop import WatchLoop, WatchOptions

if TYPE_CHECKING:
    from collections.abc import Callable

Event = dict[str, Any]

TIMEOUT = 90
"""Seconds until a condition must hold."""


class Watching:
    """Running watch of a log, or of another class. `with` stops it.

    Attributes:
        watch: The watch.
        events: Events so far.
        delays: Milliseconds from the time of each event until it was reported.
        notices: Notices so far.
    """

    def __init__(
        self,
        address: str,
        *,
        settings: ClientSettings | None = None,
        make: Callable[..., WatchLoop] = Watch,
        **options: Any,
    ) -> None:
        self.events: list[Event] = []
        self.delays: list[int] = []
        self.notices: list[str] = []
        self._errors: list[Exception] = []
        given = settings or ClientSettings.read(address)
        self.watch = make(given, WatchOptions(**options), self._report, self.notices.append)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        until(lambda: self.noticed("watching ") or self.noticed("waiting for the first") or bool(self._errors))
        return self

    def __exit__(self, *error: object) -> None:
        self.watch.stop()
        self._thread.join(TIMEOUT)
        assert [] == self._errors

    def noticed(self, text: str) -> bool:
        """Return True if a notice has a text."""
        return any(text in notice for notice in self.notices)

    def of(self, group: str, event: str, **fields: Any) -> list[Event]:
        """Return the events so far of a group and a kind that have the given values in their fields."""
        found = [each for each in list(self.events) if (each["group"], each["event"]) == (group, event)]
        return [each for each in found if all(each[name] == value for name, value in fields.items())]

    def _run(self) -> None:
        try:
            self.watch.run()
        except Exception as error:
            self._errors.append(error)

    def _report(self, events: list[Event]) -> None:
        now = time.time_ns() // 1_000_000
        self.delays += [now - event["at"] for event in events]
        self.events += events


def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, f"not within {TIMEOUT} s: {condition}"
        time.sleep(0.05)
