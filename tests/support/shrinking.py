"""Shrinking of a failing program to fewer steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Step = TypeVar("Step")


async def shrink(
    steps: tuple[Step, ...], fails: Callable[[tuple[Step, ...]], Awaitable[bool]], tries: int = 60
) -> tuple[Step, ...]:
    """Return fewer steps that still fail; remove many steps at a time first.

    Args:
        steps: The steps of a failing program.
        fails: Function that returns True if a program of these steps fails.
        tries: Largest number of calls of `fails`.
    """
    size = max(1, len(steps) // 2)
    while tries and steps:
        first, shorter = 0, False
        while first < len(steps) and tries:
            tries -= 1
            candidate = steps[:first] + steps[first + size :]
            if await fails(candidate):
                steps, shorter = candidate, True
            else:
                first += size
        if size > 1:
            size //= 2
        elif not shorter:
            break
    return steps
