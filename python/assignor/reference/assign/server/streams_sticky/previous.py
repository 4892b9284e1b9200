"""The members of a streams group, and the member that had a task before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from assignor.reference.assign.server.streams_sticky.topology import Task


@dataclass(frozen=True, slots=True)
class Member:
    """A member of a streams group: a thread of a process, with the tasks of its previous target assignment."""

    member_id: str
    process_id: str
    active: Sequence[Task]
    standby: Sequence[Task]


class Previous:
    """Members by the tasks that they had before.

    Attributes:
        active: Task to the member that had it active; if several had it, to the last.
        standby: Task to the members that had it as standby.
    """

    def __init__(self, members: list[Member]) -> None:
        self.active: dict[Task, Member] = {}
        self.standby: defaultdict[Task, list[Member]] = defaultdict(list)
        for member in members:
            for task in member.active:
                self.active[task] = member
            for task in dict.fromkeys(member.standby):
                self.standby[task].append(member)
