"""Replay of the traces of a real broker's classic groups: all responses and observations must be equal.

`pytest tests -m conformance -k coordinator` runs these tests on `tests/vectors` or on the folder `ASSIGNOR_VECTORS`.
Each response must be sent in the same step as by the broker, or by a timer if the broker's timer sent it.
"""

from __future__ import annotations

import copy
import functools
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.conformance import coordinator_vectors as vectors
from tests.conformance.coordinator_vectors import Outcome
from tests.coordinator.messages import MESSAGES
from tests.support import vector_files
from tests.support.vector_files import OWN_FOLDER, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from assignor.coordinator import Coordinator, Effects
    from tests.conformance.coordinator_vectors import RunTimers
    from tests.coordinator.messages import Json

pytestmark = pytest.mark.conformance

OWN_COUNTS = {
    "traces": 494,
    "requests": 8652,
    "answered by a step": 7808,
    "answered by time": 425,
    "waits": 1468,
    "observations": 10120,
    "member ids": 2485,
}


def compare_all(folder: Path, run_timers: RunTimers = vectors.run_at_once) -> tuple[Counter[str], list[str]]:
    """Return the counts of a folder, and the first difference of each trace that has one."""
    counts: Counter[str] = Counter()
    differences = []
    for path in vectors.files(folder):
        for trace in read(path):
            vectors.check_form(trace)
            outcomes = list(vectors.play(trace, run_timers=run_timers))
            counts.update(counted(trace, outcomes))
            differences += list(vectors.differences(trace, outcomes))[:1]
    return counts, differences


def counted(trace: Json, outcomes: list[Outcome]) -> dict[str, int]:
    """Return counts of a trace and of the outcomes of our coordinator."""
    return {
        "traces": 1,
        "requests": sum("api" in entry for entry in trace["steps"]),
        "answered by a step": sum(len(outcome.by_step) for outcome in outcomes),
        "answered by time": sum(len(outcome.by_time) for outcome in outcomes),
        "waits": sum("wait_ms" in entry for entry in trace["steps"]),
        "observations": sum(outcome.observed is not None for outcome in outcomes),
        "member ids": sum(len(outcome.prefixes) for outcome in outcomes),
    }


def run_deadlines_and_ask_again(coordinator: Coordinator, now: int) -> Iterator[Effects]:
    """Call `expire` just before each deadline, at it, and at it again; only the second call may send answers."""
    while (deadline := coordinator.next_deadline()) is not None and deadline <= now:
        early = coordinator.expire(deadline - 1)
        assert (deadline, ()) == (early.next_deadline, early.answers)
        yield coordinator.expire(deadline)
        again = coordinator.expire(deadline)
        assert () == again.answers
    yield coordinator.expire(now)


def test_coordinator_traces_are_answered_as_the_broker_answered_them() -> None:
    counts, differences = compare_all(vector_files.folder())

    assert [] == differences
    assert counts["requests"] > 0
    if vector_files.folder() == OWN_FOLDER:
        assert OWN_COUNTS == counts


def test_coordinator_traces_have_the_same_outcomes_if_timers_run_one_deadline_at_a_time() -> None:
    counts, differences = compare_all(vector_files.folder(), run_deadlines_and_ask_again)

    assert [] == differences
    assert counts["requests"] > 0


def test_coordinator_traces_of_our_own_folder_have_every_api_and_version() -> None:
    seen = {(entry["api"], entry["version"]) for trace in own() for entry in trace["steps"] if "api" in entry}

    everything = {(api, version) for api, message in MESSAGES.items() for version in message.versions}
    assert {("DeleteGroups", 0), ("DeleteGroups", 1)} == everything - seen
    assert seen <= everything


# ---- the form of a trace


@functools.cache
def own() -> list[Json]:
    """Return the traces of our own folder."""
    (path,) = vectors.files(OWN_FOLDER)
    return list(read(path))


def long_trace() -> Json:
    """Return a copy of the trace with the most member ids."""
    return copy.deepcopy(max(own(), key=lambda trace: len(trace["ids"])))


