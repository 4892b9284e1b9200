"""Standby tasks: first to members that had a copy of the state, then to the least loaded processes without a copy."""

from __future__ import annotations

from assignor.reference.assign.server.streams_sticky.java_queue import JavaQueue
from assignor.reference.assign.server.streams_sticky.previous import Member, Previous
from assignor.reference.assign.server.streams_sticky.processes import Process
from assignor.reference.assign.server.streams_sticky.target import Target
from assignor.reference.assign.server.streams_sticky.topology import Task, by_number


def assign_standby(stateful: list[Task], replicas: int, previous: Previous, target: Target) -> None:
    """Give standby copies of each task to members of processes without a copy of it.

    Args:
        stateful: The tasks with state, by subtopology id and number.
        replicas: Number of standby copies of a task. If there are too few processes, the task gets fewer.
        previous: The members that had the tasks before.
        target: The target assignment with all active tasks.
    """
    missing: dict[Task, int] = {}
    for task in sorted(stateful, key=by_number, reverse=True):
        missing[task] = replicas
        while missing[task] > 0:
            member = _keeper(task, previous, target)
            if member is None:
                break
            target.give_standby(task, member)
            missing[task] -= 1
    queue = target.processes.queue()
    for task in reversed(stateful):
        for _ in range(missing[task]):
            if not _give_to_least_loaded(task, queue, target):
                break


def _keeper(task: Task, previous: Previous, target: Target) -> Member | None:
    """Return the member below its quota that had the task active, or else one that had it as standby."""
    quota = target.total_quota.size
    active = previous.active.get(task)
    if active is not None and task not in target.process(active).tasks and target.count(active) < quota:
        return active
    standby = _candidate(task, previous.standby.get(task, []), target)
    return standby if standby is not None and target.count(standby) < quota else None


def _candidate(task: Task, members: list[Member], target: Target) -> Member | None:
    """Return the first member, or a later one that is less loaded and whose process has no copy.

    Return None if the process of the first member has a copy, even if that of the candidate has none: the class does so
    up to 4.3.1, except for 4.2.2 (KAFKA-20899).
    """
    if not members or task in target.process(members[0]).tasks:
        return None
    candidate = members[0]
    for member in members[1:]:
        if task not in target.process(member).tasks and target.is_less_loaded(member, candidate):
            candidate = member
    return candidate


def _give_to_least_loaded(task: Task, queue: JavaQueue[Process], target: Target) -> bool:
    """Give a standby copy to the first process of the queue without a copy; return False if all have one."""
    passed: list[Process] = []
    found = False
    while queue and not found:
        process = queue.take()
        found = task not in process.tasks
        passed.append(process)
    if found:
        target.give_standby_to_least_loaded(task, passed[-1])
    for process in reversed(passed):
        queue.add(process)
    return found
