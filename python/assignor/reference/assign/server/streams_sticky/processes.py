"""Processes of a streams group: their members, how loaded they are, and which tasks they have."""

from __future__ import annotations

from assignor.reference.assign.server.streams_sticky.java_queue import JavaQueue
from assignor.reference.assign.server.streams_sticky.previous import Member
from assignor.reference.assign.server.streams_sticky.topology import Task
from assignor.reference.assign.table_order import table_of_names


class Process:
    """A process: the members that run in it, as its threads.

    Attributes:
        counts: Member id to the number of tasks that the member has got, in table order.
        tasks: Tasks that the process has a copy of.
    """

    def __init__(self, members: list[str]) -> None:
        self.counts = dict.fromkeys(table_of_names(members), 0)
        self.tasks: set[Task] = set()
        self._queue: JavaQueue[str] | None = None

    @property
    def load(self) -> float:
        """Number of tasks per member."""
        return sum(self.counts.values()) / len(self.counts)

    def add(self, task: Task, member: str) -> None:
        """Add a task of a member; the queue of members is no longer valid."""
        self._queue = None
        self._count(task, member)

    def add_to_least_loaded(self, task: Task) -> str:
        """Add a task of the member with the fewest tasks, and return the member."""
        if self._queue is None:
            self._queue = JavaQueue(self.counts.__getitem__, self.counts)
        member = self._queue.take()
        self._count(task, member)
        self._queue.add(member)
        return member

    def _count(self, task: Task, member: str) -> None:
        self.tasks.add(task)
        self.counts[member] += 1


class Processes(dict[str, Process]):
    """Process id to process, in table order.

    Args:
        members: The members in table order.
    """

    def __init__(self, members: list[Member]) -> None:
        ids: dict[str, list[str]] = {}
        for member in members:
            ids.setdefault(member.process_id, []).append(member.member_id)
        capacity = 1 << max(len(members) - 1, 0).bit_length()
        super().__init__((process, Process(ids[process])) for process in table_of_names(list(ids), capacity))

    def queue(self) -> JavaQueue[Process]:
        """Return a queue of all processes, least loaded first."""
        return JavaQueue(lambda process: process.load, self.values())
