"""Highest number of events within one minute.

The log is in the order of offsets, but the clocks of brokers may differ: times may go back. Times within two minutes of
the latest time are stored. An older event is not counted together with others.
"""

from __future__ import annotations

from bisect import bisect_left, insort

__all__ = ["BusiestMinute"]

MINUTE = 60_000


class BusiestMinute:
    """Events of the last two minutes, and the highest number of events within one minute so far."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.most = 0

    def add(self, time: int) -> None:
        """Add an event."""
        self.most = max(self.most, 1)
        insort(self.times, time)
        kept = bisect_left(self.times, self.times[-1] - 2 * MINUTE + 1)
        del self.times[:kept]
        # Only minutes that include the new time have another number of events than before.
        first = bisect_left(self.times, time - MINUTE + 1)
        last = bisect_left(self.times, time + 1)
        for index in range(first, last):
            count = bisect_left(self.times, self.times[index] + MINUTE) - index
            self.most = max(self.most, count)
