"""Picture of the members that have the tasks of a streams group, while members join and leave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assignor.server import MemberTasks, StreamsMember, StreamsStickyAssignor

TOPOLOGY = {"0": (4, True), "1": (3, False)}
"""Subtopology id to the number of its tasks, and True if they have state."""

CHANGES = {"a and b start": "ab", "c joins": "abc", "a leaves": "bc"}
"""What happens, and the members afterwards; each member is a process of its own."""

Tasks = Mapping[str, MemberTasks]


def task_ownership() -> str:
    """Return a text with the member of each active and standby task after each change."""
    after: Tasks = {}
    names = [[f"{id}_{number}" for number in range(count)] for id, (count, _) in TOPOLOGY.items()]
    lines = [("", "", cells(names), "tasks of each member")]
    for change, members in CHANGES.items():
        before = after
        given = {member: StreamsMember(member, *before.get(member, ())) for member in members}
        after = StreamsStickyAssignor().assign(TOPOLOGY, given, standby_replicas=1)
        counts = "  ".join(f"{member} {len(found.active)}+{len(found.standby)}" for member, found in after.items())
        lines += [(change, "active", cells(_rows(after, "active")), counts)]
        if before:
            lines += [("", "", *_moves(before, after, "active"))]
        lines += [("", "standby", cells(_rows(after, "standby")), "")]
        if before:
            lines += [("", "", *_moves(before, after, "standby"))]
    rows = (f"{first:15}{kind:9}{row:32}{last}".rstrip() for first, kind, row, last in lines)
    return "\n".join(["```text", *rows, "```"])


def cells(rows: Sequence[Sequence[str]]) -> str:
    """Return a line with a cell for each task, and a gap between subtopologies."""
    return "  ".join("".join(f"{text:4}" for text in row) for row in rows)


def _rows(tasks: Tasks, kind: str) -> list[list[str]]:
    """Return the member of each task, and a dot for a task with state that no member has."""
    has = {task: member for member, found in tasks.items() for task in getattr(found, kind)}
    return [
        [has.get((id, number), "." if kind == "active" or is_stateful else "") for number in range(count)]
        for id, (count, is_stateful) in TOPOLOGY.items()
    ]


def _moves(before: Tasks, after: Tasks, kind: str) -> tuple[str, str]:
    """Return a line with a mark below each task that is on another member, and how many there are."""
    rows = zip(_rows(before, kind), _rows(after, kind), strict=True)
    marks = [["^" if old != new else "" for old, new in zip(*row, strict=True)] for row in rows]
    return cells(marks), f"{sum(map(len, (mark for row in marks for mark in row)))} {kind} moved"
