"""That the comparison with the traces of a real broker can fail: whatever is changed in a trace is noticed.

Every kind of field is changed in every trace of our own folder that has it, at places drawn by the name of the trace.
"""

from __future__ import annotations

import copy
import functools
import operator
import random
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from tests.conformance import coordinator_vectors as vectors
from tests.support.vector_files import OWN_FOLDER, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conformance.coordinator_vectors import Outcome
    from tests.coordinator.messages import Json

pytestmark = pytest.mark.conformance

Way = list[Any]
"""Names of fields and places in lists, from a step to a value in it."""

TRACES = 494
NEVER_ANSWERED = 419
BY_TIME = 425

FIELDS = {
    "assignment",
    "client_id",
    "error_code",
    "generation_id",
    "group_id",
    "group_instance_id",
    "leader",
    "member_id",
    "metadata",
    "name",
    "partition_index",
    "protocol",
    "protocol_name",
    "protocol_type",
    "skip_assignment",
    "state",
    "throttle_time_ms",
}
"""Whatever stands in an answer or an observation."""


@cache
def played() -> list[tuple[Json, list[Outcome]]]:
    """The traces of our own folder, and what our coordinator did."""
    (path,) = vectors.files(OWN_FOLDER)
    found = [(trace, list(vectors.play(trace))) for trace in read(path)]
    assert TRACES == len(found)
    assert not any(is_noticed(trace, outcomes) for trace, outcomes in found)
    return found


@cache
def places() -> dict[str, dict[str, list[tuple[Json, Way]]]]:
    """Wherever there is a value that the broker gave, the step and the way, by field and by trace."""
    found: dict[str, dict[str, list[tuple[Json, Way]]]] = {}
    for trace, _ in played():
        for entry in trace["steps"]:
            for told in ("response", "observe"):
                for way in ways(entry.get(told)):
                    found.setdefault(way[-1], {}).setdefault(trace["name"], []).append((entry, [told, *way]))
    return found


# ---- changed copies


def ways(value: Any) -> Iterator[Way]:
    """To the single values within a value."""
    if isinstance(value, (dict, list)):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(each, (dict, list)):
                yield from ([name, *way] for way in ways(each))
            else:
                yield [name]


def at(entry: Json, way: Way) -> Any:
    return functools.reduce(operator.getitem, way, entry)


def changed(entry: Json, way: Way, change: Callable[[Any], object]) -> Json:
    """A copy of a step; the value at the end of the way is given to `change`, and replaced by what that returns."""
    mutated = copy.deepcopy(entry)
    at(mutated, way[:-1])[way[-1]] = change(at(mutated, way))
    return mutated


def with_step(trace: Json, mutated: Json) -> Json:
    """A copy of the trace, in which the step of that number is another."""
    steps = list(trace["steps"])
    steps[mutated["i"]] = mutated
    return {**trace, "steps": steps}


