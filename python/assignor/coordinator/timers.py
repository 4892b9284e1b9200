"""The timers of all groups in one heap: what is due, in the order in which it comes due.

A heartbeat moves a timer to a later time, and most timers never fire. So a timer that is moved later stays where it is
in the heap, and is put where it belongs only when its old place comes up; one that is cancelled is thrown away then.
Setting a timer costs O(1) when it moves later, else O(log n); each place that comes up costs O(log n). Cancelled timers
never make up more than half of a heap.

Timers that are due at the same time fire in the order in which they were set, as in Kafka's timing wheel.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Timer", "Timers"]

_SMALL = 64
"""A heap up to this size is not worth tidying."""


class Timer:
    """One timer: what it calls, and when.

    Attributes:
        fire: What is called, with the timer itself, when it is due.
        group_id: Whose it is.
        member_id: Which member's; "" for one of the whole group.
        deadline: When it is due, in milliseconds; None while it is not set.
    """

    __slots__ = ("_order", "_queued", "deadline", "fire", "group_id", "member_id")

    def __init__(self, fire: Callable[[Timer], None], group_id: str, member_id: str = "") -> None:
        self.fire = fire
        self.group_id = group_id
        self.member_id = member_id
        self.deadline: int | None = None
        self._order = 0
        self._queued: tuple[int, int, Timer] | None = None


class Timers:
    """All timers that are set.

    Example:
        >>> fired = []
        >>> timers, timer = Timers(), Timer(lambda timer: fired.append(timer.group_id), "orders")
        >>> timers.set(timer, 30)
        >>> timers.set(timer, 50)
        >>> timers.next_deadline(), timers.pop(49), timers.pop(50) is timer
        (50, None, True)
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._order = 0
        self._dead = 0

    def set(self, timer: Timer, deadline: int) -> None:
        """Have a timer fire at that time and no other."""
        self._order += 1
        timer.deadline = deadline
        timer._order = self._order
        queued = timer._queued
        if queued is None:
            self._push(timer)
        elif deadline < queued[0]:
            self._push(timer)
            self._leave_one_dead()

    def cancel(self, timer: Timer) -> None:
        """Have it not fire; one that is not set may be cancelled."""
        timer.deadline = None
        if timer._queued is not None:
            timer._queued = None
            self._leave_one_dead()

    def next_deadline(self) -> int | None:
        """When the next timer is due; None if none is set."""
        self._settle()
        return self._heap[0][0] if self._heap else None

    def pop(self, now: int) -> Timer | None:
        """Take the next timer that is due by that time; its `deadline` says when it was. None if there is none."""
        # A timer is never due before its place in the heap says, so mostly the first of them tells all.
        if not self._heap or self._heap[0][0] > now:
            return None
        self._settle()
        if not self._heap or self._heap[0][0] > now:
            return None
        timer = heapq.heappop(self._heap)[2]
        timer._queued = None
        return timer

    def _push(self, timer: Timer) -> None:
        assert timer.deadline is not None
        timer._queued = (timer.deadline, timer._order, timer)
        heapq.heappush(self._heap, timer._queued)

    def _settle(self) -> None:
        """Make the first of the heap one that is really next."""
        heap = self._heap
        while heap:
            first = heap[0]
            timer = first[2]
            if timer._queued is not first:
                heapq.heappop(heap)
                self._dead -= 1
            elif timer._order != first[1]:
                assert timer.deadline is not None
                timer._queued = (timer.deadline, timer._order, timer)
                heapq.heapreplace(heap, timer._queued)
            else:
                return

    def _leave_one_dead(self) -> None:
        """Count a place in the heap that nobody stands at any more."""
        self._dead += 1
        if 2 * self._dead > len(self._heap) > _SMALL:
            self._tidy()

    def _tidy(self) -> None:
        self._heap = [entry for entry in self._heap if entry[2]._queued is entry]
        heapq.heapify(self._heap)
        self._dead = 0
