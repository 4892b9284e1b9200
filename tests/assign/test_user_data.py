"""User data of the sticky assignors: the same bytes as Kafka's own classes write."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assignor import CooperativeStickyAssignor, StickyAssignor, TopicPartition, errors
from tests.support.assignor_oracle import AssignorOracle
from tests.support.invalid_input import ARGUMENT, TYPE

RECORDED = Path(__file__).parents[1] / "data" / "sticky_user_data.jsonl.gz"
"""File with inputs, and the answers of kafka-clients 4.4.0 in `answer`; `record` writes it."""

ASSIGNORS = {"sticky": StickyAssignor, "cooperative-sticky": CooperativeStickyAssignor}

NAMES = ["t", "u", "Aa", "BB", "a", "q", "orders-eu", "é", "～", "😀", *(f"topic-{number}" for number in range(60))]


def questions(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Draw successive assignments of members for each assignor."""
    random_numbers = random.Random(seed)
    for number in range(count):
        assignments = []
        for _ in range(number % 3 if number < 6 else 1):
            topics = random_numbers.sample(NAMES, random_numbers.choice([0, 1, 3, 12, 13, 14, 24, 25, 26, 48, 49]))
            partitions = [(topic, id) for topic in topics for id in range(random_numbers.choice([1, 1, 1, 2, 4]))]
            if random_numbers.random() < 0.4:
                random_numbers.shuffle(partitions)
            generation = random_numbers.choice([-1, 0, 1, 77, 2**31 - 1])
            assignments.append({"partitions": partitions, "generation": generation})
        yield {"assignor": list(ASSIGNORS)[number % 5 == 4], "assignments": assignments}


def ours(question: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of this package."""
    assignor = ASSIGNORS[question["assignor"]]()
    for assignment in question["assignments"]:
        partitions = [TopicPartition(*partition) for partition in assignment["partitions"]]
        assignor.on_assignment(partitions, assignment["generation"])
    data = assignor.subscription_user_data(["t"])
    return {"user_data": None if data is None else data.hex(), "version": assignor.version}


def record() -> None:
    """Record Kafka's answers: `python -c "import tests.assign.test_user_data as data; data.record()"`."""
    with AssignorOracle() as kafka:
        lines = [json.dumps(question | {"answer": kafka.ask(question)}) for question in questions(848, 400)]
    RECORDED.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


def test_user_data_equals_kafkas_recorded_answers() -> None:
    recorded = [json.loads(line) for line in gzip.decompress(RECORDED.read_bytes()).splitlines()]

    assert 400 == len(recorded)
    for question in recorded:
        assert question["answer"] == ours(question)


@pytest.mark.broker
def test_user_data_equals_that_of_kafka(oracle: AssignorOracle) -> None:
    for question in questions(random.randrange(2**32), 300):
        assert oracle.ask(question) == ours(question), question


@pytest.mark.parametrize("assignor", ASSIGNORS.values())
@pytest.mark.parametrize(
    ("generation", "error", "message"),
    [
        ("1", TYPE, "on_assignment: generation must be an int, not str: '1'"),
        (2**31, ARGUMENT, "on_assignment: generation cannot be over 2147483647: 2147483648"),
    ],
)
def test_an_invalid_generation_is_rejected(
    assignor: type[StickyAssignor], generation: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as raised:
        assignor().on_assignment([], generation)

    assert message == str(raised.value)


def test_an_invalid_assignment_is_rejected_and_the_previous_one_is_kept() -> None:
    assignor = StickyAssignor()
    assignor.on_assignment([TopicPartition("t", 0)], 1)
    before = assignor.subscription_user_data(["t"])

    with pytest.raises(errors.WrongTypeError, match=r"on_assignment: assignment: a partition must be a \(topic, part"):
        assignor.on_assignment(["t-0"], 2)  # type: ignore[list-item]  # deliberately wrong type

    assert before == assignor.subscription_user_data(["t"])