def other(value: Any) -> object:
    """A value that is not this one, of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return "other"


def some(rng: random.Random, found: list[Any]) -> list[Any]:
    return rng.sample(found, min(len(found), 2))


def requests(trace: Json) -> list[Json]:
    return [entry for entry in trace["steps"] if "api" in entry]


# ---- what is noticed


def is_noticed(trace: Json, outcomes: list[Outcome] | None = None) -> bool:
    """Whether a trace is refused, or differs from the outcomes; without any it is played."""
    try:
        vectors.check_form(trace)
    except ValueError:
        return True
    found = vectors.differences(trace, vectors.play(trace) if outcomes is None else outcomes)
    return next(found, None) is not None


def tried(mutations: Callable[[Json, random.Random], Iterator[Json]], *, replay: bool = False) -> tuple[int, list[str]]:
    """How many mutated copies of our traces there are, and the names of traces with one that is not noticed.

    Args:
        mutations: Gives mutated copies of a trace.
        replay: Whether what was changed is something that our coordinator is told.
    """
    copies = 0
    missed = []
    for trace, outcomes in played():
        for mutated in mutations(trace, random.Random(trace["name"])):
            copies += 1
            if not is_noticed(mutated, None if replay else outcomes):
                missed.append(trace["name"])
    return copies, missed


def test_coordinator_the_changed_fields_are_all_that_there_are() -> None:
    assert places().keys() == FIELDS


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_coordinator_every_field_of_answers_and_observations_counts(field: str) -> None:
    def mutations(trace: Json, rng: random.Random) -> Iterator[Json]:
        for entry, way in some(rng, places()[field].get(trace["name"], [])):
            yield with_step(trace, changed(entry, way, other))

    copies, missed = tried(mutations)

    assert [] == missed
    assert copies > 0


@pytest.mark.parametrize("told", ["response", "observe"])
def test_coordinator_the_order_of_members_counts(told: str) -> None:
    def mutations(trace: Json, rng: random.Random) -> Iterator[Json]:
        found = [(entry, (entry.get(told) or {}).get("members", [])) for entry in trace["steps"]]
        for entry, members in some(rng, [(entry, members) for entry, members in found if members != members[::-1]]):
            yield with_step(trace, entry | {told: entry[told] | {"members": members[::-1]}})

    copies, missed = tried(mutations)

    assert [] == missed
    assert copies > 300


@pytest.mark.parametrize("told", ["response", "observe"])
def test_coordinator_a_field_more_or_less_counts(told: str) -> None:
    def mutations(trace: Json, rng: random.Random) -> Iterator[Json]:
        entry = rng.choice([entry for entry in trace["steps"] if entry.get(told)])
        yield with_step(trace, entry | {told: entry[told] | {"surprise": 1}})
        name = rng.choice(sorted(entry[told]))
        yield with_step(trace, entry | {told: {each: entry[told][each] for each in entry[told].keys() - {name}}})

    assert (2 * TRACES, []) == tried(mutations)


def test_coordinator_what_released_an_answer_counts() -> None:
    def mutations(trace: Json, rng: random.Random) -> Iterator[Json]:
        for entry in some(rng, [entry for entry in requests(trace) if entry["response"]]):
            steps = {entry["i"], entry["i"] + 1, len(trace["steps"]) - 1}
            releases = [{"step": step} for step in sorted(steps)] + [{"time": True}]
            for release in releases:
                if release != entry["released_by"]:
                    yield with_step(trace, entry | {"released_by": release})

    copies, missed = tried(mutations)

    assert [] == missed
    assert copies > 3 * TRACES


def test_coordinator_an_answer_by_time_that_is_missing_counts() -> None:
    def mutations(trace: Json, _: random.Random) -> Iterator[Json]:
        for entry in requests(trace):
            if entry["released_by"] == {"time": True}:
                yield with_step(trace, entry | {"response": None, "released_by": None})

    assert (BY_TIME, []) == tried(mutations)


def test_coordinator_whether_there_is_an_answer_counts() -> None:
    def mutations(trace: Json, rng: random.Random) -> Iterator[Json]:
        for entry in some(rng, [entry for entry in requests(trace) if entry["response"]]):
            yield with_step(trace, entry | {"response": None, "released_by": None})
            yield with_step(trace, entry | {"response": None})
        for entry in requests(trace):
            if entry["response"] is None:
                for release in ({"time": True}, {"step": entry["i"]}, {"step": requests(trace)[-1]["i"]}, None):
                    yield with_step(trace, entry | {"response": {"error_code": 0}, "released_by": release})

    copies, missed = tried(mutations)

    assert [] == missed
    assert copies > 4 * NEVER_ANSWERED + 2 * TRACES


def test_coordinator_where_a_member_id_is_made_up_counts() -> None:
    def mutations(trace: Json, rng: random.Random) -> Iterator[Json]:
        made = rng.choice([entry for entry in requests(trace) if "generates" in entry] or [None])
        if made is None:
            return
        alias = made["generates"]
        yield with_step(trace, {name: made[name] for name in made if name != "generates"})
        others = [e for e in requests(trace) if "generates" not in e and e["member"] == made["member"]]
        for entry in some(rng, others):
            yield with_step(trace, entry | {"generates": alias})
        yield trace | {"ids": trace["ids"] | {alias: f"x{trace['ids'][alias]}"}}

    copies, missed = tried(mutations, replay=True)

    assert [] == missed
    assert copies > 3 * TRACES
