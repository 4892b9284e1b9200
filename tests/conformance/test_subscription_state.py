"""Replay of traces of Kafka's SubscriptionState class: all outcomes and states must be equal.

`pytest tests -m conformance -k subscription_state` runs these tests on `tests/vectors` or on the folder
`ASSIGNOR_VECTORS`. After each operation the whole visible state is compared. For errors, class and message are
compared.
"""

from __future__ import annotations

import copy
import functools
import gzip
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import subscription_state_vectors as vectors
from tests.conformance.subscription_state_vectors import OPERATIONS, Json
from tests.support import vector_files
from tests.support.vector_fields import metadata
from tests.support.vector_files import OWN_FOLDER, read

pytestmark = pytest.mark.conformance


def compare_all(folder: Path) -> Counter[str]:
    """Compare all traces of a folder; return the numbers of traces and steps."""
    counts: Counter[str] = Counter()
    for path in vectors.files(folder):
        for trace in read(path):
            counts["traces"] += 1
            counts["steps"] += vectors.compare(trace)
    return counts


def test_subscription_state_traces_are_answered_as_kafka_answered_them() -> None:
    counts = compare_all(vector_files.folder())

    assert counts["steps"] > 0
    if vector_files.folder() == OWN_FOLDER:
        assert {"traces": 1000, "steps": 25175} == counts


def test_subscription_state_traces_of_our_own_folder_have_every_operation() -> None:
    (path,) = vectors.files(OWN_FOLDER)
    seen = Counter(step["do"]["op"] for trace in read(path) for step in trace["steps"])

    assert OPERATIONS.keys() == seen.keys()
    assert min(seen.values()) >= 28


# ---- the comparison notices changes


@functools.cache
def long_trace() -> Json:
    """Return the trace of our own folder with the most partitions at its end."""
    (path,) = vectors.files(OWN_FOLDER)
    return max(read(path), key=lambda trace: len(trace["steps"][-1]["state"]["partitions"]))


def last_state(trace: Json) -> Json:
    """Return the state after the last step."""
    state: Json = trace["steps"][-1]["state"]
    return state


def visible() -> Json:
    """Return the visible state with one partition, which has every field."""
    replay = vectors.Replay("latest")
    replay.outcome("one partition", {"op": "assign_from_user", "partitions": ["t-0"]})
    return replay.visible()


VISIBLE = visible()


