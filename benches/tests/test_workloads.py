"""Tests of the groups on which assignment is timed, and of the checks of the answers."""

from __future__ import annotations

import re
from collections import Counter
from typing import get_args

import numpy as np
import pytest

from assignor import PartitionInfo, Subscription, TopicPartition, plan
from benches.bench_assign import OVER_KAFKA_PYTHON, groups, java_points
from benches.checks import WrongAnswerError
from benches.implementations import IMPLEMENTATIONS, forget_answers, prepared, right_answer
from benches.java_process import checksum
from benches.rebalances import GENERATION, RESTARTS, members, rebalances
from benches.report import Run
from benches.workloads import AssignorName, Shape, Workload, grid, jmh

TINY = [
    jmh(10, 5, 3),
    jmh(7, 10, 5, "HETEROGENEOUS"),
    jmh(10, 100, 5),  # no partitions
    jmh(10, 5, 3, racks="three"),
    jmh(11, 10, 7, "HETEROGENEOUS", "two", "differ"),
    Workload(7, 20, 3, "DISTINCT"),
]


def test_the_grid_has_the_points_of_jmh_and_further_points_with_racks_in_use() -> None:
    points = grid()

    assert Counter(point.racks for point in points) == {"none": 90, "three": 90, "two": 90}
    upstream = [point for point in points if point.racks != "two"]  # isRackAware false and true
    assert len(upstream) * 2 * 2 == 720  # x RANGE, COOPERATIVE_STICKY x FULL, INCREMENTAL
    assert len({point.name for point in points}) == len(points)
    assert [50, 50_000, 0] == [jmh(*sizes).partitions for sizes in ((1000, 1000, 50), (10000, 10, 50), (100, 1000, 5))]


def test_heterogeneous_members_subscribe_to_the_topics_of_one_of_five_disjoint_buckets() -> None:
    subscriptions = jmh(100, 10, 5, "HETEROGENEOUS").subscriptions()

    assert subscriptions["member0"] == subscriptions["member19"] == ["topic0", "topic1"]
    assert subscriptions["member20"] == ["topic2", "topic3"]
    with pytest.raises(ValueError, match=re.escape("100x4x125-heterogeneous: 4 topics cannot fill 5 buckets")):
        jmh(100, 4, 5, "HETEROGENEOUS").subscriptions()


def test_racks_are_read_with_three_and_used_with_two() -> None:
    plain, three, two = (right_answer(jmh(10, 5, 10, racks=racks)) for racks in ("none", "three", "two"))
    listed = jmh(4, 2, 2, racks="two").partitions_per_topic()["topic0"]

    assert three == plain
    assert two != plain
    assert isinstance(listed, list)
    assert [PartitionInfo(0, ("rack0", "rack1")), PartitionInfo(1, ("rack1", "rack2"))] == listed[:2]


def test_topics_differ_in_size_and_keep_the_mean() -> None:
    assert [21, 19, 22, 18] == Workload(10, 10, 20, sizes="differ").partition_counts()[:4]
    for topics, partitions in ((10, 20), (100, 3), (5, 3)):
        assert topics * partitions == Workload(10, topics, partitions, sizes="differ").total_partitions


def test_shapes_hold_the_same_topics_in_other_objects() -> None:
    lists, fresh, sets, objects = (list(jmh(3, 2, 2).subscriptions(shape).values()) for shape in get_args(Shape))

    assert lists == fresh == [["topic0", "topic1"]] * 3
    assert len({id(topics) for topics in lists}) == 3
    assert len({id(topic) for topics in lists if isinstance(topics, list) for topic in topics}) == 2
    assert len({id(topic) for topics in fresh if isinstance(topics, list) for topic in topics}) == 6
    assert sets == [{"topic0", "topic1"}] * 3
    assert objects == [Subscription(("topic0", "topic1"))] * 3


