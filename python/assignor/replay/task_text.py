"""Tasks of a generation as text: names of tasks, moves and problems."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assignor.lines import escape, spans_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from assignor.replay.events import Event

_NUMBERED = re.compile(r"(.*[_-])([0-9]{1,9})", re.DOTALL)
_RUNS_SHOWN = 12


def task_text(names: Sequence[str]) -> str:
    """Return sorted names of tasks as text, with consecutive numbers as ranges; long lists are cut.

    Example:
        >>> task_text(["0_0", "0_1", "0_2", "1_5", "orders"])
        '0_0–2, 1_5, orders'
    """
    shown = []
    for prefix, start, count in spans_of(sorted(_numbered(names))):
        number = "" if start < 0 else f"{start}" if count == 1 else f"{start}–{start + count - 1}"
        shown.append(f"{prefix}{number}")
    if len(shown) > _RUNS_SHOWN:
        shown[_RUNS_SHOWN:] = [f"and {len(shown) - _RUNS_SHOWN:,} more"]
    return ", ".join(shown)


def _numbered(names: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Yield the parts of names before and in their last number; a name without one has the number -2."""
    for name in names:
        found = _NUMBERED.fullmatch(name)
        # A number with leading zeros is part of the name.
        is_plain = found is not None and str(int(found[2])) == found[2]
        yield (found[1], int(found[2])) if found is not None and is_plain else (name, -2)


def task_details(generation: Event) -> Iterator[tuple[str, str]]:
    """Yield the moves and problems of the tasks of a generation: a label and a text."""
    for label, name in (("tasks moved", "moved_tasks"), ("state moved", "moved_state")):
        moved = generation.get(name)
        if moved:
            tasks = [each["task"] for each in moved]
            count = len({each["process"] for each in moved})
            to = f"{count:,} {'process' if count == 1 else 'processes'}"
            yield label, escape(f"{len(tasks):,} to {to}: {task_text(tasks)}")
    for problem in generation.get("task_problems") or ():
        yield "task problem", escape(problem)
