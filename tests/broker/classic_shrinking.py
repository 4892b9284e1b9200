"""Shrinking of a failing program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.broker.classic_programs import Program


async def shrink(program: Program, fails: Callable[[Program], Awaitable[bool]], tries: int = 60) -> Program:
    """Return a shorter program that still fails; remove many steps at a time first.

    Args:
        program: A failing program.
        fails: Function that returns True if a program fails.
        tries: Largest number of calls of `fails`.
    """
    size = max(1, len(program.steps) // 2)
    while tries and program.steps:
        first, shorter = 0, False
        while first < len(program.steps) and tries:
            tries -= 1
            candidate = program.without(first, size)
            if candidate.steps and await fails(candidate):
                program, shorter = candidate, True
            else:
                first += size
        if size > 1:
            size //= 2
        elif not shorter:
            break
    return program