def first(trace: Json, api: str) -> Json:
    """Return the first request of this API with a response."""
    entry: Json = next(entry for entry in trace["steps"] if entry.get("api") == api and entry["response"])
    return entry


def test_coordinator_a_difference_is_named() -> None:
    trace = long_trace()
    step = first(trace, "SyncGroup")
    step["response"]["error_code"] += 1

    (difference,) = vectors.differences(trace, vectors.play(trace))

    assert difference.startswith(
        f"{trace['name']}, step {step['released_by']['step']}, the response to step {step['i']}"
    )
    assert ": error_code: expected" in difference


@pytest.mark.parametrize(
    "mutate",
    [
        pytest.param(lambda trace: first(trace, "JoinGroup").update(version=10), id="an unknown version"),
        pytest.param(lambda trace: first(trace, "JoinGroup").update(released_by={"luck": 1}), id="an unknown cause"),
        pytest.param(lambda trace: first(trace, "JoinGroup").update(generates="$z"), id="an unknown generated alias"),
        pytest.param(lambda trace: first(trace, "SyncGroup")["request"].update(member_id="$z"), id="an unknown alias"),
        pytest.param(lambda trace: trace["ids"].update({"$z": next(iter(trace["ids"].values()))}), id="an id twice"),
        pytest.param(lambda trace: trace["steps"].clear(), id="no steps"),
        pytest.param(lambda trace: trace["steps"].reverse(), id="another order"),
        pytest.param(lambda trace: trace["steps"][-1].update(at_ms=0), id="another time"),
    ],
)
def test_coordinator_an_unknown_value_is_an_error(mutate: Callable[[Json], object]) -> None:
    trace = long_trace()
    mutate(trace)

    with pytest.raises(ValueError, match=trace["name"]):
        vectors.check_form(trace)


# ---- the comparison notices another release of an answer


def with_step(trace: Json, entry: Json, **changes: object) -> Json:
    """Return a copy of the trace with changed fields in one step."""
    steps = list(trace["steps"])
    steps[entry["i"]] = entry | changes
    return {**trace, "steps": steps}


def is_noticed(trace: Json, outcomes: Iterable[Outcome]) -> bool:
    """Return True if a trace has an invalid form or differs from the outcomes."""
    try:
        vectors.check_form(trace)
    except ValueError:
        return True
    return next(vectors.differences(trace, outcomes), None) is not None


def other_releases(trace: Json) -> Iterator[Json]:
    """Yield copies of a trace in which one answer is missing, added, or released by another step or by a timer."""
    last = len(trace["steps"]) - 1
    for entry in (entry for entry in trace["steps"] if "api" in entry):
        answered, released_by = entry["response"] is not None, entry["released_by"]
        releases = [{"step": entry["i"]}, {"step": entry["i"] + 1}, {"step": last}, {"time": True}, None]
        for release in (release for release in releases if release != released_by or not answered):
            response = entry["response"] if answered else {"error_code": 0}
            yield with_step(trace, entry, released_by=release, response=response)
        if answered:
            yield with_step(trace, entry, released_by=None, response=None)


def test_coordinator_another_release_of_any_answer_is_noticed() -> None:
    copies = 0
    for trace in own()[::5]:
        outcomes = list(vectors.play(trace))
        assert not is_noticed(trace, outcomes)
        for changed in other_releases(trace):
            assert is_noticed(changed, outcomes), trace["name"]
            copies += 1

    assert copies > 5_000


def test_coordinator_another_place_of_a_generated_member_id_is_noticed() -> None:
    copies = 0
    for trace in own()[::5]:
        made = next((entry for entry in trace["steps"] if "generates" in entry), None)
        if made is not None:
            alias, rest = made["generates"], {name: made[name] for name in made if name != "generates"}
            steps = [rest if entry is made else entry for entry in trace["steps"]]
            renamed = {**trace, "ids": {**trace["ids"], alias: f"x{trace['ids'][alias]}"}}
            for changed in ({**trace, "steps": steps}, renamed):
                assert is_noticed(changed, vectors.play(changed)), trace["name"]
                copies += 1

    assert copies > 150
