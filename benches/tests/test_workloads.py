"""Tests of workloads, of the implementations' answers, and of the rejection of builds that are not release builds."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

import assignor._core
from assignor import PartitionInfo, Subscription, TopicPartition, plan
from benches import conftest
from benches.implementations import (
    IMPLEMENTATIONS,
    WrongAnswerError,
    encoders,
    forget_answers,
    require_release,
    right_answer,
)
from benches.workloads import MEMBERS, PAIRS, RATIOS, TOPICS, Axis, Shape, Workload, doubling, grid, jmh

TINY = [
    jmh(10, 5, 3),
    jmh(7, 10, 5, "HETEROGENEOUS"),
    jmh(10, 100, 5),  # no partitions
    jmh(10, 5, 3, racks="three"),
    jmh(10, 5, 3, racks="two"),
    jmh(11, 10, 7, "HETEROGENEOUS", racks="two"),
    jmh(11, 10, 7, "HETEROGENEOUS", "two", "differ"),
    Workload(7, 20, 3, "DISTINCT"),
]


def test_the_grid_has_the_points_of_jmh_and_further_points_with_racks_in_use() -> None:
    points = grid()

    assert Counter(point.racks for point in points) == {"none": 90, "three": 90, "two": 90}
    upstream = [point for point in points if point.racks != "two"]  # isRackAware false and true
    assert len(upstream) * 2 * 2 == 720  # x RANGE, COOPERATIVE_STICKY x FULL, INCREMENTAL
    assert len({point.name for point in points}) == len(points)
    assert {(point.members, point.topics) for point in points} == {(m, t) for m in MEMBERS for t in TOPICS}


def test_partitions_per_topic_is_an_integer_division_and_may_be_zero() -> None:
    sizes = {
        (members, topics, ratio): jmh(members, topics, ratio).partitions
        for members in MEMBERS
        for topics in TOPICS
        for ratio in RATIOS
    }

    assert sizes[500, 1000, 5] == 2
    assert sizes[1000, 1000, 50] == 50
    assert sizes[10000, 10, 50] == 50_000
    assert [size for size, partitions in sizes.items() if partitions == 0] == [(100, 1000, 5)]


def test_homogeneous_members_all_subscribe_to_all_topics() -> None:
    workload = jmh(3, 2, 2)

    assert workload.partitions_per_topic() == {"topic0": 3, "topic1": 3}
    assert workload.subscriptions() == {f"member{member}": ["topic0", "topic1"] for member in range(3)}
    assert workload.pairs == 6


def test_heterogeneous_members_subscribe_to_the_topics_of_one_of_five_disjoint_buckets() -> None:
    subscriptions = jmh(100, 10, 5, "HETEROGENEOUS").subscriptions()

    assert subscriptions["member0"] == subscriptions["member19"] == ["topic0", "topic1"]
    assert subscriptions["member20"] == ["topic2", "topic3"]
    assert subscriptions["member99"] == ["topic8", "topic9"]
    assert jmh(100, 10, 5, "HETEROGENEOUS").pairs == 200


def test_sizes_of_buckets_are_rounded_up_and_the_last_buckets_are_smaller() -> None:
    buckets = jmh(11, 6, 6, "HETEROGENEOUS").buckets()

    assert buckets == [
        (range(3), range(2)),
        (range(3, 6), range(2, 4)),
        (range(6, 9), range(4, 6)),
        (range(9, 11), range(6, 6)),
        (range(11, 11), range(6, 6)),
    ]
    assert len(jmh(3, 6, 6, "HETEROGENEOUS").buckets()) == 3  # never more buckets than members


def test_fewer_topics_than_buckets_are_rejected() -> None:
    with pytest.raises(ValueError, match=re.escape("100x4x125-heterogeneous: 4 topics cannot fill 5 buckets")):
        jmh(100, 4, 5, "HETEROGENEOUS").subscriptions()


def test_a_partition_has_replicas_on_all_three_racks_or_on_two() -> None:
    three, two = (jmh(4, 2, 2, racks=racks) for racks in ("three", "two"))

    assert {frozenset(info.racks) for info in _infos(three)} == {frozenset({"rack0", "rack1", "rack2"})}
    assert _infos(two)[:4] == [
        PartitionInfo(0, ("rack0", "rack1")),
        PartitionInfo(1, ("rack1", "rack2")),
        PartitionInfo(2, ("rack2", "rack0")),
        PartitionInfo(3, ("rack0", "rack1")),
    ]
    assert two.subscriptions() == {
        f"member{member}": Subscription(("topic0", "topic1"), rack=f"rack{member % 3}") for member in range(4)
    }


def test_rack_logic_is_off_with_three_racks_and_on_with_two() -> None:
    plain, three, two = (right_answer(jmh(10, 5, 10, racks=racks)) for racks in ("none", "three", "two"))

    assert three == plain
    assert two != plain


def test_topics_differ_in_size_and_keep_the_mean() -> None:
    sizes = Workload(10, 10, 20, sizes="differ").partition_counts()

    assert sizes == [21, 19, 22, 18, 23, 17, 24, 16, 25, 15]
    assert sum(sizes) == Workload(10, 10, 20, sizes="differ").total_partitions == 200
    few = Workload(10, 100, 3, sizes="differ").partition_counts()  # a mean too small for 100 sizes
    assert sum(few) == 300
    assert set(few) == {1, 2, 4, 5}
    assert sum(Workload(10, 5, 3, sizes="differ").partition_counts()) == 15


def test_distinct_members_each_subscribe_to_a_random_tenth_of_the_topics() -> None:
    workload = Workload(20, 100, 3, "DISTINCT")
    subscriptions = workload.subscriptions()

    assert {len(set(topics)) for topics in subscriptions.values() if isinstance(topics, list)} == {10}
    assert len({frozenset(topics) for topics in subscriptions.values() if isinstance(topics, list)}) == 20
    assert subscriptions == workload.subscriptions()
    assert workload.pairs == 200


def test_shapes_hold_the_same_topics_in_other_objects() -> None:
    workload = jmh(3, 2, 2)
    lists, fresh, sets, objects = (list(workload.subscriptions(shape).values()) for shape in get_args(Shape))

    assert lists == fresh == [["topic0", "topic1"]] * 3
    assert len({id(topics) for topics in lists}) == 3
    assert len({id(topic) for topics in lists if isinstance(topics, list) for topic in topics}) == 2
    assert len({id(topic) for topics in fresh if isinstance(topics, list) for topic in topics}) == 6
    assert sets == [{"topic0", "topic1"}] * 3
    assert objects == [Subscription(("topic0", "topic1"))] * 3


@pytest.mark.parametrize("workload", TINY, ids=lambda workload: workload.name)
def test_columns_hold_the_same_group(workload: Workload) -> None:
    topics, members = workload.topic_columns(), workload.member_columns()

    assert dict(plan(topics, members)) == dict(plan(workload.partitions_per_topic(), workload.subscriptions()))
    assert isinstance(members.subscriptions, list)
    assert len({tuple(topics) for topics in members.subscriptions}) == len(members.subscriptions)


@pytest.mark.parametrize("axis", get_args(Axis))
def test_growth_doubles_one_size(axis: Axis) -> None:
    series = doubling(Workload(5, 4, 3), axis, "two")

    sizes = {"members": 5, "topics": 4, "partitions": 3}
    for step, workload in enumerate(series):
        assert workload.racks == "two"
        assert {name: getattr(workload, name) for name in sizes} == {**sizes, axis: sizes[axis] << step}
    assert len(series) == 4


def test_slow_implementations_are_not_timed_on_the_largest_workloads() -> None:
    largest = jmh(10000, 1000, 50)

    assert largest.pairs > PAIRS
    assert all(
        name.startswith(("assign", "plan", "Group"))
        for name, implementation in IMPLEMENTATIONS.items()
        if implementation.takes(largest)
    )


def test_the_reference_is_not_timed_on_large_groups_with_racks() -> None:
    assert IMPLEMENTATIONS["reference"].takes(jmh(10000, 10, 50))
    assert not IMPLEMENTATIONS["reference"].takes(jmh(10000, 10, 50, racks="two"))


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("workload", TINY, ids=lambda workload: workload.name)
def test_every_implementation_gives_the_right_answer(name: str, workload: Workload) -> None:
    implementation = IMPLEMENTATIONS[name]
    assert implementation.version is not None, f"{implementation.package} is not installed"
    assert implementation.takes(workload) == (implementation.racks or workload.racks == "none")
    if implementation.takes(workload):
        for shape in implementation.shapes:
            call = implementation.prepare(workload, shape)

            implementation.assert_right(workload, call())
            implementation.assert_right(workload, call())  # a call does not change its input


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_a_wrong_answer_is_rejected(name: str) -> None:
    workload, implementation = TINY[0], IMPLEMENTATIONS[name]
    result = implementation.prepare(workload, "lists")()
    swapped = dict(result)
    swapped["member0"], swapped["member9"] = result["member9"], result["member0"]

    with pytest.raises(WrongAnswerError, match=re.escape(workload.name)):
        implementation.assert_right(workload, swapped)


@pytest.mark.parametrize("workload", [workload for workload in TINY if workload.racks == "none"], ids=lambda w: w.name)
def test_both_encoders_return_equal_bytes(workload: Workload) -> None:
    ours, theirs = encoders(workload).values()

    assert ours() == theirs()


@pytest.mark.parametrize("checked", [0, 100])
def test_a_workload_too_large_for_the_reference_is_checked(checked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benches.implementations.PAIRS", 1)
    monkeypatch.setattr("benches.implementations.CHECKED", checked)
    forget_answers()
    workload = jmh(2, 2, 2)

    assert right_answer(workload)["member1"] == [TopicPartition("topic0", 1), TopicPartition("topic1", 1)]
    assert not IMPLEMENTATIONS["reference"].takes(workload)


def test_a_peer_that_is_not_installed_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def not_found(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", not_found)

    assert {implementation.package for implementation in IMPLEMENTATIONS.values() if implementation.takes(TINY[0])} == {
        "assignor"
    }


@pytest.mark.parametrize("build", ["debug", "local"])
def test_a_build_that_is_not_a_release_build_is_not_timed(monkeypatch: pytest.MonkeyPatch, build: str) -> None:
    benchmark = Path("bench_assign.py")

    monkeypatch.setattr(assignor._core, "__build__", "release")
    conftest.pytest_collect_file(benchmark)
    monkeypatch.setattr(assignor._core, "__build__", build)
    with pytest.raises(RuntimeError, match=f"is a {build} build, which is too slow to time"):
        require_release()
    with pytest.raises(pytest.UsageError, match="make build"):
        conftest.pytest_collect_file(benchmark)


def _infos(workload: Workload) -> list[PartitionInfo]:
    infos = []
    for partitions in workload.partitions_per_topic().values():
        assert not isinstance(partitions, int)
        infos += partitions
    return infos
