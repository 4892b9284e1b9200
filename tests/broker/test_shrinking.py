"""Shrinking of failing programs of requests."""

from __future__ import annotations

import asyncio

from tests.broker.classic_programs import Step, draw
from tests.support.shrinking import shrink


def test_only_relevant_steps_remain() -> None:
    async def fails(steps: tuple[Step, ...]) -> bool:
        kinds = [step.kind for step in steps]
        return "delete" in kinds and "wait" in kinds[kinds.index("delete") :]

    steps = [Step("advance")] * 9 + [Step("delete")] + [Step("commit")] * 7 + [Step("wait")] + [Step("leave")] * 3
    assert (Step("delete"), Step("wait")) == asyncio.run(shrink(tuple(steps), fails))


def test_the_number_of_tries_is_limited() -> None:
    tried = []

    async def fails(steps: tuple[Step, ...]) -> bool:
        tried.append(steps)
        return False

    steps = draw(1).steps
    assert steps == asyncio.run(shrink(steps, fails, tries=5))
    assert 5 == len(tried)


def test_the_text_of_a_program_has_its_steps_as_python_code() -> None:
    program = draw(2)
    steps = str(program).splitlines()[1 + len(program.actors) :]
    assert program.steps == tuple(eval(step) for step in steps)
