"""`check`: its findings, and errors for invalid input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assignor import Findings, PartitionInfo, TopicPartition, assign, check, errors, plan
from tests.support.engines import Engine

TOPICS: dict[str, Any] = {"t": 2, "u": [1, 4]}
MEMBERS = {"a": ("t", "u"), "b": ("t",)}


def test_the_answer_of_an_assignor_has_no_findings(engine: Engine) -> None:
    assert Findings() == check(assign(TOPICS, MEMBERS, engine=engine), TOPICS, MEMBERS)
    assert not check(plan(TOPICS, MEMBERS, engine=engine), TOPICS, MEMBERS)


def partition(name: str) -> TopicPartition:
    """Return the partition with a name such as `t0`."""
    return TopicPartition(name[0], int(name[1:]))


@pytest.mark.parametrize(
    ("assignment", "topics", "members", "expected"),
    [
        pytest.param(
            {"a": ["u4"], "b": ["t1"]}, TOPICS, MEMBERS, {"unowned": [partition("t0"), partition("u1")]}, id="unowned"
        ),
        pytest.param({}, {"t": 1}, {"a": ("t",)}, {"unowned": [partition("t0")]}, id="a member is left out"),
        pytest.param({"a": ["t0"]}, {"t": 1, "other": 9}, {"a": ("t", "gone")}, {}, id="no subscribers"),
        pytest.param(
            {"a": ["t0"], "b": ["t0", "t1"]},
            {"t": 2},
            {"a": ("t",), "b": ("t",)},
            {"doubly_owned": [partition("t0")]},
            id="two members own a partition",
        ),
        pytest.param(
            {"a": ["t0"] * 3}, {"t": 1}, {"a": ("t",)}, {"doubly_owned": [partition("t0")]}, id="a member owns it twice"
        ),
        pytest.param(
            {"a": ["t0"], "b": ["u0"]},
            {"t": 1, "u": 1},
            {"a": ("t", "u"), "b": ("t",)},
            {"not_subscribed": [("b", partition("u0"))]},
            id="not subscribed",
        ),
        pytest.param(
            {"ghost": ["t0"]},
            {"t": 1},
            {"a": ("t",)},
            {"not_subscribed": [("ghost", partition("t0"))]},
            id="not a member of the group",
        ),
        pytest.param(
            {"a": ["t0", "t7"], "b": ["g0"]},
            {"t": 1},
            {"a": ("t",), "b": ("g",)},
            {"unknown": [("a", partition("t7")), ("b", partition("g0"))]},
            id="unknown",
        ),
    ],
)
def test_each_kind_of_finding(
    assignment: Any, topics: Any, members: Any, expected: dict[str, list[Any]], engine: Engine
) -> None:
    given = {member: [partition(name) for name in owned] for member, owned in assignment.items()}

    findings = check(given, topics, members, engine=engine)

    assert Findings(**{kind: tuple(found) for kind, found in expected.items()}) == findings
    assert bool(expected) == bool(findings)


def test_all_kinds_of_findings_are_reported_in_order(engine: Engine) -> None:
    assignment = {"b": [("u", 9), ("u", 1)], "a": [("～", 0), ("😀", 0), ("t", 1), ("t", 1)]}

    findings = check(assignment, TOPICS, MEMBERS, engine=engine)

    assert (("t", 0), ("u", 4)) == findings.unowned
    assert (("t", 1),) == findings.doubly_owned
    assert (("b", ("u", 1)), ("b", ("u", 9)), ("a", ("😀", 0)), ("a", ("～", 0))) == findings.not_subscribed
    assert (("b", ("u", 9)), ("a", ("😀", 0)), ("a", ("～", 0))) == findings.unknown


def test_findings_as_json() -> None:
    found = check({"a": [("t", 0), ("é", 1)]}, {"t": 2}, {"a": ["t"]})

    assert (
        '{"unowned": [["t", 1]], "doubly_owned": [], "not_subscribed": [["a", ["é", 1]]], "unknown": [["a", ["é", 1]]]}'
    ) == found.to_json()


def test_partitions_may_be_any_iterable_and_ids_numpy_integers() -> None:
    assignment = {"a": iter([("t", np.int32(0))]), "b": {("t", 1)}}

    assert not check(assignment, {"t": [PartitionInfo(0), PartitionInfo(1)]}, {"a": ("t",), "b": ("t",)})  # type: ignore[arg-type]  # deliberately wrong type


@pytest.mark.parametrize(
    ("assignment", "error", "message"),
    [
        (None, errors.NullArgumentError, "assignment must be a mapping of member ids to partitions, not None"),
        ({"a": None}, errors.NullArgumentError, "member 'a': partitions must be an iterable of .*, not None"),
        ({"a": "t0"}, errors.WrongTypeError, "member 'a': partitions must be an iterable of .*, not str: 't0'"),
        ({"a": ["t"]}, errors.WrongTypeError, "member 'a': a partition must be .*, not str: 't'"),
        ({"a": [("t", 0, 1)]}, errors.WrongTypeError, r"member 'a': a partition must be .* tuple: \('t', 0, 1\)"),
        ({"a": [(7, 0)]}, errors.WrongTypeError, "member 'a': a topic must be a str, not int: 7"),
        ({"a": [("t", True)]}, errors.WrongTypeError, "member 'a': a partition id must be an int, not bool: True"),
        ({"a": [("t", "0")]}, errors.WrongTypeError, "member 'a': a partition id must be an int, not str: '0'"),
        ({"a": [("t", -1)]}, errors.IllegalArgumentError, "member 'a': a partition id cannot be negative: -1"),
        ({7: []}, errors.WrongTypeError, "a member id must be a str, not int: 7"),
    ],
)
def test_errors_name_the_invalid_part_of_the_assignment(
    assignment: Any, error: type[Exception], message: str, engine: Engine
) -> None:
    with pytest.raises(error, match=message):
        check(assignment, TOPICS, MEMBERS, engine=engine)


def test_topics_and_subscriptions_are_read_as_by_assign_and_before_the_assignment(engine: Engine) -> None:
    wrong: Any = None
    with pytest.raises(errors.IllegalArgumentError, match="topic 't': a partition count cannot be negative: -1"):
        check(wrong, {"t": -1}, {}, engine=engine)
    with pytest.raises(errors.WrongTypeError, match="member 'a': topics must be an iterable of topic names, not str"):
        check(wrong, {}, {"a": "t"}, engine=engine)
