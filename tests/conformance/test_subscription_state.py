"""Replay of traces of Kafka's SubscriptionState class: all outcomes and states must be equal.

`pytest tests -m conformance -k subscription_state` runs these tests on `tests/vectors` or on the folder
`ASSIGNOR_VECTORS`. After each operation the whole visible state is compared. For errors, class and message are
compared.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.conformance import subscription_state_vectors as vectors
from tests.conformance.subscription_state_vectors import OPERATIONS
from tests.support import vector_files
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


@pytest.mark.parametrize("outcome", ["returns", "raises"])
def test_subscription_state_an_error_instead_of_a_result_or_back_is_noticed(outcome: str) -> None:
    (path,) = vectors.files(OWN_FOLDER)
    trace = next(each for each in read(path) if any(outcome in step for step in each["steps"]))
    step = next(step for step in trace["steps"] if outcome in step)
    assert vectors.compare(trace)

    del step[outcome]
    step |= {"returns": None} if outcome == "raises" else {"raises": ["IllegalStateException", ""]}

    with pytest.raises(AssertionError, match=trace["name"]):
        vectors.compare(trace)
