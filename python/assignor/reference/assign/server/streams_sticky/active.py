"""Active tasks: first to members that had them, then to those with standby copies, then to the least loaded process."""

from __future__ import annotations

from assignor.reference.assign.server.streams_sticky.previous import Member, Previous
from assignor.reference.assign.server.streams_sticky.target import Target
from assignor.reference.assign.server.streams_sticky.topology import Task, by_id, by_number


def assign_active(tasks: list[Task], previous: Previous, target: Target) -> None:
    """Give each task to one member.

    Args:
        tasks: The tasks, by subtopology id and number.
        previous: The members that had the tasks before.
        target: The target assignment, without tasks.
    """
    in_turn = sorted(tasks, key=by_number)
    left = [task for task in in_turn if not _keep(task, previous.active.get(task), target)]
    left = [task for task in left if not _keep(task, _candidate(previous.standby.get(task, []), target), target)]
    queue = target.processes.queue()
    for task in sorted(left, key=by_id):
        process = queue.take()
        target.give_active_to_least_loaded(task, process)
        queue.add(process)


def _keep(task: Task, member: Member | None, target: Target) -> bool:
    """Give a task to a member below its quota; return False if the member has its quota, or is None."""
    if member is None or target.count(member) >= target.active_quota.size:
        return False
    target.give_active(task, member)
    return True


def _candidate(members: list[Member], target: Target) -> Member | None:
    """Return the first member, or a later one that is less loaded than each candidate before it."""
    candidate = None
    for member in members:
        if candidate is None or target.is_less_loaded(member, candidate):
            candidate = member
    return candidate
