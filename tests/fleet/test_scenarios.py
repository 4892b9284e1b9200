"""`Clusters.what_if` and `Scenario.use`: errors for invalid steps. `cases.py` has the steps and their effects."""

from __future__ import annotations

from typing import Any

import pytest

from assignor import errors
from assignor.spark import Scenario
from tests.fleet.columns import ask, cluster, clusters, group, groups, member, outcome_of

TOPICS = cluster({"t": 6, "u": 2, "racks": [["r0"], ["r1"]]})
PAIR = group(member("a", "t"), member("b", "t"))
Step = tuple[Any, ...]


def test_without_scenarios_there_is_no_outcome() -> None:
    assert [[]] == ask("what_if", [TOPICS], [PAIR], [])


# ---- invalid input


@pytest.mark.parametrize(
    ("step", "topic", "count"),
    [
        (("multiply_partitions", 2**32 - 1), "t", 6 * (2**32 - 1)),
        (("grow_partitions", "t", 10_000_001), "t", 10_000_001),
        (("add_topic", "new", 2**32 - 1), "new", 2**32 - 1),
    ],
)
def test_too_many_partitions_are_rejected(step: Step, topic: str, count: int) -> None:
    found = outcome_of("what_if", clusters(TOPICS), groups(PAIR), [("s", None, [step])])

    reason = f"topic '{topic}' would have {count} partitions; the limit is 10000000"
    assert ("IllegalArgumentError", f"group 'g' of cluster 'c': scenario 's': {reason}") == found


GROWN: dict[str, int] = {f"t{number}": 10_000_000 for number in range(26)}


@pytest.mark.parametrize("assignor", ["roundrobin", "sticky", "cooperative-sticky"])
@pytest.mark.parametrize(
    ("topics", "added", "count"),
    [(GROWN, [("add_topic", "new", 10_000_000)], 270_000_000), ({"new": 2**28 + 1}, [], 2**28 + 1)],
)
def test_no_step_exceeds_the_number_of_partitions_that_the_assignor_supports(
    assignor: str, topics: dict[str, int], added: list[Step], count: int
) -> None:
    asked = group(member("a", "new", *topics))
    scenario = ("s", None, [*added, ("use", assignor, "classic")])
    found = outcome_of("what_if", clusters(cluster(topics)), groups(asked), [scenario])

    limit = f"the limit of assignor '{assignor}' of group_protocol 'classic' is {2**28}"
    reason = f"group 'g' of cluster 'c': scenario 's': the topics have {count} partitions; {limit}"
    assert ("IllegalArgumentError", reason) == found


def test_a_step_that_changes_no_topic_is_a_problem_of_the_outcome() -> None:
    topics = {"t": 4, "u": 2}
    steps = {
        "missing": ([("grow_partitions", "x", 9)], ["topic 'x' does not exist, so it does not grow"]),
        "smaller": ([("grow_partitions", "t", 3)], ["topic 't' has 4 partitions and cannot shrink to 3"]),
        "after": (
            [("multiply_partitions", 2), ("grow_partitions", "t", 6)],
            ["topic 't' has 8 partitions and cannot shrink to 6"],
        ),
        "exists": ([("add_topic", "u", 3)], ["topic 'u' exists with 2 partitions, so it is not added with 3"]),
        "both": (
            [("grow_partitions", "t", 1), ("grow_partitions", "x", 1)],
            ["topic 't' has 4 partitions and cannot shrink to 1", "topic 'x' does not exist, so it does not grow"],
        ),
        "same": ([("grow_partitions", "t", 4), ("add_topic", "u", 2)], []),
        "added": ([("add_topic", "x", 1), ("grow_partitions", "x", 9)], []),
        "larger": ([("grow_partitions", "t", 5)], []),
        "other": ([("add_members", 1)], []),
    }
    scenarios = [(name, None, given) for name, (given, _) in steps.items()]

    found = outcome_of("what_if", clusters(cluster(topics)), groups(group(member("a", "t"))), scenarios)

    assert {name: problems for name, (_, problems) in steps.items()} == {
        outcome["scenario"]: outcome["problems"] for outcome in found.answer[0]
    }


def test_an_unknown_step_is_rejected() -> None:
    found = outcome_of("what_if", clusters(TOPICS), groups(PAIR), [("s", None, [("explode", 1)])])

    assert ("IllegalArgumentError", "a scenario has no step 'explode'") == found


def test_an_assignment_after_several_scenarios_is_an_error() -> None:
    two: list[Any] = [("one", None, []), ("two", None, [])]
    for scenarios in (two[:0], two):
        found = outcome_of("assign_after", clusters(TOPICS), groups(PAIR), scenarios)
        assert ("IllegalArgumentError", f"assign_after needs one scenario, not {len(scenarios)}") == found


# ---- `Scenario.use`


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("uniform",), errors.IllegalArgumentError, "'uniform' is an assignor of group_protocol 'consumer'"),
        (("stream",), errors.IllegalArgumentError, "assignor must be one of 'range', .*, not 'stream'"),
        ((None, "streams"), errors.IllegalArgumentError, "group_protocol must be one of .*, not 'streams'"),
        ((7,), errors.WrongTypeError, "assignor must be a name such as 'range', or None"),
        (("range", None), errors.WrongTypeError, "group_protocol must be a str"),
    ],
)
def test_use_rejects_invalid_assignors_and_protocols(
    arguments: tuple[Any, ...], error: type[errors.AssignorError], message: str
) -> None:
    with pytest.raises(error, match=message):
        Scenario("s").use(*arguments)


def test_the_assignor_defaults_to_that_of_the_protocol() -> None:
    assert (("use", "range", "classic"),) == Scenario("s").use().steps
    assert (("use", "uniform", "consumer"),) == Scenario("s").use(group_protocol="consumer").steps


def test_a_step_whose_protocol_lacks_the_assignor_is_rejected() -> None:
    found = outcome_of("what_if", clusters(TOPICS), groups(PAIR), [("s", None, [("use", "sticky", "consumer")])])

    assert ("IllegalArgumentError", "group_protocol 'consumer' has no assignor 'sticky'") == found
