"""Timers of all groups, by deadline.

Most timers never fire, because each heartbeat moves a session timer to a later deadline. Timers with equal deadlines
share one `Deadline`, which counts them, and one list, which keeps the order in which they were set. A timer that moves
leaves a stale entry in its old list. A list is removed with its last timer, and rebuilt when most of its entries are
stale. So setting or cancelling a timer costs O(1), and O(log n) for the first timer at a deadline. A heap orders the
deadlines. A deadline without timers stays in the heap until it reaches the top, or until most deadlines of the heap
have no timers.

Timers with equal deadlines fire in the order in which they were set, as in Kafka's timing wheel.
"""

from __future__ import annotations

import enum
import heapq
from dataclasses import dataclass, field

__all__ = ["Timer", "TimerKind", "Timers"]

_SMALL = 64
"""Number of stale entries up to which neither a list nor the heap is rebuilt."""


_NEVER = 2**63
"""Time after all deadlines."""


class TimerKind(enum.Enum):
    """Kind of timer; the value says what ends at its deadline."""

    # `object.__hash__` is implemented in C, unlike the hash of Enum. Each timer that fires looks up its kind.
    __hash__ = object.__hash__

    JOIN_PHASE = "the join phase of a rebalance"
    SYNC_PHASE = "the sync phase of a rebalance"
    SESSION = "the session of a member, or of a pending member id"
    RETENTION_CHECK = "the interval between two searches for expired offsets"


@dataclass(slots=True, eq=False)
class Deadline:
    """A time at which timers fire.

    Attributes:
        time: Time in milliseconds.
        count: Number of timers that are set to this deadline.
    """

    time: int
    count: int = 0


@dataclass(slots=True, eq=False)
class Timer:
    """One timer of a group or of a member.

    Attributes:
        kind: Kind of the timer.
        group_id: Id of the group; "" for the coordinator's own timer.
        member_id: Id of the member; "" for a timer of the whole group.
        deadline: Deadline, which timers with the same time share; None if the timer is not set.
    """

    kind: TimerKind
    group_id: str = ""
    member_id: str = ""
    deadline: Deadline | None = field(init=False, default=None)


class Timers:
    """All timers that are set.

    Attributes:
        quiet_until: Time before which no timer is due; at most 2**63, which no time reaches.
        fired_at: Deadline of the timer that `pop` returned last.

    Example:
        >>> timers, timer = Timers(), Timer(TimerKind.JOIN_PHASE, "orders")
        >>> timers.set(timer, 30)
        >>> timers.set(timer, 50)
        >>> timers.next_deadline(), timers.pop(49), timers.pop(50) is timer
        (50, None, True)
    """

    def __init__(self) -> None:
        self.quiet_until = _NEVER
        self.fired_at = 0
        # Timers that were set to each deadline. An entry is stale if its timer now has another deadline, or if a later
        # entry of the list has the same timer.
        self._by_time: dict[int, tuple[Deadline, list[Timer]]] = {}
        self._heap: list[int] = []
        # The deadline that is firing, and its timers in reversed order. Timers that are set meanwhile fire later.
        self._due = Deadline(0)
        self._order: list[Timer] = []

    def set(self, timer: Timer, time: int) -> None:
        """Set the deadline of a timer to a time, and replace its previous deadline."""
        previous = timer.deadline
        found = self._by_time.get(time)
        if found is None:
            found = self._add(time)
        deadline, timers = found
        timers.append(timer)
        deadline.count += 1
        timer.deadline = deadline
        if previous is not None:
            previous.count -= 1
            if not previous.count:
                self._discard(previous)
            if len(timers) > 2 * deadline.count + _SMALL:
                timers[:] = reversed(_current(deadline, timers))

    def cancel(self, timer: Timer) -> None:
        """Cancel a timer; no effect if it is not set."""
        previous = timer.deadline
        if previous is not None:
            timer.deadline = None
            previous.count -= 1
            if not previous.count:
                self._discard(previous)

    def next_deadline(self) -> int | None:
        """Return the time of the earliest deadline; None if no timer is set."""
        if self._due.count:
            self._put_back()
        heap = self._heap
        while heap and heap[0] not in self._by_time:
            heapq.heappop(heap)
        if not heap:
            self.quiet_until = _NEVER
            return None
        time = heap[0]
        if time != self.quiet_until:
            self.quiet_until = min(time, _NEVER)
        return time

    def pop(self, now: int) -> Timer | None:
        """Cancel and return the first timer that is due; None if no timer is due. `fired_at` has its time."""
        while True:
            due = self._due
            if due.count and self._heap and self._heap[0] < due.time:
                self._put_back()
                due = self._due
            while due.count:
                timer = self._order.pop()
                if timer.deadline is due:
                    timer.deadline = None
                    due.count -= 1
                    self.fired_at = due.time
                    return timer
            if not self._heap or self._heap[0] > now:
                self._order = []
                return None
            found = self._by_time.pop(heapq.heappop(self._heap), None)
            if found is not None:
                self._due, self._order = found[0], _current(*found)

    def _add(self, time: int) -> tuple[Deadline, list[Timer]]:
        found = self._by_time[time] = Deadline(time), []
        heapq.heappush(self._heap, time)
        if time < self.quiet_until:
            self.quiet_until = time
        return found

    def _put_back(self) -> None:
        """Put back the timers that have not fired; they precede timers that were set later, to the same time."""
        due, self._due = self._due, Deadline(0)
        timers = [timer for timer in reversed(self._order) if timer.deadline is due]
        found = self._by_time.get(due.time)
        if found is not None:
            later = _current(*found)
            later.reverse()
            for timer in later:
                timer.deadline = due
            due.count += len(later)
            timers += later
        self._by_time[due.time] = due, timers
        heapq.heappush(self._heap, due.time)

    def _discard(self, deadline: Deadline) -> None:
        """Forget a deadline without timers, unless it is firing."""
        found = self._by_time.get(deadline.time)
        if found is not None and found[0] is deadline:
            del self._by_time[deadline.time]
            if len(self._heap) > 2 * len(self._by_time) + _SMALL:
                self._heap = list(self._by_time)
                heapq.heapify(self._heap)


def _current(deadline: Deadline, timers: list[Timer]) -> list[Timer]:
    """Return the timers of a deadline without stale entries, in reversed order."""
    return [timer for timer in dict.fromkeys(reversed(timers)) if timer.deadline is deadline]
