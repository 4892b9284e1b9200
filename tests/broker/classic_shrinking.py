"""Makes a program shorter as long as something is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.broker.classic_programs import Program


async def shrink(program: Program, fails: Callable[[Program], Awaitable[bool]], tries: int = 60) -> Program:
    """Leave out steps, many at once first, while the rest still fails.

    Args:
        program: That fails.
        fails: Whether another one does.
        tries: How many are tried at most.
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
