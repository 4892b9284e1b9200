"""Tests of `Plan.balance(weights=...)`: the weights of members, and the bound of what any assignment can reach."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import Balance, TopicPartition, WeightedBalance, errors, plan
from assignor.weights import WeightColumns

TOPICS = {"t": 3, "u": 2}
MEMBERS = {"a": ["t", "u"], "b": ["t", "u"]}
BY_TOPIC = {"t": [5.0, 1.0, 2.0], "u": [10.0, 0.0]}
BY_PARTITION = {(topic, id): weight for topic, weights in BY_TOPIC.items() for id, weight in enumerate(weights)}
COLUMNS = [list(column) for column in zip(*((*key, weight) for key, weight in BY_PARTITION.items()), strict=True)]


@pytest.mark.parametrize(
    "weights",
    [
        BY_TOPIC,
        {topic: np.array(weights) for topic, weights in BY_TOPIC.items()},
        {topic: pa.array(weights) for topic, weights in BY_TOPIC.items()},
        BY_PARTITION,
        {TopicPartition(*place): weight for place, weight in BY_PARTITION.items()},
        WeightColumns(*COLUMNS),
        WeightColumns(np.array(COLUMNS[0]), np.array(COLUMNS[1], np.int32), np.array(COLUMNS[2])),
        pa.table(dict(zip(("topic", "partition", "weight"), COLUMNS, strict=True))),
        pa.record_batch(dict(zip(("weight", "topic", "partition"), (COLUMNS[2], *COLUMNS[:2]), strict=True))),
    ],
)
def test_each_form_of_weights_gives_the_weights_of_members(weights: Any) -> None:
    found = plan(TOPICS, MEMBERS).balance(weights=weights)

    assert {"a": 16.0, "b": 2.0} == found.weights
    assert (2.0, 16.0, 9.0) == (found.least_weight, found.most_weight, found.mean_weight)
    assert (10.0, 10.0) == (found.weight_bound, found.packed_weight)


def test_the_balance_is_unchanged_without_weights() -> None:
    found = plan(TOPICS, MEMBERS)

    assert Balance(2, 3, 2.5, (), {"t": 1, "u": 0}) == found.balance()
    assert isinstance(found.balance(weights=BY_TOPIC), WeightedBalance)
    assert tuple(found.balance()) == found.balance(weights=BY_TOPIC)[:5]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"t": [1, -1, 1], "u": [1, 1]}, "weights['t']: a weight must be a finite number >= 0, got -1.0 at index 1"),
        ({"t": [1, 1, np.nan]}, "weights['t']: a weight must be a finite number >= 0, got nan at index 2"),
        ({("t", 2): np.inf}, "weights of topic 't': a weight must be a finite number >= 0, got inf at partition 2"),
        ({"t": [1] * 4}, "weights has a weight for ('t', 3), but topic 't' has no such partition"),
        ({("t", 2**40): 1}, "weights has a weight for ('t', 1099511627776), but topic 't' has no such partition"),
        ({"w": [1]}, "weights has a weight for ('w', 0), but the group has no topic 'w'"),
        (
            {"t": [1, 2, 3]},
            "weights has no weight for 2 partitions, the first is ('u', 0); give one for each partition of a "
            "subscribed topic",
        ),
        (WeightColumns(["t", "t"], [0, 0], [1, 2]), "weights has two weights for ('t', 0); a partition must have one"),
        (
            WeightColumns(["t"], [0, 1], [1, 2]),
            "the columns topic, partition and weight of weights have 1, 2 and 2 rows",
        ),
        (WeightColumns(["t"], [-1], [1]), "weights: a partition id cannot be negative: -1"),
        ({"t": [1], ("t", 0): 1}, "weights has the key 't' and keys of its partitions; give one of both"),
        ({"t": ["1"]}, "weights['t'] must have numbers, not '1'"),
        ({"t": 3}, "weights['t'] must be a list or a column of numbers, not int: 3"),
        ({"t": [[1, 2, 3]]}, "weights['t'] must have one dimension, not 2"),
        (pa.table({"topic": ["t"], "weight": [1]}), "weights has no column partition; its columns are topic, weight"),
    ],
)
def test_wrong_weights_are_named(weights: Any, message: str) -> None:
    with pytest.raises(errors.AssignorError) as error:
        plan(TOPICS, MEMBERS).balance(weights=weights)

    assert message == str(error.value)


def test_members_of_a_share_group_have_no_weights() -> None:
    with pytest.raises(errors.IllegalArgumentError, match="share the records of a partition"):
        plan(TOPICS, MEMBERS, group_protocol="share").balance(weights=BY_TOPIC)


def test_ids_with_gaps_have_their_own_weights() -> None:
    found = plan({"t": [3, 7]}, {"a": ["t"], "b": ["t"]})

    assert {"a": 1.0, "b": 2.0} == found.balance(weights={("t", 7): 2, ("t", 3): 1}).weights
    with pytest.raises(errors.IllegalArgumentError, match=r"for \('t', 4\), but topic 't' has no such partition"):
        found.balance(weights={("t", 4): 2})


@st.composite
def weighted_groups(draw: Any) -> tuple[dict[str, list[float]], dict[str, list[str]]]:
    weights = draw(
        st.dictionaries(
            st.sampled_from(["t", "u"]), st.lists(st.sampled_from([0.0, 1.0, 1.5, 2.0, 7.0]), max_size=4), min_size=1
        )
    )
    subscription = st.lists(st.sampled_from(["t", "u"]), unique=True, min_size=1)
    return weights, {name: draw(subscription) for name in "abc"[: draw(st.integers(1, 3))]}


@given(weighted_groups(), st.sampled_from(["range", "roundrobin", "sticky"]))
def test_no_assignment_is_better_than_the_bound(
    group: tuple[dict[str, list[float]], dict[str, list[str]]], assignor: Any
) -> None:
    weights, members = group
    topics = {topic: len(each) for topic, each in weights.items()}
    partitions = [(topic, weight) for topic, each in weights.items() for weight in each]
    takers = [[name for name, topics in members.items() if topic in topics] for topic, _ in partitions]
    partitions = [each for each, names in zip(partitions, takers, strict=True) if names]
    best = min(
        max(
            sum(weight for owner, (_, weight) in zip(owners, partitions, strict=True) if owner == name)
            for name in members
        )
        for owners in itertools.product(*filter(None, takers))
    )

    found = plan(topics, members, assignor=assignor).balance(weights=weights)

    assert found.weight_bound <= best + 1e-9
    assert best <= found.packed_weight + 1e-9
    assert best <= found.most_weight + 1e-9
    if all(each == ["t", "u"] for each in map(sorted, members.values())):
        count = len(members)
        assert found.packed_weight <= found.weight_bound * (4 / 3 - 1 / (3 * count)) + 1e-9
