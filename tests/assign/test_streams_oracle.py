"""Comparison of both engines with Kafka's own assignor of streams groups on new groups; needs Java and Maven.

Each run draws new groups and records the seed; the environment variable ASSIGNOR_SEED sets the first seed. A failure
has the case in the format of the vectors.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.assign.streams_groups import StreamsGroup, rounds
from tests.assign.test_simulated_groups import LONG, SEED
from tests.conformance import streams_vectors
from tests.support.engines import ENGINES
from tests.support.streams_oracle import OracleMissingError, StreamsOracle

pytestmark = pytest.mark.broker

GROUPS = 5000 if LONG else 60

Json = dict[str, Any]


def question(asked: StreamsGroup, name: str) -> Json:
    """Return a group as a case in the format of the vectors."""
    return {
        "name": name,
        "assignor": streams_vectors.ASSIGNOR,
        "standby_replicas": asked.standby_replicas,
        "topology": [
            {"subtopology": id, "tasks": count, "stateful": has_state}
            for id, (count, has_state) in asked.topology.items()
        ],
        "members": [
            {
                "member_id": id,
                "process_id": member.process_id,
                **{role: [list(task) for task in getattr(member, role)] for role in streams_vectors.ROLES},
            }
            for id, member in asked.members.items()
        ],
    }


def sorted_tasks(found: Json) -> Json:
    """Return an answered case with the tasks sorted as the vectors have them."""

    def order(task: list[Any]) -> tuple[bytes, int]:
        return task[0].encode("utf-16-be", "surrogatepass"), task[1]

    expected = {
        member: {role: sorted(tasks[role], key=order) for role in streams_vectors.ROLES}
        for member, tasks in found["expected"].items()
    }
    return {**found, "expected": expected}


def test_drawn_streams_groups_get_the_same_assignment_as_in_kafka(
    record_property: Callable[[str, object], None],
) -> None:
    try:
        oracle = StreamsOracle()
    except OracleMissingError as error:
        pytest.skip(str(error))
    counts: Counter[str] = Counter()
    record_property("seeds", f"{SEED} to {SEED + GROUPS - 1}")
    with oracle:
        for seed in range(SEED, SEED + GROUPS):
            for number, asked in enumerate(rounds(seed), start=1):
                line = oracle.answer(question(asked, f"streams_sticky, seed {seed}, round {number}"))
                del line[
                    "process_order"
                ]  # the table of Kafka's class, which is filled otherwise than that of the vectors
                assert "error" not in line or not asked.members, json.dumps(line)
                if "error" in line:
                    continue
                case = streams_vectors.parse(sorted_tasks(line))
                streams_vectors.assert_has_table_order(case)
                for engine in ENGINES:
                    try:
                        streams_vectors.assert_equals_kafkas(case, streams_vectors.answer(case, engine))
                    except AssertionError as error:
                        raise AssertionError(f"{error}, {engine}: {json.dumps(line)}") from error
                counts["cases"] += 1
                counts["cases with standby tasks"] += any(tasks["standby"] for tasks in case.expected.values())
                counts["cases with previous tasks"] += any(member.active for member in case.members.values())
    for name, count in counts.items():
        record_property(name, count)

    assert 5 * GROUPS < counts["cases"]
    assert GROUPS < counts["cases with standby tasks"] < counts["cases"]
    assert 3 * GROUPS < counts["cases with previous tasks"]
