"""Target assignment of a streams group while it is computed."""

from __future__ import annotations

from assignor.reference.assign.server.streams_sticky.previous import Member
from assignor.reference.assign.server.streams_sticky.processes import Process, Processes
from assignor.reference.assign.server.streams_sticky.quota import Quota
from assignor.reference.assign.server.streams_sticky.topology import Task


class Target:
    """The tasks that members have got, and the quotas up to which they keep tasks.

    Attributes:
        processes: The processes of the group.
        active_quota: Quota of active tasks.
        total_quota: Quota of active and standby tasks together.
        active: Member id to its active tasks.
        standby: Member id to its standby tasks.
    """

    def __init__(self, processes: Processes, active_quota: Quota, total_quota: Quota) -> None:
        self.processes = processes
        self.active_quota = active_quota
        self.total_quota = total_quota
        members = [member for process in processes.values() for member in process.counts]
        self.active: dict[str, list[Task]] = {member: [] for member in members}
        self.standby: dict[str, list[Task]] = {member: [] for member in members}

    def process(self, member: Member) -> Process:
        """Return the process of a member."""
        return self.processes[member.process_id]

    def count(self, member: Member) -> int:
        """Return the number of tasks that a member has got, active and standby."""
        return self.process(member).counts[member.member_id]

    def give_active(self, task: Task, member: Member) -> None:
        """Give an active task to a member."""
        self.process(member).add(task, member.member_id)
        self._record_active(task, self.process(member), member.member_id)

    def give_active_to_least_loaded(self, task: Task, process: Process) -> None:
        """Give an active task to the least loaded member of a process."""
        self._record_active(task, process, process.add_to_least_loaded(task))

    def give_standby(self, task: Task, member: Member) -> None:
        """Give a standby task to a member."""
        self.process(member).add(task, member.member_id)
        self._record_standby(task, self.process(member), member.member_id)

    def give_standby_to_least_loaded(self, task: Task, process: Process) -> None:
        """Give a standby task to the least loaded member of a process."""
        self._record_standby(task, process, process.add_to_least_loaded(task))

    def _record_active(self, task: Task, process: Process, member: str) -> None:
        self.active[member].append(task)
        self.active_quota.count(process.counts[member])
        self.total_quota.count(process.counts[member])

    def _record_standby(self, task: Task, process: Process, member: str) -> None:
        self.standby[member].append(task)
        self.total_quota.count(process.counts[member])

    def is_less_loaded(self, member: Member, other: Member) -> bool:
        """Return True if a member has fewer tasks than another one, and its process has a lower load."""
        return self.process(member).load < self.process(other).load and self.count(member) < self.count(other)
