"""`Topics`: it reads partitions once, and all answers share its `TopicPartition` objects."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from assignor import (
    Group,
    PartitionInfo,
    Topics,
    assign,
    plan,
)
from tests.support.invalid_input import ARGUMENT, NULL, TYPE, error_of

LARGEST = 2**31 - 1


def objects(answer: Any) -> dict[tuple[str, int], int]:
    """Return the identities of all partitions of an answer."""
    return {partition: id(partition) for partitions in answer.values() for partition in partitions}


def test_all_answers_share_their_objects() -> None:
    topics = Topics({"u": [9, 4, 5], "t": 3})
    group, found = Group(topics, {"b": ["t", "u"]}), plan(topics, {"a": ["u"], "b": ["t", "u"]})
    expected = objects(assign(topics, {"a": ["t"], "b": ["t", "u"]}))

    assert 6 == len(expected)
    assert expected == objects(assign(topics, {"c": ["u", "t"]}))
    assert expected == objects(group.assign()) == objects(group.plan())
    assert expected == objects(found) == objects({member: found.partitions(member) for member in found})
    assert expected == objects({"b": found.get("b"), "a": found["a"]})
    added = found.diff(group.plan()).added
    assert {} != added
    assert objects(added).items() <= expected.items()
    assert expected == objects(assign(Topics(topics), {"c": ["u", "t"]}))


def test_two_topics_objects_do_not_share_partitions() -> None:
    left, right = (assign(Topics({"t": 1}), {"a": ["t"]})["a"][0] for _ in range(2))

    assert left == right
    assert left is not right


@pytest.mark.parametrize(
    "ids",
    [
        [2**20 - 1, 2**20, 2**20 + 1],
        [LARGEST, LARGEST - 1, 0],
        [0, 2**20, LARGEST],
        [LARGEST],
        list(range(2**20 - 2, 2**20 + 3)),
    ],
)
def test_ids_of_every_size_are_shared(ids: list[int]) -> None:
    topics = Topics({"t": ids})
    members = {"a": ["t"], "b": ["t"]}

    first, second = assign(topics, members), assign(topics, members)

    assert assign({"t": ids}, members, engine="reference") == first
    assert objects(first) == objects(second) == objects(plan(topics, members))
    assert sorted(ids) == [id for partitions in first.values() for _, id in partitions]


def test_names_are_in_java_order_and_counted() -> None:
    topics = Topics({"～": 1, "😀": [5, 7], "b": 0, "B": [PartitionInfo(0, ("r",))]})

    assert ("B", "b", "😀", "～") == topics.names
    assert 4 == len(topics)
    assert "<Topics: 4 topics, 4 partitions>" == repr(topics)
    assert not Topics({})
    assert topics.names == Group(topics, {}).topics == plan(topics, {}).topics


@pytest.mark.parametrize(
    ("topics", "error", "message"),
    [
        (None, NULL, "partitions_per_topic must be a mapping of topics to partitions, not None"),
        (["t"], TYPE, "partitions_per_topic must be a mapping of topics to partitions, not list: ['t']"),
        ({"t": -1}, ARGUMENT, "topic 't': a partition count cannot be negative: -1"),
        ({"t": [1, 1]}, ARGUMENT, "topic 't': partition 1 is given twice"),
        ({7: 1}, TYPE, "a topic name must be a str, not int: 7"),
    ],
)
def test_topics_reject_invalid_input(topics: Any, error: type[Exception], message: str) -> None:
    assert (error, message) == error_of(lambda: Topics(topics))


def test_shared_objects_are_freed_with_the_topics() -> None:
    name = "".join(["shared", "-topic"])
    before = sys.getrefcount(name)
    topics = Topics({name: 100})
    assign(topics, {"a": [name]})

    assert before + 100 < sys.getrefcount(name)
    del topics
    assert before == sys.getrefcount(name)
