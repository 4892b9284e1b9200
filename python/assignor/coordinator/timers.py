"""The timers of all groups in one heap: what is due, in the order in which it comes due.

A heartbeat moves a timer to a later time, and most timers never fire. So a timer that is moved later stays where it is
in the heap, and is put where it belongs only when its old place comes up; one that is cancelled is thrown away then.
Setting a timer costs O(1) when it moves later, else O(log n); each place that comes up costs O(log n). Cancelled timers
never make up more than half of a heap.

Timers that are due at the same time fire in the order in which they were set, as in Kafka's timing wheel.
"""

from __future__ import annotations

import enum
import heapq
from dataclasses import dataclass, field

__all__ = ["Timer", "TimerKind", "Timers"]

_SMALL = 64
"""A heap up to this size is not worth tidying."""


class TimerKind(enum.Enum):
    """What ends when a timer is due."""

    __hash__ = object.__hash__  # looked up for each timer that is due

    JOIN_PHASE = "the join phase of a rebalance"
    SYNC_PHASE = "the wait for the syncs of a generation"
    SESSION = "the session of a member, or of a member id that is not used yet"
    RETENTION_CHECK = "the interval between two searches for expired offsets"


@dataclass(slots=True, eq=False)
class Timer:
    """One timer of a group or of a member.

    Attributes:
        kind: What ends when the timer is due.
        group_id: The group; "" for the coordinator's own timer.
        member_id: The member; "" for a timer of the whole group.
        deadline: Time in milliseconds at which the timer is due; None while it is not set.
    """

    kind: TimerKind
    group_id: str = ""
    member_id: str = ""
    deadline: int | None = field(init=False, default=None)
    _order: int = field(init=False, default=0)
    _queued: tuple[int, int, Timer] | None = field(init=False, default=None, repr=False)


class Timers:
    """All timers that are set.

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