@pytest.mark.parametrize("workload", TINY, ids=lambda workload: workload.name)
def test_columns_hold_the_same_group(workload: Workload) -> None:
    topics = workload.topic_columns()

    assert dict(plan(topics, workload.member_columns())) == dict(
        plan(workload.partitions_per_topic(), workload.subscriptions())
    )
    if workload.racks != "none":
        infos = [info for listed in workload.partitions_per_topic().values() for info in listed]  # type: ignore[union-attr]  # lists
        assert [info.racks for info in infos] == [topics.rack_sets[index] for index in np.asarray(topics.rack_set)]  # type: ignore[index]  # a list


def test_each_rebalance_of_an_event_has_its_members_with_their_partitions() -> None:
    assert members("leave", 3)[1:] == [{"member0": 0, "member2": 2}]
    rolling = members("rolling", 6)
    assert len(rolling) == 1 + 2 * RESTARTS
    assert (len(rolling[1]), list(rolling[2])[-1]) == (5, "member0-again")
    (rebalance,) = rebalances(Workload(2, 1, 4, event="join"))
    owned = {id: tuple(TopicPartition("topic0", partition) for partition in (2 * id, 2 * id + 1)) for id in (0, 1)}
    assert rebalance.subscriptions == {
        "member0": Subscription(("topic0",), owned_partitions=owned[0], generation=GENERATION),
        "member1": Subscription(("topic0",), owned_partitions=owned[1], generation=GENERATION),
        "member2": Subscription(("topic0",)),
    }


def test_each_target_is_measured_on_a_group_that_its_implementations_take() -> None:
    measured = groups(Run())
    for name, workload, shape in OVER_KAFKA_PYTHON:
        assert (workload, shape) in measured
        assert all(IMPLEMENTATIONS[each].takes(workload, shape) for each in (name, "kafka-python"))


@pytest.mark.parametrize(("assignor", "points"), [("range", 36), ("roundrobin", 49), ("sticky", 63), ("uniform", 49)])
def test_java_is_timed_on_each_shape_and_event(assignor: AssignorName, points: int) -> None:
    found = java_points(assignor, Run())

    assert points == len(found) == len(set(found))
    assert {"none", "two", *({"far"} if assignor == "sticky" else ())} >= {point.racks for point in found}


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("workload", TINY, ids=lambda workload: workload.name)
def test_every_implementation_gives_the_right_answer(name: str, workload: Workload) -> None:
    implementation = IMPLEMENTATIONS[name]
    assert implementation.version is not None, f"{implementation.package} is not installed"
    assert implementation.takes(workload) == (implementation.racks or workload.racks == "none")
    if implementation.takes(workload):
        for shape in implementation.shapes:
            call = prepared(name, workload, shape)
            implementation.assert_right(workload, call())  # a call does not change its input


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_a_wrong_answer_is_rejected(name: str) -> None:
    workload, implementation = TINY[0], IMPLEMENTATIONS[name]
    swapped = dict(implementation.prepare(workload, "lists")())
    swapped["member0"], swapped["member9"] = swapped["member9"], swapped["member0"]

    with pytest.raises(WrongAnswerError, match=re.escape(workload.name)):
        implementation.assert_right(workload, swapped)


@pytest.mark.parametrize("checked", [0, 100])
def test_a_workload_too_large_for_the_reference_is_checked(checked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benches.implementations.PAIRS", 1)
    monkeypatch.setattr("benches.implementations.CHECKED", checked)
    forget_answers()

    assert right_answer(jmh(2, 2, 2))["member1"] == [TopicPartition("topic0", 1), TopicPartition("topic1", 1)]
    assert not IMPLEMENTATIONS["reference"].takes(jmh(2, 2, 2))


def test_the_checksum_depends_on_owners_but_not_on_their_order() -> None:
    topics, group = {"t0": 3, "t1": 2}, {"a": ["t0", "t1"], "b": ["t0"]}

    expected = checksum(plan(topics, group))
    assert expected[0] == 5
    assert expected == checksum(plan(dict(reversed(topics.items())), dict(reversed(group.items()))))
    assert expected != checksum(plan(topics, {"a": ["t0"], "b": ["t0", "t1"]}))
