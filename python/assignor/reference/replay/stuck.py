"""Stuck members: members that committed offsets regularly and have stopped.

A commit does not name the member that sends it. Replay attributes it to the member that owns the partition. Commits
that follow each other closely, such as those of several partitions, are one burst. An interval is the time from the
first commit of a burst to the first commit of the next one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["CommitTimes"]

MAX_INTERVALS = 9
MIN_INTERVALS = 5


@dataclass
class CommitTimes:
    """Times of the commits of a member: the last one, and the latest intervals between bursts.

    `burst` is the first commit of the last burst. `stuck_since` is the last commit before the member became stuck; None
    if it is not stuck.
    """

    last: int | None = None
    burst: int | None = None
    intervals: list[int] = field(default_factory=list)
    stuck_since: int | None = None

    def add(self, at: int, shortest: int) -> int | None:
        """Add a commit; if the member was stuck until now, return the time of its previous commit.

        A commit within `shortest` milliseconds of the first one of a burst belongs to the burst.
        """
        since, self.stuck_since = self.stuck_since, None
        if self.last is not None and at <= self.last:
            return since
        self.last = at
        if self.burst is not None and since is None:
            if at - self.burst < shortest:
                return since
            self.intervals = [*self.intervals, at - self.burst][-MAX_INTERVALS:]
        self.burst = at
        return since

    def usual(self) -> int:
        """Return the median of the latest intervals."""
        return sorted(self.intervals)[len(self.intervals) // 2]

    def deadline(self, factor: int) -> int | None:
        """Return the time at which the member becomes stuck; None if it is stuck or its commits are not regular."""
        if self.last is None or self.stuck_since is not None or len(self.intervals) < MIN_INTERVALS:
            return None
        if max(self.intervals) > factor * self.usual():
            return None
        return self.last + factor * self.usual()
