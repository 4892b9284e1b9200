"""Groups at the edge: both engines agree on them, and answer as Kafka's own assignors do.

The comparison with Kafka needs Java and Maven. It draws new groups in each run, as `test_simulated_groups.py` does.
"""

from __future__ import annotations

import itertools
import random
import uuid
from collections import Counter
from collections.abc import Callable

import pytest

from assignor import assign
from assignor.ordering import string_hash, uuid_hash
from tests.assign.edge_groups import EdgeGroup, colliding_id, colliding_name
from tests.assign.simulated_groups import Json
from tests.assign.test_simulated_groups import LONG, SEED, assert_round_equals_kafkas
from tests.conformance import assignor_vectors
from tests.conformance.assignor_vectors import NOT_DETERMINED, RAISED
from tests.support.assignor_oracle import AssignorOracle
from tests.support.engines import ENGINES, outcome

KINDS = pytest.mark.parametrize("kind", assignor_vectors.ASSIGNORS)
ROUNDS = (30, 60)
"""The smallest and the largest number of rounds of a group."""
AGREEING = 200 if LONG else 3
GROUPS = 1000 if LONG else 4
ENDLESS_MS = 3_000
"""Milliseconds until a class that does not end is stopped."""


def rounds(seed: int) -> int:
    """Return the number of rounds of a group."""
    return random.Random(seed).randint(*ROUNDS)


def rust_answer(case: Json) -> Json:
    """Return a case with the engine's answer in place of Kafka's, or with the exception that its error stands for."""
    parsed = assignor_vectors.parse({**case, "expected": {}})
    try:
        answer = assign(parsed.partitions_per_topic, parsed.subscriptions, **parsed.options)
    except tuple(RAISED.values()) as error:
        return {
            **case,
            "error": [next(name for name, raised in RAISED.items() if isinstance(error, raised)), str(error)],
        }
    return {**case, "expected": {member: [list(each) for each in of] for member, of in answer.items()}}


@KINDS
def test_the_engines_agree_on_groups_at_the_edge(kind: str) -> None:
    for seed in range(SEED, SEED + AGREEING):
        for line in EdgeGroup(kind, seed).rebalance(rounds(seed), rust_answer):
            case = assignor_vectors.parse(line)
            answers = [
                outcome(assign, case.partitions_per_topic, case.subscriptions, engine=engine, **case.options)
                for engine in ENGINES
            ]

            assert answers[0] == answers[1], line
            assert case.raises is not None or answers[0].error is None, line


@pytest.mark.broker
@KINDS
def test_groups_at_the_edge_get_the_same_assignment_as_in_kafka(
    oracle: AssignorOracle, kind: str, record_property: Callable[[str, object], None]
) -> None:
    def answer(case: Json) -> Json:
        found = oracle.answer({**case, "limit_ms": ENDLESS_MS})
        del found["limit_ms"]
        if kind == "share_simple" and rust_answer(case).get("error", [""])[0] == NOT_DETERMINED:
            found["error"] = [NOT_DETERMINED, None]
            found.pop("expected", None)
        return found

    counts: Counter[str] = Counter()
    record_property("seeds", f"{SEED} to {SEED + GROUPS - 1}")
    for seed in range(SEED, SEED + GROUPS):
        for line in EdgeGroup(kind, seed).rebalance(rounds(seed), answer):
            for engine in ENGINES:
                assert_round_equals_kafkas(line, engine)
            counts["cases"] += 1
            counts["cases of Kafka's defects"] += assignor_vectors.DEFECTS.intersection(line["tags"]) != set()
            counts["cases of the general algorithm"] += line.get("path") == "general"
            counts["cases that are not determined"] += line.get("error", [""])[0] == NOT_DETERMINED
    for name, count in counts.items():
        record_property(name, count)

    assert counts["cases"] == sum(map(rounds, range(SEED, SEED + GROUPS)))
    assert counts["cases of Kafka's defects"] < counts["cases"]


@pytest.mark.broker
def test_kafka_gives_several_answers_to_a_share_group_that_is_not_determined(oracle: AssignorOracle) -> None:
    topics = [
        {"name": f"t{number}", "id": str(uuid.UUID(int=colliding_id(number, 0, 7))), "partitions": 8}
        for number in range(8)
    ]
    subscribed = [topic["name"] for topic in topics]
    members = [{"member_id": member, "topics": subscribed, "assigned": []} for member in "abc"]
    case = {"assignor": "share_simple", "topics": topics, "members": members}

    answers = [oracle.answer(case)["expected"] for _ in range(20)]

    assert NOT_DETERMINED == rust_answer(case)["error"][0]
    assert any(answer != answers[0] for answer in answers)
    seven = {**case, "topics": topics[:7], "members": [{**member, "topics": subscribed[:7]} for member in members]}
    assert_round_equals_kafkas(oracle.answer(seven), "rust")


def test_colliding_names_and_ids_are_distinct_and_have_one_hash_code() -> None:
    names = [colliding_name(number) for number in range(2**7)]
    ids = [colliding_id(high, word, 7) for high, word in itertools.product((0, 2**63, 12345), (0, 9, 2**32 - 1))]

    assert (len(names), 1) == (len(set(names)), len(set(map(string_hash, names))))
    assert (len(ids), {7}) == (len(set(ids)), set(map(uuid_hash, ids)))
