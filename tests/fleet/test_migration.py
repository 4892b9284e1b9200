"""`Scenario.use`: the effect of another assignor or group protocol, at the switch and in later steps."""

from __future__ import annotations

from typing import Any

import pytest

from assignor import errors
from assignor.spark import Scenario
from tests.fleet.columns import Row, ask, cluster, group, member, outcome_of
from tests.fleet.columns import clusters as clusters_of
from tests.fleet.columns import groups as groups_of

TOPICS = cluster({"t": 3, "u": 3})
UNEVEN = group(member("a", "t", "u"), member("b", "t", "u"))
"""With range, a has four partitions and b has two."""

UNIFORM = ("use", "uniform", "consumer")
COOPERATIVE = ("use", "cooperative-sticky", "classic")
Step = tuple[Any, ...]


def play(asked: Row, *steps: Step) -> Row:
    """Return the outcome of the steps."""
    [[found]] = ask("what_if", [TOPICS], [asked], [("s", None, list(steps))])
    return dict(found)


def course(asked: Row, *steps: Step) -> tuple[int, int, int, int]:
    """Return the number of rebalances and of moved partitions, and the smallest and the largest load at the end."""
    found = play(asked, *steps)
    return found["rebalances"], found["moved"], found["least_loaded"], found["most_loaded"]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], (0, 0, 2, 4)),
        ([("use", "range", "classic")], (0, 0, 2, 4)),
        ([UNIFORM], (1, 1, 3, 3)),
        ([UNIFORM, UNIFORM], (1, 1, 3, 3)),
        ([COOPERATIVE], (2, 1, 3, 3)),
        ([("use", "sticky", "classic")], (1, 1, 3, 3)),
        ([("use", "range", "consumer")], (1, 0, 2, 4)),
        ([UNIFORM, ("use", "range", "classic")], (2, 2, 2, 4)),
        ([("add_members", 1)], (1, 4, 2, 2)),
        ([UNIFORM, ("add_members", 1)], (2, 3, 2, 2)),
        ([COOPERATIVE, ("add_members", 1)], (4, 3, 2, 2)),
        ([UNIFORM, ("remove_members", 1)], (2, 4, 6, 6)),
        ([UNIFORM, ("rolling_restart", True)], (1, 1, 3, 3)),
        ([UNIFORM, ("rolling_restart", None)], (5, 13, 3, 3)),
    ],
)
def test_the_switch_and_later_steps_have_the_expected_cost(steps: list[Step], expected: tuple[int, ...]) -> None:
    assert expected == course(UNEVEN, *steps)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("uniform",), errors.IllegalArgumentError, "'uniform' is an assignor of group_protocol 'consumer'"),
        (("stream",), errors.IllegalArgumentError, "assignor must be one of 'range', .*, not 'stream'"),
        ((None, "share"), errors.IllegalArgumentError, "group_protocol must be one of .*, not 'share'"),
        ((7,), errors.WrongTypeError, "assignor must be a str or None"),
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
    assert (UNIFORM,) == Scenario("s").use(group_protocol="consumer").steps


def test_a_step_whose_protocol_lacks_the_assignor_is_rejected() -> None:
    found = outcome_of(
        "what_if", clusters_of(TOPICS), groups_of(UNEVEN), [("s", None, [("use", "sticky", "consumer")])]
    )

    assert ("IllegalArgumentError", "group_protocol 'consumer' has no assignor 'sticky'") == found
