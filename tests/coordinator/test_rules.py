"""Whatever one could believe of Kafka's coordinator that is not so: the recorded traces notice each such rule."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from tests.conformance import coordinator_vectors as vectors
from tests.coordinator import timer_rules
from tests.coordinator.rules import RULES
from tests.support.vector_files import OWN_FOLDER, read

if TYPE_CHECKING:
    from tests.coordinator.messages import Json


@functools.cache
def traces() -> list[Json]:
    (path,) = vectors.files(OWN_FOLDER)
    return list(read(path))


def first_difference(profile: str) -> str | None:
    """Where a trace differs first; traces of that profile are tried first."""
    for trace in sorted(traces(), key=lambda trace: not trace["profile"].startswith(profile)):
        difference = next(vectors.differences(trace, vectors.play(trace)), None)
        if difference is not None:
            return difference
    return None


@pytest.mark.parametrize("says", RULES)
def test_a_trace_notices_the_wrong_rule_that(says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    RULES[says].change(monkeypatch)

    assert first_difference(RULES[says].profile) is not None


def test_no_trace_differs_by_the_right_rules() -> None:
    assert timer_rules
    assert len(RULES) == 59
    assert first_difference("") is None
