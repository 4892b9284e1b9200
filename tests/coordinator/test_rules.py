"""The recorded traces detect each wrong rule: plausible beliefs about Kafka's coordinator that are not true."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import pytest

from tests.conformance import coordinator_vectors as vectors
from tests.coordinator.timer_rules import RULES
from tests.support.vector_files import OWN_FOLDER, read

if TYPE_CHECKING:
    from tests.coordinator.messages import Json


@functools.cache
def traces() -> list[Json]:
    (path,) = vectors.files(OWN_FOLDER)
    return list(read(path))


def first_difference(profile: str) -> str | None:
    """Return the first difference of any trace; traces of the given profile are tried first."""
    for trace in sorted(traces(), key=lambda trace: not trace["profile"].startswith(profile)):
        difference = next(vectors.differences(trace, vectors.play(trace)), None)
        if difference is not None:
            return difference
    return None


@pytest.mark.parametrize("rule", RULES)
def test_a_trace_detects_the_wrong_rule(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    RULES[rule].change(monkeypatch)

    assert first_difference(RULES[rule].profile) is not None


def test_no_trace_differs_without_a_wrong_rule() -> None:
    assert len(RULES) == 63
    assert first_difference("") is None
