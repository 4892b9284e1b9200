"""Tasks of a topology and their orders."""

from __future__ import annotations

from collections.abc import Mapping

from assignor.ordering import java_order

Task = tuple[str, int]
"""Subtopology id and number of a task."""


def tasks_of(topology: Mapping[str, tuple[int, bool]]) -> list[Task]:
    """Return all tasks, by subtopology id in Java's order, then number.

    Example:
        >>> tasks_of({"2": (1, False), "10": (2, True)})
        [('10', 0), ('10', 1), ('2', 0)]
    """
    return sorted(((id, number) for id, (count, _) in topology.items() for number in range(count)), key=by_id)


def by_id(task: Task) -> tuple[bytes, int]:
    """Return a sort key: subtopology id, then number."""
    return java_order(task[0]), task[1]


def by_number(task: Task) -> tuple[int, bytes]:
    """Return a sort key: number, then subtopology id."""
    return task[1], java_order(task[0])
