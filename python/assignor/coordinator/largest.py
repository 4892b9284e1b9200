"""The largest of numbers that come and go."""

from __future__ import annotations

import heapq

__all__ = ["Largest"]

_SMALL = 64
"""A heap up to this size is not worth tidying."""


class Largest:
    """Numbers, each as often as it was added. Each call costs O(log n) on average.

    Example:
        >>> numbers = Largest()
        >>> for number in (3, 7, 7):
        ...     numbers.add(number)
        >>> numbers.remove(7)
        >>> numbers.get(), numbers.remove(7), numbers.get()
        (7, None, 3)
    """

    __slots__ = ("_counts", "_gone", "_heap")

    def __init__(self) -> None:
        # How often each number of the heap counts. One that is gone stays in both until it comes first.
        self._counts: dict[int, int] = {}
        self._heap: list[int] = []
        self._gone = 0

    def add(self, number: int) -> None:
        """Count a number once more."""
        count = self._counts.get(number)
        if count is None:
            heapq.heappush(self._heap, -number)
        elif count == 0:
            self._gone -= 1
        self._counts[number] = (count or 0) + 1

    def remove(self, number: int) -> None:
        """Count a number once less; it was added before."""
        count = self._counts[number] = self._counts[number] - 1
        if not count:
            self._gone += 1
            if 2 * self._gone > len(self._heap) > _SMALL:
                self._tidy()

    def get(self) -> int:
        """The largest; 0 where there is none."""
        while self._heap:
            number = -self._heap[0]
            if self._counts[number]:
                return number
            heapq.heappop(self._heap)
            del self._counts[number]
            self._gone -= 1
        return 0

    def _tidy(self) -> None:
        self._counts = {number: count for number, count in self._counts.items() if count}
        self._heap = [-number for number in self._counts]
        heapq.heapify(self._heap)
        self._gone = 0
