"""`check`: its findings, and errors for invalid input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assignor import Findings, PartitionInfo, Subscription, TopicPartition, assign, check, errors, plan
from tests.support.engines import Engine

TOPICS: dict[str, Any] = {"t": 2, "u": [1, 4]}
MEMBERS = {"a": ("t", "u"), "b": ("t",)}


def test_the_answer_of_an_assignor_has_no_findings(engine: Engine) -> None:
    assert Findings() == check(assign(TOPICS, MEMBERS, engine=engine), TOPICS, MEMBERS)
    assert not check(plan(TOPICS, MEMBERS, engine=engine), TOPICS, MEMBERS)


def test_a_partition_without_an_owner_is_unowned() -> None:
    findings = check({"a": [("u", 4)], "b": [("t", 1)]}, TOPICS, MEMBERS)

    assert Findings(unowned=(TopicPartition("t", 0), TopicPartition("u", 1))) == findings


def test_partitions_without_subscribers_are_not_unowned() -> None:
    assert not check({"a": [("t", 0)]}, {"t": 1, "other": 9}, {"a": ("t", "gone")})


def test_a_partition_of_two_members_is_doubly_owned() -> None:
    findings = check({"a": [("t", 0)], "b": [("t", 0), ("t", 1)]}, {"t": 2}, {"a": ("t",), "b": ("t",)})

    assert Findings(doubly_owned=(TopicPartition("t", 0),)) == findings


def test_a_partition_given_twice_to_one_member_is_doubly_owned() -> None:
    assert Findings(doubly_owned=(TopicPartition("t", 0),)) == check({"a": [("t", 0)] * 3}, {"t": 1}, {"a": ("t",)})


def test_a_partition_of_a_topic_that_its_owner_does_not_subscribe_to_is_found() -> None:
    findings = check({"a": [("t", 0)], "b": [("u", 0)]}, {"t": 1, "u": 1}, {"a": ("t", "u"), "b": ("t",)})

    assert Findings(not_subscribed=(("b", TopicPartition("u", 0)),)) == findings


def test_a_member_outside_the_group_has_no_subscription() -> None:
    findings = check({"ghost": [("t", 0)]}, {"t": 1}, {"a": ("t",)})

    assert Findings(not_subscribed=(("ghost", TopicPartition("t", 0)),)) == findings


def test_partitions_that_do_not_exist_are_unknown() -> None:
    findings = check({"a": [("t", 0), ("t", 7)], "b": [("gone", 0)]}, {"t": 1}, {"a": ("t",), "b": ("gone",)})

    assert Findings(unknown=(("a", TopicPartition("t", 7)), ("b", TopicPartition("gone", 0)))) == findings


def test_all_kinds_of_findings_are_reported_in_order() -> None:
    assignment = {"b": [("u", 9), ("u", 1)], "a": [("～", 0), ("😀", 0), ("t", 1), ("t", 1)]}

    findings = check(assignment, TOPICS, MEMBERS)

    assert (("t", 0), ("u", 4)) == findings.unowned
    assert (("t", 1),) == findings.doubly_owned
    assert (("b", ("u", 1)), ("b", ("u", 9)), ("a", ("😀", 0)), ("a", ("～", 0))) == findings.not_subscribed
    assert (("b", ("u", 9)), ("a", ("😀", 0)), ("a", ("～", 0))) == findings.unknown


def test_a_member_that_the_assignment_leaves_out_has_no_partitions() -> None:
    assert Findings(unowned=(TopicPartition("t", 0),)) == check({}, {"t": 1}, {"a": Subscription(("t",))})


def test_findings_are_true_if_they_are_not_empty() -> None:
    partition = TopicPartition("t", 0)

    assert not Findings()
    assert all(
        [
            Findings(unowned=(partition,)),
            Findings(doubly_owned=(partition,)),
            Findings(not_subscribed=(("a", partition),)),
            Findings(unknown=(("a", partition),)),
        ]
    )


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
def test_errors_name_the_invalid_part_of_the_assignment(assignment: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        check(assignment, TOPICS, MEMBERS)


def test_topics_and_subscriptions_are_read_as_by_assign() -> None:
    with pytest.raises(errors.IllegalArgumentError, match="topic 't': a partition count cannot be negative: -1"):
        check({}, {"t": -1}, {})
    with pytest.raises(errors.WrongTypeError, match="member 'a': topics must be an iterable of topic names, not str"):
        check({}, {}, {"a": "t"})
