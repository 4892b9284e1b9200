"""Rows of a page on the tasks of groups: processes, moves and problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.replay.task_text import task_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from assignor.page.data import Row

MOST_TASK_ROWS = 3_000
"""Largest number of processes, and of generations with moves, that a page lists."""


def task_rows(groups: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[list[Row], list[Row], list[str]]:
    """Return a row per process, a row per generation with moves, and sentences on problems.

    Args:
        groups: Name and row of each group, as in `report.json`.
    """
    processes: list[Row] = []
    moves: list[Row] = []
    problems: list[str] = []
    for group, row in groups:
        tasks = row.get("tasks")
        if not tasks:
            continue
        for process in tasks["processes"]:
            counts = {kind: len(process[kind]) for kind in ("active", "standby", "warmup")}
            names = [f"{kind}: {task_text(process[kind])}" for kind in counts if process[kind]]
            members = process["members"]
            processes.append(
                {
                    "group": group,
                    "process": process["process"] or ", ".join(members),
                    "members": len(members),
                    **counts,
                    "which": "; ".join(names),
                }
            )
        for each in tasks["moves"]:
            numbers = {name: each[name] for name in ("generation", "moved_tasks", "moved_state")}
            if numbers["moved_tasks"] != 0 or numbers["moved_state"] != 0:
                moves.append({"group": group, "start": each["at"], "end": each["at"] + 1, **numbers})
        problems += [f"{group}: {problem}." for problem in tasks["problems"]]
    return processes[:MOST_TASK_ROWS], moves[-MOST_TASK_ROWS:], problems
