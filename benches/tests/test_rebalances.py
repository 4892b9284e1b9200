"""Tests of the inputs of rebalances: members of the group, and the partitions that they own."""

from __future__ import annotations

from collections import Counter

import pytest

from assignor import Subscription, TopicPartition
from benches.rebalances import GENERATION, RESTARTS, answers, members, rebalances
from benches.selections import SELECTIONS, assignor_points
from benches.targets import JAVA_SLOW, OVER_JAVA_ASSIGNORS, AssignorTarget
from benches.workloads import Workload


def test_each_rebalance_of_an_event_has_its_members() -> None:
    assert members("first", 3) == [{"member0": 0, "member1": 1, "member2": 2}]
    assert members("join", 2)[1:] == [{"member0": 0, "member1": 1, "member2": 2}]
    assert members("leave", 3)[1:] == [{"member0": 0, "member2": 2}]
    rolling = members("rolling", 6)
    assert len(rolling) == 1 + 2 * RESTARTS
    assert (len(rolling[1]), list(rolling[2])[-1]) == (5, "member0-again")
    assert list(rolling[-1].values()) == [1, 3, 5, 0, 2, 4]


def test_members_own_the_partitions_of_the_previous_answer() -> None:
    workload = Workload(2, 1, 4, event="join")

    (rebalance,) = rebalances(workload)

    assert dict(answers(workload)[0]) == {
        "member0": [TopicPartition("topic0", 0), TopicPartition("topic0", 1)],
        "member1": [TopicPartition("topic0", 2), TopicPartition("topic0", 3)],
    }
    assert rebalance.subscriptions == {
        "member0": Subscription(("topic0",), owned_partitions=(("topic0", 0), ("topic0", 1)), generation=GENERATION),  # type: ignore[arg-type]  # pairs are accepted
        "member1": Subscription(("topic0",), owned_partitions=(("topic0", 2), ("topic0", 3)), generation=GENERATION),  # type: ignore[arg-type]  # pairs are accepted
        "member2": Subscription(("topic0",)),
    }


def test_fifths_and_halves_do_not_depend_on_the_number_of_members() -> None:
    fifths, half = Workload(7, 6, 1, "FIFTHS"), Workload(3, 5, 1, "HALF")

    assert [fifths.topics_of_member(member) for member in (0, 1, 2, 3, 5)] == [
        range(2),
        range(2, 4),
        range(4, 6),
        range(6, 6),
        range(2),
    ]
    assert fifths.subscriptions()["member6"] == ["topic2", "topic3"]
    assert [half.topics_of_member(member) for member in (0, 1)] == [range(5), range(3)]
    assert list(half.subscriptions()["member1"]) == ["topic0", "topic1", "topic2"]  # type: ignore[arg-type]  # a list
    assert (fifths.pairs, half.pairs) == (10, 13)


def test_with_far_racks_few_partitions_are_on_the_rack_of_a_member() -> None:
    workload = Workload(3, 2, 2, racks="far")

    partitions = workload.partitions_per_topic()
    racks = [info.racks for listed in partitions.values() for info in listed]  # type: ignore[union-attr]  # listed
    assert racks == [("rack0", "rack2"), ("rack1", "rack2"), ("rack1", "rack2"), ("rack1", "rack2")]
    assert [workload.rack_of_member(member) for member in range(3)] == ["rack1", "rack0", "rack0"]


def test_topic_ids_are_distinct_and_the_same_each_time() -> None:
    ids = Workload(1, 100, 1).topic_ids()

    assert len(set(ids.values())) == 100
    assert str(ids["topic0"]) == "5692161d-100b-05e5-dbd2-38973a2b148a"
    assert ids == Workload(2, 100, 1).topic_ids()


@pytest.mark.parametrize("target", OVER_JAVA_ASSIGNORS)
def test_assignors_with_a_target_are_timed_on_every_shape(target: AssignorTarget) -> None:
    for assignor in target.assignors:
        shapes = Counter((point.subscription, point.racks) for point in assignor_points(assignor))

        assert shapes["HOMOGENEOUS", "none"] == 19
        assert shapes["FIFTHS", "none"] == shapes["HALF", "none"] == 15
        is_sticky = assignor in ("sticky", "cooperative-sticky")
        assert shapes["HOMOGENEOUS", "two"] == shapes["HOMOGENEOUS", "far"] == (7 if is_sticky else 0)
    assert JAVA_SLOW > SELECTIONS["default"].assignor_pace.seconds
