"""A program of requests that fails becomes as short as it can be."""

from __future__ import annotations

import asyncio

from tests.broker.classic_programs import Program, Step, draw
from tests.broker.classic_shrinking import shrink


def test_only_the_steps_that_matter_stay() -> None:
    async def fails(program: Program) -> bool:
        kinds = [step.kind for step in program.steps]
        return "delete" in kinds and "wait" in kinds[kinds.index("delete") :]

    steps = [Step("advance")] * 9 + [Step("delete")] + [Step("commit")] * 7 + [Step("wait")] + [Step("leave")] * 3
    program = Program(0, "made by hand", (), tuple(steps))
    assert (Step("delete"), Step("wait")) == asyncio.run(shrink(program, fails)).steps


def test_no_more_is_tried_than_allowed() -> None:
    tried = []

    async def fails(program: Program) -> bool:
        tried.append(program)
        return False

    program = draw(1)
    assert program == asyncio.run(shrink(program, fails, tries=5))
    assert 5 == len(tried)


def test_a_program_tells_its_steps_as_they_are_written() -> None:
    program = draw(2)
    steps = str(program).splitlines()[1 + len(program.actors) :]
    assert program.steps == tuple(eval(step) for step in steps)
