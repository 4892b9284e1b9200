"""Simulations of members and a model of their coordinator in virtual time, over a network with temporary faults.

Each seed is a program. `simulation/invariants.py` checks the invariants. The error of a failed seed has a short program
that fails in the same way.
"""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assignor.member import Member
from tests.broker import recording
from tests.member.simulation.broken import COORDINATORS, MEMBERS, ReportsTooFewPartitions
from tests.member.simulation.program import Program, draw_program
from tests.member.simulation.seeds import as_python, run_seed
from tests.member.simulation.simulator import InvariantError, Outcome, run
from tests.member.simulation.totals import Totals

if TYPE_CHECKING:
    from tests.member.simulation.coordinator import ModelCoordinator

FIGURES = Path(__file__).parents[2] / "docs" / "simulation.json"
"""Figures of the last recorded run (ASSIGNOR_RECORD), for a page of the docs."""

SEEDS = range(250 if os.environ.get("ASSIGNOR_PROFILE") == "long" else 100)
MANY_SEEDS = range(10_000)
RARE = (ReportsTooFewPartitions,)
"""Mistakes that show only if topic names are late or a connection breaks at the right time."""


@pytest.mark.parametrize("block", range(0, len(SEEDS), 25))
def test_members_and_their_coordinator_agree_in_random_programs(block: int) -> None:
    totals = Totals()
    for seed in SEEDS[block : block + 25]:
        totals.add(run_seed(seed))
    assert 25 == totals.seeds
    assert totals.events > 25 * 100


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_members_and_their_coordinator_agree_in_ten_thousand_programs() -> None:
    totals = Totals()
    for seed in MANY_SEEDS:
        totals.add(run_seed(seed))
    if recording.wanted():
        totals.write(FIGURES)
    assert len(MANY_SEEDS) == totals.seeds


@pytest.mark.parametrize("member", MEMBERS)
def test_a_member_with_a_mistake_is_detected(member: type[Member]) -> None:
    seeds = 100 if member in RARE else 20
    assert any(_fails(draw_program(seed), member=member) for seed in range(seeds))


@pytest.mark.parametrize("coordinator", COORDINATORS)
def test_a_coordinator_with_a_mistake_is_detected(coordinator: type[ModelCoordinator]) -> None:
    assert any(_fails(draw_program(seed), coordinator=coordinator) for seed in range(30))


def test_the_error_of_a_seed_has_a_short_program_that_fails_too() -> None:
    broken = MEMBERS[0]
    seed = next(seed for seed in range(20) if _fails(draw_program(seed), member=broken))
    with pytest.raises(InvariantError) as found:
        run_seed(seed, member=broken)
    shown = str(found.value)
    source = shown[shown.index("from tests.member.simulation") : shown.index("run(program)")]
    names: dict[str, Program] = {}
    exec(source, names)
    short = names["program"]
    assert len(short.steps) < len(draw_program(seed).steps)
    assert _fails(short, member=broken)
    assert _fails(short) is False


def test_a_program_printed_as_python_is_the_same_program() -> None:
    program = draw_program(3)
    names: dict[str, object] = {}
    exec(as_python(program).replace("run(program)", ""), names)
    assert program == names["program"]


def test_a_program_has_the_same_outcome_twice() -> None:
    assert run(draw_program(5)) == run(draw_program(5))


def test_a_program_without_faults_settles_quickly() -> None:
    program = draw_program(1)
    outcome = run(dataclasses.replace(program, steps=()))
    assert 0 == outcome.faults.total()
    assert outcome.settled_after < 2000


def test_totals_are_written_for_the_docs(tmp_path: Path) -> None:
    totals = Totals()
    outcomes = [run(draw_program(seed)) for seed in range(2)]
    for outcome in outcomes:
        totals.add(outcome)
    totals.write(tmp_path / "simulation.json")
    kept = dict(json.loads((tmp_path / "simulation.json").read_text(encoding="utf-8")))

    assert 2 == totals.seeds
    assert ("2", f"{sum(outcome.events for outcome in outcomes):,}") == (
        kept["seeds"],
        kept["events handled by members"],
    )
    assert {fault: f"{count:,}" for fault, count in totals.faults.items()}.items() <= kept.items()


def _fails(
    program: Program, *, member: type[Member] = Member, coordinator: type[ModelCoordinator] | None = None
) -> bool:
    try:
        outcome = run(program, member=member, coordinator=coordinator) if coordinator else run(program, member=member)
    except InvariantError:
        return True
    assert isinstance(outcome, Outcome)
    return False
