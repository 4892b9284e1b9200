"""Timers of all groups, by deadline.

Most timers never fire, because each heartbeat moves a session timer to a later deadline. Timers with equal deadlines
are in one table, which is ordered by insertion, and a heap has the deadlines. Setting or cancelling a timer costs O(1),
and O(log n) for the first timer at a deadline. The heap keeps the deadline of an empty table until it reaches the top,
or until most deadlines of the heap have no table.

Timers with equal deadlines fire in the order in which they were set, as in Kafka's timing wheel.
"""

from __future__ import annotations

import enum
import heapq
from dataclasses import dataclass, field

__all__ = ["Timer", "TimerKind", "Timers"]

_SMALL = 64
"""Number of deadlines without timers up to which the heap is not rebuilt."""


_NEVER = 2**63
"""Time after all deadlines."""


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


class Timers:
    """All timers that are set.

    Attributes:
        quiet_until: Time before which no timer is due; at most 2**63, which no time reaches.

    Example:
        >>> timers, timer = Timers(), Timer(TimerKind.JOIN_PHASE, "orders")
        >>> timers.set(timer, 30)
        >>> timers.set(timer, 50)
        >>> timers.next_deadline(), timers.pop(49), timers.pop(50) is timer
        (50, None, True)
    """

    def __init__(self) -> None:
        self.quiet_until = _NEVER
        self._by_deadline: dict[int, dict[Timer, None]] = {}
        self._heap: list[int] = []
        # Timers of the deadline that is firing, and the same timers in reversed order. Timers that are set meanwhile
        # fire later.
        self._due_deadline = 0
        self._due: dict[Timer, None] = {}
        self._order: list[Timer] = []

    def set(self, timer: Timer, deadline: int) -> None:
        """Set the deadline of a timer, and replace its previous deadline."""
        if timer.deadline is not None:
            self._remove(timer, timer.deadline)
        timer.deadline = deadline
        timers = self._by_deadline.get(deadline)
        if timers is not None:
            timers[timer] = None
            return
        self._by_deadline[deadline] = {timer: None}
        heapq.heappush(self._heap, deadline)
        if deadline < self.quiet_until:
            self.quiet_until = deadline

    def cancel(self, timer: Timer) -> None:
        """Cancel a timer; no effect if it is not set."""
        if timer.deadline is not None:
            self._remove(timer, timer.deadline)
            timer.deadline = None

    def next_deadline(self) -> int | None:
        """Return the earliest deadline; None if no timer is set."""
        if self._due:
            self._put_back()
        heap = self._heap
        while heap and heap[0] not in self._by_deadline:
            heapq.heappop(heap)
        if not heap:
            self.quiet_until = _NEVER
            return None
        deadline = heap[0]
        if deadline != self.quiet_until:
            self.quiet_until = min(deadline, _NEVER)
        return deadline

    def pop(self, now: int) -> Timer | None:
        """Remove and return the first timer that is due, with its `deadline`; None if no timer is due."""
        while True:
            if self._due and self._heap and self._heap[0] < self._due_deadline:
                self._put_back()
            while self._due:
                timer = self._order.pop()
                if timer in self._due:
                    del self._due[timer]
                    return timer
            if not self._heap or self._heap[0] > now:
                return None
            self._due_deadline = heapq.heappop(self._heap)
            self._due = self._by_deadline.pop(self._due_deadline, {})
            self._order = list(reversed(self._due))

    def _put_back(self) -> None:
        """Put timers that have not fired back into their table, before those that were set later."""
        self._by_deadline[self._due_deadline] = self._due | self._by_deadline.get(self._due_deadline, {})
        heapq.heappush(self._heap, self._due_deadline)
        self._due = {}

    def _remove(self, timer: Timer, deadline: int) -> None:
        timers = self._by_deadline.get(deadline)
        if timers is None or timer not in timers:
            self._due.pop(timer, None)
            return
        del timers[timer]
        if not timers:
            del self._by_deadline[deadline]
            if len(self._heap) > 2 * len(self._by_deadline) + _SMALL:
                self._heap = list(self._by_deadline)
                heapq.heapify(self._heap)
