"""Commits and callbacks that the application has not answered yet."""

from __future__ import annotations

import enum

__all__ = ["Task", "Tasks"]


class Task(enum.Enum):
    """Kind of request to the application."""

    COMMIT = "commit offsets"
    REVOKE = "call onPartitionsRevoked for a part of the partitions"
    ASSIGN = "call onPartitionsAssigned"
    RELEASE = "call onPartitionsRevoked or onPartitionsLost for all partitions"


class Tasks:
    """Pending tasks of one member, in one sequence of numbers."""

    def __init__(self) -> None:
        self._pending: dict[int, Task] = {}
        self._expired_commits: set[int] = set()
        self._last = 0

    def begin(self, task: Task) -> int:
        """Start a task and return its number."""
        self._last += 1
        self._pending[self._last] = task
        return self._last

    def is_pending(self, task: Task) -> bool:
        """Return True if a task of this kind is pending."""
        return task in self._pending.values()

    def has_commit(self, number: int) -> bool:
        """Return True if a commit with this number can be answered: it is pending, or it expired without an answer."""
        return self._pending.get(number) is Task.COMMIT or number in self._expired_commits

    def has_callback(self, number: int) -> bool:
        """Return True if a callback with this number is pending."""
        return self._pending.get(number) not in (None, Task.COMMIT)

    def finish_commit(self, number: int) -> bool:
        """Remove an answered commit. Return True if the answer came in time."""
        if number in self._expired_commits:
            self._expired_commits.discard(number)
            return False
        del self._pending[number]
        return True

    def finish_callback(self, number: int) -> Task:
        """Remove an answered callback, and return its kind."""
        return self._pending.pop(number)

    def expire_commit(self) -> bool:
        """Stop waiting for the pending commit. Return True if there was one."""
        for number, task in self._pending.items():
            if task is Task.COMMIT:
                del self._pending[number]
                self._expired_commits.add(number)
                return True
        return False
