"""Number of tasks up to which a member keeps the tasks that it had before."""

from __future__ import annotations


class Quota:
    """Quota of tasks per member: the tasks divided by the members, rounded up.

    Each member that reaches the quota leaves the division with its tasks. So the quota can fall while tasks are
    assigned.

    Args:
        tasks: Number of tasks of the group.
        members: Number of members.

    Example:
        >>> quota = Quota(tasks=5, members=3)
        >>> quota.size, quota.count(2), quota.count(2), quota.size
        (2, None, None, 1)
    """

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members

    @property
    def size(self) -> int:
        """The quota; 0 if no member is left."""
        return -(-self._tasks // self._members) if self._members else 0

    def count(self, tasks: int) -> None:
        """Take a member out of the division if its number of tasks is the quota."""
        if tasks == self.size:
            self._members -= 1
            self._tasks -= tasks
