"""Defects of Kafka's assignors that the engine does not reproduce. Tests show both behaviours.

Both of our engines are tested; the tests of Kafka's answers need Java and Maven.
"""

from __future__ import annotations

from typing import Any

import pytest

from assignor import assign
from assignor.partition_assignor import CooperativeStickyAssignor
from tests.assign.kafka_defects import DEFECTS, EARLIER, LATER, Shares, entries, question
from tests.conformance import assignor_vectors
from tests.support import assignment_rules
from tests.support.assignor_oracle import AssignorOracle
from tests.support.engines import Engine

ENDLESS_MS = 2_000
"""Milliseconds until an assignor that does not end is stopped; an assignment that ends takes a few."""

CASES = [(name, kind) for name, defect in DEFECTS.items() for kind in defect.kinds]
EACH = pytest.mark.parametrize(("name", "kind"), CASES, ids=[f"{kind}: {name}" for name, kind in CASES])


def as_sets(shares: Shares) -> dict[str, set[tuple[str, int]]]:
    """Return an answer in the table as sets."""
    return {member: {(topic, id) for topic, id in entries(of)} for member, of in shares.items()}


def kafkas(found: dict[str, Any]) -> dict[str, set[tuple[str, int]]] | str:
    """Return Kafka's answer as sets, or the class of its exception."""
    if "error" in found:
        return str(found["error"][0])
    return {member: {(topic, id) for topic, id in of} for member, of in found["expected"].items()}


@EACH
def test_the_engines_do_not_have_the_defect(name: str, kind: str, engine: Engine) -> None:
    theirs, ours = DEFECTS[name].answers(kind)
    case = assignor_vectors.parse({**question(DEFECTS[name], kind), "expected": {}})

    answer = assign(case.partitions_per_topic, case.subscriptions, engine=engine, **case.options)

    assert as_sets(ours) == {member: set(partitions) for member, partitions in answer.items()}
    assignment_rules.assert_is_valid(case.partitions_per_topic, case.subscriptions, answer, withholds=case.withholds)
    assert ours != theirs


@pytest.mark.broker
@EACH
def test_kafka_has_the_defect(name: str, kind: str, oracle: AssignorOracle) -> None:
    theirs, _ = DEFECTS[name].answers(kind)

    limit = {"limit_ms": ENDLESS_MS} if theirs == "endless" else {}
    found = oracle.answer({**question(DEFECTS[name], kind), **limit})

    assert (theirs if isinstance(theirs, str) else as_sets(theirs)) == kafkas(found)


def test_the_engines_do_not_remember_earlier_calls(engine: Engine) -> None:
    answers = []
    assignor = CooperativeStickyAssignor(engine=engine)
    for line in (question(LATER, "cooperative_sticky"), EARLIER, question(LATER, "cooperative_sticky")):
        case = assignor_vectors.parse({**line, "expected": {}})
        answers.append(assignor.assign(case.partitions_per_topic, case.subscriptions))

    assert answers[0] == answers[2]
    assert as_sets(LATER.ours) == {member: set(partitions) for member, partitions in answers[2].items()}


@pytest.mark.broker
def test_kafka_remembers_the_highest_generation_of_earlier_calls(oracle: AssignorOracle) -> None:
    case = question(LATER, "cooperative_sticky")

    assert as_sets(LATER.ours) == kafkas(oracle.answer(case))
    assert as_sets(LATER.kafka) == kafkas(oracle.answer({**case, "after": EARLIER}))  # type: ignore[arg-type]  # no error
