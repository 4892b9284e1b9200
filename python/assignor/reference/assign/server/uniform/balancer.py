"""Choice of the next taker and the next giver of a topic: the subscribers that get a partition and that give one up.

Subscribers are sorted once per topic by number of partitions, then by position in the iteration order of Kafka's map of
members (`table_order.member_order`). Takers are a prefix of this list, givers a suffix. All takers have the same number
of partitions, which is their level; the same is true of givers. When each taker has got a partition, their level rises
by one, and the subscribers that started on the new level become takers. When each giver has given one up, their level
falls by one, and givers are added in the same way.
"""

from __future__ import annotations


class Balancer:
    """Takers and givers of a topic.

    Args:
        subscribers: Positions in `table_order.member_order` of the members that subscribe to the topic, ascending.
        sizes: The number of partitions of each member; the caller updates it after each move.
    """

    def __init__(self, subscribers: list[int], sizes: list[int]) -> None:
        self._sizes = sizes
        self._sorted = sorted(subscribers, key=lambda member: (sizes[member], member))
        self.difference = sizes[self._sorted[-1]] - sizes[self._sorted[0]]
        self._low_level = sizes[self._sorted[0]] - 1
        self._low_end = 0
        self._taker = 0
        self._high_level = sizes[self._sorted[-1]] + 1
        self._high_start = self._high_end = len(self._sorted)
        self._giver = len(self._sorted) - 1

    @property
    def is_balanced(self) -> bool:
        """True if the levels of givers and takers differ by at most one."""
        return self._high_level - self._low_level <= 1

    def next_taker(self) -> int:
        """Return the next subscriber with the fewest partitions."""
        if self._taker >= self._low_end:
            self._low_level += 1
            while self._low_end < len(self._sorted) and self._size(self._low_end) == self._low_level:
                self._low_end += 1
            self._taker = 0
        self._taker += 1
        return self._sorted[self._taker - 1]

    def next_giver(self) -> int | None:
        """Return the next subscriber with the most partitions; None if no subscriber is left."""
        if self._giver < self._high_start:
            if self._high_end <= self._high_start and self._high_start > 0:
                self._high_level = self._size(self._high_start - 1)
            else:
                self._high_level -= 1
            while self._high_start > 0 and self._size(self._high_start - 1) == self._high_level:
                self._high_start -= 1
            self._giver = self._high_end - 1
        if self._giver < 0:
            return None
        self._giver -= 1
        return self._sorted[self._giver + 1]

    def exclude_giver(self) -> None:
        """Exclude the last giver: it has no partition of this topic."""
        place, last = self._giver + 1, self._high_end - 1
        self._sorted[place], self._sorted[last] = self._sorted[last], self._sorted[place]
        self._high_end -= 1

    def _size(self, place: int) -> int:
        return self._sizes[self._sorted[place]]
