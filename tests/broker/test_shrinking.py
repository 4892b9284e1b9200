"""Shrinking of failing programs of requests."""

from __future__ import annotations

import asyncio

from tests.broker.classic_programs import Program, Step, draw
from tests.broker.classic_shrinking import shrink


def test_only_relevant_steps_remain() -> None:
    async def fails(program: Program) -> bool:
        kinds = [step.kind for step in program.steps]
        return "delete" in kinds and "wait" in kinds[kinds.index("delete") :]

    steps = [Step("advance")] * 9 + [Step("delete")] + [Step("commit")] * 7 + [Step("wait")] + [Step("leave")] * 3
    program = Program(0, "made by hand", (), tuple(steps))
    assert (Step("delete"), Step("wait")) == asyncio.run(shrink(program, fails)).steps


def test_the_number_of_tries_is_limited() -> None:
    tried = []

    async def fails(program: Program) -> bool:
        tried.append(program)
        return False

    program = draw(1)
    assert program == asyncio.run(shrink(program, fails, tries=5))
    assert 5 == len(tried)


def test_the_text_of_a_program_has_its_steps_as_python_code() -> None:
    program = draw(2)
    steps = str(program).splitlines()[1 + len(program.actors) :]
    assert program.steps == tuple(eval(step) for step in steps)
