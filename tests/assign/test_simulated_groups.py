"""Comparison of both engines with Kafka's own assignors on groups over several rounds; needs Java and Maven.

Each run draws new groups and records the seed; the environment variable ASSIGNOR_SEED sets the first seed. Failures
have the kind, seed and round, and the case in the format of the vectors.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable

import pytest

from assignor import assign
from tests.assign.simulated_groups import Json, SimulatedGroup
from tests.conformance import assignor_vectors
from tests.conformance.test_assignors import assert_equals_kafkas, assert_raises, claimed_in_subscription
from tests.support.assignor_oracle import AssignorOracle, version
from tests.support.engines import ENGINES, Engine

pytestmark = pytest.mark.broker

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
GROUPS = 5000 if LONG else 90
ALWAYS = 60
"""The number of groups that are the same in each run, so that the share of defects does not depend on chance."""
ROUNDS = 5
SEED = int(os.environ.get("ASSIGNOR_SEED") or random.randrange(10**6))


def assert_round_equals_kafkas(line: Json, engine: Engine) -> None:
    """Compare an engine's answer to a case with Kafka's answer.

    Raises:
        AssertionError: The answers differ; the message has the case.
    """
    case = assignor_vectors.parse(line)
    if case.raises is not None:
        assert_raises(case, engine)
        return
    for asked in (case, claimed_in_subscription(case)):
        if asked is not None:
            answer = assign(asked.partitions_per_topic, asked.subscriptions, engine=engine, **asked.options)
            try:
                assert_equals_kafkas(asked, answer)
            except AssertionError as error:
                raise AssertionError(f"{error}, {engine}: {json.dumps(line)}") from error


@pytest.mark.parametrize("kind", assignor_vectors.ASSIGNORS)
def test_drawn_groups_get_the_same_assignment_as_in_kafka(
    oracle: AssignorOracle, kind: str, record_property: Callable[[str, object], None]
) -> None:
    counts: Counter[str] = Counter()
    record_property("seeds", f"0 to {ALWAYS - 1}, {SEED} to {SEED + GROUPS - ALWAYS - 1}")
    for number, seed in enumerate((*range(ALWAYS), *range(SEED, SEED + GROUPS - ALWAYS))):
        for line in SimulatedGroup(kind, seed).rebalance(ROUNDS, oracle.answer):
            for engine in ENGINES:
                assert_round_equals_kafkas(line, engine)
            counts["cases"] += 1
            is_defect = assignor_vectors.DEFECTS.intersection(line["tags"]) != set()
            counts["cases of Kafka's defects"] += is_defect
            counts["cases of Kafka's defects that are the same in each run"] += is_defect and number < ALWAYS
            counts.update(f"cases with {tag}" for tag in line["tags"])
            counts["cases of the general algorithm"] += line.get("path") == "general"
    for name, count in counts.items():
        record_property(name, count)

    assert "4.4.0" == version()
    assert counts["cases"] == GROUPS * ROUNDS
    assert counts["cases of Kafka's defects that are the same in each run"] < 0.15 * ALWAYS * ROUNDS
