"""Timers of all groups in one heap, ordered by deadline.

Most timers never fire, because each heartbeat moves a session timer to a later deadline. A timer that moves later
therefore keeps its heap entry until that entry reaches the top; then the timer is queued again at its real deadline.
The entry of a cancelled timer is dropped at the top. Setting a timer costs O(1) if it moves later, else O(log n). Each
entry at the top costs O(log n). The heap is rebuilt when more than half of its entries are cancelled.

Timers with equal deadlines fire in the order in which they were set, as in Kafka's timing wheel.
"""

from __future__ import annotations

import enum
import heapq
from dataclasses import dataclass, field

__all__ = ["Timer", "TimerKind", "Timers"]

_SMALL = 64
"""Largest size at which a heap is not rebuilt."""


class TimerKind(enum.Enum):
    """Kind of timer; the value says what ends at its deadline."""

    __hash__ = object.__hash__  # in C; looked up for each timer that fires

    JOIN_PHASE = "the join phase of a rebalance"
    SYNC_PHASE = "the sync phase of a rebalance"
    SESSION = "the session of a member, or of a pending member id"
    RETENTION_CHECK = "the interval between two searches for expired offsets"


@dataclass(slots=True, eq=False)
class Timer:
    """One timer of a group or of a member.

    Attributes:
        kind: Kind of the timer.
        group_id: Id of the group; "" for the coordinator's own timer.
        member_id: Id of the member; "" for a timer of the whole group.
        deadline: Time in milliseconds at which the timer fires; None if it is not set.
    """

    kind: TimerKind
    group_id: str = ""
    member_id: str = ""
    deadline: int | None = field(init=False, default=None)
    _order: int = field(init=False, default=0)
    _queued: tuple[int, int, Timer] | None = field(init=False, default=None, repr=False)


class Timers:
    """Heap of all timers that are set.

    Example:
        >>> timers, timer = Timers(), Timer(TimerKind.JOIN_PHASE, "orders")
        >>> timers.set(timer, 30)
        >>> timers.set(timer, 50)
        >>> timers.next_deadline(), timers.pop(49), timers.pop(50) is timer
        (50, None, True)
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Timer]] = []
        self._order = 0
        self._stale = 0  # number of entries that belong to cancelled timers or were replaced

    def set(self, timer: Timer, deadline: int) -> None:
        """Set the deadline of a timer, and replace its previous deadline."""
        self._order += 1
        timer.deadline = deadline
        timer._order = self._order
        queued = timer._queued
        if queued is None:
            self._push(timer)
        elif deadline < queued[0]:
            self._push(timer)
            self._count_stale()

    def cancel(self, timer: Timer) -> None:
        """Cancel a timer; no effect if it is not set."""
        timer.deadline = None
        if timer._queued is not None:
            timer._queued = None
            self._count_stale()

    def next_deadline(self) -> int | None:
        """Return the earliest deadline; None if no timer is set."""
        self._settle()
        return self._heap[0][0] if self._heap else None

    def pop(self, now: int) -> Timer | None:
        """Remove and return the first timer that is due, with its `deadline`; None if no timer is due."""
        # A timer is never due before its entry, so the first entry usually decides.
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
        """Update the top of the heap until it is a timer at its real deadline."""
        heap = self._heap
        while heap:
            first = heap[0]
            timer = first[2]
            if timer._queued is not first:
                heapq.heappop(heap)
                self._stale -= 1
            elif timer._order != first[1]:
                assert timer.deadline is not None
                timer._queued = (timer.deadline, timer._order, timer)
                heapq.heapreplace(heap, timer._queued)
            else:
                return

    def _count_stale(self) -> None:
        """Count an entry that became stale, and rebuild the heap if most entries are."""
        self._stale += 1
        if 2 * self._stale > len(self._heap) > _SMALL:
            self._rebuild()

    def _rebuild(self) -> None:
        self._heap = [entry for entry in self._heap if entry[2]._queued is entry]
        heapq.heapify(self._heap)
        self._stale = 0
