"""Mutations of the traces of a real broker: the comparison must notice each change.

Each kind of field is changed in each trace of our own folder that has it. The name of the trace seeds the choice of
places.
"""

from __future__ import annotations

import copy
import functools
import operator
import os
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

Keys = list[Any]
"""Path from a step to a value in it: field names and list indices."""

TRACES = 494
PLACES = 2 if os.environ.get("ASSIGNOR_PROFILE") == "long" else 1
"""Number of places where the test of all fields changes each field of a trace."""
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
"""Fields of responses and observations."""


@cache
def replayed() -> list[tuple[Json, list[Outcome]]]:
    """Return the traces of our own folder with the outcomes of our coordinator."""
    (path,) = vectors.files(OWN_FOLDER)
    found = [(trace, list(vectors.play(trace))) for trace in read(path)]
    assert TRACES == len(found)
    assert not any(is_noticed(trace, outcomes) for trace, outcomes in found)
    return found


@cache
def places() -> dict[str, dict[str, list[tuple[Json, Keys]]]]:
    """Return the step and the path of each value of a response or observation, by field and trace."""
    found: dict[str, dict[str, list[tuple[Json, Keys]]]] = {}
    for trace, _ in replayed():
        for entry in trace["steps"]:
            for part in ("response", "observe"):
                for keys in paths(entry.get(part)):
                    found.setdefault(keys[-1], {}).setdefault(trace["name"], []).append((entry, [part, *keys]))
    return found


# ---- changed copies


def paths(value: Any) -> Iterator[Keys]:
    """Yield the paths to the scalar values within a value."""
    if isinstance(value, (dict, list)):
        for name, each in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(each, (dict, list)):
                yield from ([name, *keys] for keys in paths(each))
            else:
                yield [name]


def at(entry: Json, keys: Keys) -> Any:
    return functools.reduce(operator.getitem, keys, entry)


def changed(entry: Json, keys: Keys, change: Callable[[Any], object]) -> Json:
    """Return a copy of a step with `change` applied to the value at the path."""
    mutated = copy.deepcopy(entry)
    at(mutated, keys[:-1])[keys[-1]] = change(at(mutated, keys))
    return mutated


def with_step(trace: Json, mutated: Json) -> Json:
    """Return a copy of the trace with this step replaced."""
    steps = list(trace["steps"])
    steps[mutated["i"]] = mutated
    return {**trace, "steps": steps}