def other(value: Any) -> Any:
    """Return a different value."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, list):
        return [*value, "other"]
    if isinstance(value, dict):
        return {**value, "other": 1}
    return "other"


def stored(folder: Path, *traces: Json) -> Path:
    """Write traces to a folder."""
    with gzip.open(folder / "subscription_state_copy.jsonl.gz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(trace) + "\n" for trace in traces)
    return folder


def assert_noticed(folder: Path, mutate: Callable[[Json], object]) -> None:
    """Raise AssertionError unless the comparison fails for a changed copy of the trace, and names it."""
    trace = copy.deepcopy(long_trace())
    mutate(trace)
    with pytest.raises((AssertionError, ValueError), match=long_trace()["name"]):
        compare_all(stored(folder, trace))


def test_subscription_state_an_unchanged_copy_passes(tmp_path: Path) -> None:
    trace = long_trace()

    assert {"traces": 1, "steps": len(trace["steps"])} == compare_all(stored(tmp_path, trace))


@pytest.mark.parametrize("step", ["start", 0, -1])
@pytest.mark.parametrize("field", VISIBLE)
def test_subscription_state_a_change_of_any_visible_field_is_noticed(
    field: str, step: str | int, tmp_path: Path
) -> None:
    def mutate(trace: Json) -> None:
        state = trace["start"] if isinstance(step, str) else trace["steps"][step]["state"]
        state[field] = other(state[field])

    assert_noticed(tmp_path, mutate)


@pytest.mark.parametrize("field", VISIBLE["partitions"]["t-0"])
def test_subscription_state_a_change_of_any_field_of_a_partition_is_noticed(field: str, tmp_path: Path) -> None:
    def mutate(trace: Json) -> None:
        partition = next(iter(last_state(trace)["partitions"].values()))
        partition[field] = other(partition[field])

    assert_noticed(tmp_path, mutate)


def test_subscription_state_another_order_of_the_assignment_is_noticed(tmp_path: Path) -> None:
    assert len(last_state(long_trace())["assigned"]) > 1

    assert_noticed(tmp_path, lambda trace: last_state(trace)["assigned"].reverse())


@pytest.mark.parametrize("outcome", ["returns", "raises"])
def test_subscription_state_another_outcome_is_noticed(outcome: str) -> None:
    (path,) = vectors.files(OWN_FOLDER)
    trace = next(each for each in read(path) if any(outcome in step for step in each["steps"]))
    place = next(place for place, step in enumerate(trace["steps"]) if outcome in step)
    assert vectors.compare(trace)

    changes: list[Callable[[Json], Any]] = [lambda step: step.update({outcome: other(step[outcome])})]
    if outcome == "raises":
        changes += [
            lambda step: step["raises"].__setitem__(0, "IllegalThreadStateException"),
            lambda step: step["raises"].__setitem__(1, step["raises"][1] + "."),
            lambda step: step.pop("raises") and step.update({"returns": None}),
        ]
    else:
        changes.append(lambda step: step.pop("returns", None) or step.update({"raises": ["IllegalState", ""]}))
    for change in changes:
        mutated = copy.deepcopy(trace)
        change(mutated["steps"][place])
        with pytest.raises(AssertionError, match=trace["name"]):
            vectors.compare(mutated)


@pytest.mark.parametrize(
    "mutate",
    [
        pytest.param(lambda trace: trace["steps"][0]["do"].update(op="guess"), id="an unknown operation"),
        pytest.param(lambda trace: trace["steps"][0]["do"].pop("op"), id="no operation"),
        pytest.param(lambda trace: trace["steps"][0]["do"].update(surprise=1), id="an unknown field of an operation"),
        pytest.param(lambda trace: trace["steps"][0].update(surprise=1), id="an unknown field of a step"),
        pytest.param(lambda trace: trace["steps"][0]["state"].update(surprise=1), id="an unknown field of a state"),
        pytest.param(lambda trace: trace["steps"][0]["state"].pop("paused"), id="a missing field of a state"),
        pytest.param(lambda trace: trace.update(surprise=1), id="an unknown field of a trace"),
        pytest.param(lambda trace: trace.pop("start"), id="no start"),
        pytest.param(lambda trace: trace["steps"].insert(0, trace["steps"].pop()), id="another order"),
    ],
)
def test_subscription_state_an_unknown_field_or_value_is_an_error(
    mutate: Callable[[Json], object], tmp_path: Path
) -> None:
    assert_noticed(tmp_path, mutate)


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if OPERATIONS[name].needs])
def test_subscription_state_a_missing_field_of_an_operation_is_an_error(operation: str) -> None:
    for field in OPERATIONS[operation].needs:
        do = {"op": operation} | dict.fromkeys(OPERATIONS[operation].needs - {field})
        with pytest.raises(ValueError, match=f"odd: {operation}: fields unknown or missing"):
            vectors.Replay("latest").outcome("odd", do)


def test_subscription_state_metadata_is_not_compared(tmp_path: Path) -> None:
    assert compare_all(stored(tmp_path, long_trace() | dict.fromkeys(metadata(vectors.KIND), "anything")))


@pytest.mark.parametrize("level", ["step", "operation", "state", "partition", "start"])
def test_subscription_state_metadata_is_ignored_at_every_level(level: str, tmp_path: Path) -> None:
    trace = copy.deepcopy(long_trace())
    last = trace["steps"][-1]
    entries = {
        "step": last,
        "operation": last["do"],
        "state": last["state"],
        "partition": next(iter(last["state"]["partitions"].values())),
        "start": trace["start"],
    }
    entry = entries[level]
    entry |= dict.fromkeys(metadata(vectors.KIND) - entry.keys(), "anything")

    assert {"traces": 1, "steps": len(trace["steps"])} == compare_all(stored(tmp_path, trace))


def test_subscription_state_an_empty_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"subscription_state_copy\.jsonl\.gz is empty"):
        compare_all(stored(tmp_path))


def test_subscription_state_a_folder_without_the_kind_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "wire_visible.jsonl.gz").touch()

    with pytest.raises(FileNotFoundError, match="no vectors of the kind subscription_state"):
        vectors.files(tmp_path)
