"""Runs of the programs of seeds; the error of a failure has a short program that fails too, as Python code."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.member.simulation.program import draw_program
from tests.member.simulation.simulator import InvariantError, run
from tests.support.shrinking import shrink

if TYPE_CHECKING:
    from tests.member.simulation.program import Program, Step
    from tests.member.simulation.simulator import Outcome

__all__ = ["as_python", "run_seed"]

MOST_RUNS = 400


def run_seed(seed: int, **world: Any) -> Outcome:
    """Run the program of a seed.

    Args:
        seed: The seed.
        world: Further arguments of `run`.

    Raises:
        InvariantError: An invariant is violated.
    """
    program = draw_program(seed)
    try:
        return run(program, **world)
    except Exception as error:
        failed = error

    async def fails(steps: tuple[Step, ...]) -> bool:
        return type(_failure(replace(program, steps=steps), world)) is type(failed)

    short = replace(program, steps=asyncio.run(shrink(program.steps, fails, MOST_RUNS)))
    message = f"seed {seed}, {len(short.steps)} of {len(program.steps)} steps left:\n\n{as_python(short)}\n"
    raise InvariantError(f"{message}{_failure(short, world)}") from failed


def as_python(program: Program) -> str:
    """Return Python code that runs the program."""
    return (
        "from tests.member.simulation.coordinator_settings import CoordinatorSettings\n"
        "from tests.member.simulation.program import ClientPlan, Program, Step\n"
        "from tests.member.simulation.simulator import run\n\n"
        f"program = {program!r}\n"
        "run(program)\n"
    )


def _failure(program: Program, world: dict[str, Any]) -> Exception | None:
    try:
        run(program, **world)
    except Exception as error:
        return error
    return None
