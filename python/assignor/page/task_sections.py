"""Section of a page with the tasks of groups: a row per process, and a row per generation with its moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.page.cells import NOT_KNOWN, Column, Filter, escape
from assignor.page.figures import GROUP, counted, numbers, section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignor.page.tables import Tables

_TEXT = (
    "Streams groups, Kafka Streams on the classic protocol and Connect assign tasks. A task moves if another process "
    "runs it than before. State moves if a process that had no copy of it gets one, which it has to restore."
)


def tasks(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    """Yield the section; nothing if no group has tasks."""
    if found.tasks:
        yield from section("tasks", _TEXT, _content(found, groups))


def _content(found: Tables, groups: dict[str, int]) -> Iterator[str]:
    if found.task_problems:
        items = "".join(f"<li>{escape(text)}</li>" for text in found.task_problems)
        yield f'<ul class="notes">{items}</ul>\n'
    columns = (
        GROUP,
        Column("process", "process", "name"),
        *counted("members", "active", "standby"),
        Column("warmup", "warm-up", "number"),
        Column("which", "which", "long"),
    )
    yield from numbers("tasks", columns, found.tasks, groups, caption="Tasks of each process at the end of the log")
    moves = (
        GROUP,
        Column("generation", "generation", "number"),
        Column("start", "at (UTC)", "time"),
        Column("moved_tasks", "active tasks moved", "number", NOT_KNOWN),
        Column("moved_state", "copies of state moved", "number", NOT_KNOWN),
    )
    times = Filter("start", "end")
    yield from numbers("task_moves", moves, found.task_moves, groups, times, "Moves of tasks and state by generation")