def other(value: Any) -> object:
    """Return a different value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return "other"


def some(rng: random.Random, found: list[Any]) -> list[Any]:
    return rng.sample(found, min(len(found), 2))


def requests(trace: Json) -> list[Json]:
    return [entry for entry in trace["steps"] if "api" in entry]


# ---- mutations


def is_noticed(trace: Json, outcomes: list[Outcome] | None = None, original: Json | None = None) -> bool:
    """Return True if a trace has an invalid form or differs from the outcomes; by default replay it first."""
    try:
        vectors.check_form(trace, original)
    except ValueError:
        return True
    found = vectors.differences(trace, vectors.play(trace) if outcomes is None else outcomes)
    return next(found, None) is not None


def other_field(trace: Json, rng: random.Random, field: str) -> Iterator[Json]:
    found = places()[field].get(trace["name"], [])
    for entry, keys in rng.sample(found, min(len(found), PLACES)):
        yield with_step(trace, changed(entry, keys, other))


def other_order_of_members(trace: Json, rng: random.Random, part: str) -> Iterator[Json]:
    found = [(entry, (entry.get(part) or {}).get("members", [])) for entry in trace["steps"]]
    for entry, members in some(rng, [(entry, members) for entry, members in found if members != members[::-1]]):
        yield with_step(trace, entry | {part: entry[part] | {"members": members[::-1]}})


def added_or_removed_field(trace: Json, rng: random.Random, part: str) -> Iterator[Json]:
    entry = rng.choice([entry for entry in trace["steps"] if entry.get(part)])
    yield with_step(trace, entry | {part: entry[part] | {"surprise": 1}})
    name = rng.choice(sorted(entry[part]))
    yield with_step(trace, entry | {part: {each: entry[part][each] for each in entry[part].keys() - {name}}})


def other_release_of_an_answer(trace: Json, rng: random.Random) -> Iterator[Json]:
    for entry in some(rng, [entry for entry in requests(trace) if entry["response"]]):
        steps = {entry["i"], entry["i"] + 1, len(trace["steps"]) - 1}
        releases = [{"step": step} for step in sorted(steps)] + [{"time": True}]
        for release in releases:
            if release != entry["released_by"]:
                yield with_step(trace, entry | {"released_by": release})


def missing_answer_of_a_timer(trace: Json, _: random.Random) -> Iterator[Json]:
    for entry in requests(trace):
        if entry["released_by"] == {"time": True}:
            yield with_step(trace, entry | {"response": None, "released_by": None})


def missing_or_added_answer(trace: Json, rng: random.Random) -> Iterator[Json]:
    for entry in some(rng, [entry for entry in requests(trace) if entry["response"]]):
        yield with_step(trace, entry | {"response": None, "released_by": None})
        yield with_step(trace, entry | {"response": None})
    for entry in requests(trace):
        if entry["response"] is None:
            for release in ({"time": True}, {"step": entry["i"]}, {"step": requests(trace)[-1]["i"]}, None):
                yield with_step(trace, entry | {"response": {"error_code": 0}, "released_by": release})


def other_place_of_a_generated_member_id(trace: Json, rng: random.Random) -> Iterator[Json]:
    made = rng.choice([entry for entry in requests(trace) if "generates" in entry] or [None])
    if made is None:
        return
    alias = made["generates"]
    yield with_step(trace, {name: made[name] for name in made if name != "generates"})
    others = [e for e in requests(trace) if "generates" not in e and e["member"] == made["member"]]
    for entry in some(rng, others):
        yield with_step(trace, entry | {"generates": alias})
    yield trace | {"ids": trace["ids"] | {alias: f"x{trace['ids'][alias]}"}}


MUTATIONS: list[tuple[Callable[..., Iterator[Json]], tuple[str, ...], int]] = [
    *((other_field, (field,), 0) for field in sorted(FIELDS)),
    *((other_order_of_members, (part,), 300) for part in ("response", "observe")),
    *((added_or_removed_field, (part,), 2 * TRACES - 1) for part in ("response", "observe")),
    (other_release_of_an_answer, (), 3 * TRACES),
    (missing_answer_of_a_timer, (), BY_TIME - 1),
    (missing_or_added_answer, (), 4 * NEVER_ANSWERED + 2 * TRACES),
    (other_place_of_a_generated_member_id, (), 3 * TRACES),
]
"""Functions that yield mutated copies of a trace, their arguments, and a number that the copies must exceed."""


def test_coordinator_the_listed_fields_are_those_of_the_traces() -> None:
    assert places().keys() == FIELDS


@pytest.mark.parametrize(
    ("mutate", "arguments", "fewer"),
    [pytest.param(*row, id=" ".join([row[0].__name__, *row[1]])) for row in MUTATIONS],
)
def test_coordinator_a_mutation_of_a_trace_is_noticed(
    mutate: Callable[..., Iterator[Json]], arguments: tuple[str, ...], fewer: int
) -> None:
    changes_input = mutate is other_place_of_a_generated_member_id  # so our coordinator has other outcomes
    copies = 0
    missed = []
    for trace, outcomes in replayed():
        for mutated in mutate(trace, random.Random(trace["name"]), *arguments):
            copies += 1
            if not is_noticed(mutated, None if changes_input else outcomes, trace):
                missed.append(trace["name"])

    assert [] == missed
    assert copies > fewer
