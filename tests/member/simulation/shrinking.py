"""Shrinking of a failed program, and its output as Python code."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tests.member.simulation.program import draw_program
from tests.member.simulation.simulator import InvariantError, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.member.simulation.program import Program
    from tests.member.simulation.simulator import Outcome

__all__ = ["as_python", "run_seed", "shrink"]

MOST_RUNS = 400


def run_seed(seed: int, **world: Any) -> Outcome:
    """Run the program of a seed; the error of a failure has a short program that fails too.

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
        short, last = shrink(program, lambda each: _failure(each, world)) or (program, error)
        message = f"seed {seed}, {len(short.steps)} of {len(program.steps)} steps left:\n\n{as_python(short)}\n{last}"
        raise InvariantError(message) from error


def shrink(program: Program, failure: Callable[[Program], Exception | None]) -> tuple[Program, Exception] | None:
    """Return a smaller program that fails with the same type of error, and the error; None if it does not fail.

    Args:
        program: A program that fails.
        failure: Runs a program, and returns its error or None.
    """
    last = failure(program)
    if last is None:
        return None
    runs, goes_on = 0, True
    while goes_on and runs < MOST_RUNS:
        goes_on = False
        for smaller in _smaller(program):
            runs += 1
            found = failure(smaller)
            if type(found) is type(last):
                program, last, goes_on = smaller, found, True
                break
            if runs >= MOST_RUNS:
                break
    return program, last


def as_python(program: Program) -> str:
    """Return Python code that runs the program."""
    lines = [
        "from tests.member.simulation.coordinator_settings import CoordinatorSettings",
        "from tests.member.simulation.program import ClientPlan, Program, Step",
        "from tests.member.simulation.simulator import run",
        "",
        "program = Program(",
        f"    seed={program.seed},",
        f"    settings={program.settings!r},",
        f"    topics={program.topics!r},",
        "    clients=(",
        *(f"        {client!r}," for client in program.clients),
        "    ),",
        "    steps=(",
        *(f"        {step!r}," for step in program.steps),
        "    ),",
        f"    faults_end_at={program.faults_end_at},",
        ")",
        "run(program)",
        "",
    ]
    return "\n".join(lines)


def _failure(program: Program, world: dict[str, Any]) -> Exception | None:
    try:
        run(program, **world)
    except Exception as error:
        return error
    return None


def _smaller(program: Program) -> Iterator[Program]:
    """Yield smaller programs, largest cuts first."""
    steps = program.steps
    size = len(steps)
    while size:
        for at in range(0, len(steps), size):
            yield dataclasses.replace(program, steps=steps[:at] + steps[at + size :])
        size //= 2
    for index in range(len(program.clients)):
        if len(program.clients) > 1:
            yield _without_client(program, index)
    for index in range(len(program.topics)):
        if len(program.topics) > 1:
            yield dataclasses.replace(program, topics=program.topics[:index] + program.topics[index + 1 :])
    for faults_end_at in (max((step.at for step in steps), default=0) + 1, program.faults_end_at * 2 // 3):
        if faults_end_at < program.faults_end_at:
            yield dataclasses.replace(
                program, faults_end_at=faults_end_at, steps=tuple(step for step in steps if step.at < faults_end_at)
            )


def _without_client(program: Program, index: int) -> Program:
    """Return the program without a client, with the later clients renumbered."""
    steps = tuple(
        dataclasses.replace(step, client=step.client - 1) if step.client is not None and step.client > index else step
        for step in program.steps
        if step.client != index
    )
    return dataclasses.replace(program, clients=program.clients[:index] + program.clients[index + 1 :], steps=steps)
