"""Comparison of Kafka's own assignors with the recorded vectors; needs Java and Maven."""

from __future__ import annotations

import gzip
import json
from itertools import islice

import pytest

from tests.conformance import assignor_vectors
from tests.support.assignor_oracle import AssignorOracle, version
from tests.support.vector_files import OWN_FOLDER

pytestmark = pytest.mark.broker

ANSWER = {"member_order", "path", "error", "expected"}
"""Fields of Kafka's answer to a case."""


def test_the_oracle_gives_the_recorded_answers(oracle: AssignorOracle) -> None:
    answered = 0
    for path in assignor_vectors.files(OWN_FOLDER):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for case in map(json.loads, islice(lines, 0, None, 7)):
                found = oracle.answer({field: case[field] for field in case.keys() - ANSWER})
                for field in ("member_order", "path", "error"):
                    assert case.get(field) == found.get(field), case["name"]
                assert as_sets(case.get("expected")) == as_sets(found.get("expected")), case["name"]
                answered += 1

    assert answered == 5 * 143
    assert "4.4.0" == version()


def as_sets(answer: dict[str, list[list[object]]] | None) -> dict[str, set[tuple[object, ...]]] | None:
    """Return an answer without the order of lists, which have no duplicates."""
    if answer is None:
        return None
    return {member: {tuple(entry) for entry in entries} for member, entries in answer.items()}
