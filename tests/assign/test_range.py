"""Rules of range assignment, shown with small groups.

`t0p1` means partition 1 of topic t0.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

import numpy as np
import pytest

from assignor import PartitionInfo, Subscription, TopicPartition, assign, plan
from tests.support.engines import Engine


def spelled(answer: Mapping[str, Iterable[TopicPartition]]) -> dict[str, str]:
    """Return the partitions of each member as text, in their order."""
    return {member: " ".join(f"{topic}p{id}" for topic, id in found) for member, found in answer.items()}


def static(instance_id: str, *topics: str) -> Subscription:
    """Return the subscription of a static member."""
    return Subscription(topics, group_instance_id=instance_id)


def test_the_first_consumers_get_one_partition_more(engine: Engine) -> None:
    answer = assign({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]}, engine=engine)

    assert {"C0": "t0p0 t0p1 t1p0 t1p1", "C1": "t0p2 t1p2"} == spelled(answer)


def test_a_restart_with_new_member_ids_may_move_all_partitions(engine: Engine) -> None:
    # C0 rejoins as C3 and C1 as C2, as in Kafka's documentation, so C2 sorts first.
    answer = assign({"t0": 3, "t1": 3}, {"C3": ["t0", "t1"], "C2": ["t0", "t1"]}, engine=engine)

    assert {"C3": "t0p2 t1p2", "C2": "t0p0 t0p1 t1p0 t1p1"} == spelled(answer)


@pytest.mark.parametrize(("first", "second"), [("C0", "C1"), ("C3", "C2")])
def test_static_members_keep_their_partitions_in_a_restart(first: str, second: str, engine: Engine) -> None:
    members = {first: static("I0", "t0", "t1"), second: static("I1", "t0", "t1")}

    answer = assign({"t0": 3, "t1": 3}, members, engine=engine)

    assert {first: "t0p0 t0p1 t1p0 t1p1", second: "t0p2 t1p2"} == spelled(answer)


def test_static_members_come_before_dynamic_ones(engine: Engine) -> None:
    answer = assign({"t": 3}, {"a": ["t"], "z": static("y", "t"), "b": static("z", "t")}, engine=engine)

    assert {"a": "tp2", "z": "tp0", "b": "tp1"} == spelled(answer)


def test_an_empty_instance_id_makes_a_static_member_that_sorts_first(engine: Engine) -> None:
    answer = assign({"t": 3}, {"a": ["t"], "z": static("", "t"), "b": static("A", "t")}, engine=engine)

    assert {"a": "tp2", "z": "tp0", "b": "tp1"} == spelled(answer)


def test_members_with_equal_instance_ids_keep_the_given_order(engine: Engine) -> None:
    forwards = assign({"t": 3}, {"m1": static("i", "t"), "m2": static("i", "t")}, engine=engine)
    backwards = assign({"t": 3}, {"m2": static("i", "t"), "m1": static("i", "t")}, engine=engine)

    assert {"m1": "tp0 tp1", "m2": "tp2"} == spelled(forwards)
    assert {"m1": "tp2", "m2": "tp0 tp1"} == spelled(backwards)


def test_member_ids_compare_like_java_strings(engine: Engine) -> None:
    answer = assign({"t": 5}, dict.fromkeys(["b", "B", "a1", "a10", "a2"], ("t",)), engine=engine)

    assert {"B": "tp0", "a1": "tp1", "a10": "tp2", "a2": "tp3", "b": "tp4"} == dict(sorted(spelled(answer).items()))


def test_ids_with_surrogate_pairs_sort_before_the_highest_code_units(engine: Engine) -> None:
    dynamic = assign({"t": 2}, {"～": ["t"], "😀": ["t"]}, engine=engine)
    by_instance = assign({"t": 2}, {"a": static("～", "t"), "b": static("😀", "t")}, engine=engine)

    assert {"～": "tp1", "😀": "tp0"} == spelled(dynamic)
    assert {"a": "tp1", "b": "tp0"} == spelled(by_instance)


def test_the_partitions_of_a_member_are_in_java_order_of_topics(engine: Engine) -> None:
    topics = {"～": 1, "zebra": 1, "😀": 1, "apple": 1, "topic-10": 1, "topic-2": 1, "Mango": 1}

    answer = assign(topics, {"a": list(topics)}, engine=engine)

    assert ["Mango", "apple", "topic-10", "topic-2", "zebra", "😀", "～"] == [topic for topic, _ in answer["a"]]


def test_members_are_in_the_order_of_the_subscriptions(engine: Engine) -> None:
    answer = assign({"t": 1}, {"z": ["t"], "a": ["t"], "m": []}, engine=engine)

    assert ["z", "a", "m"] == list(answer)


def test_a_topic_named_twice_counts_once(engine: Engine) -> None:
    two = assign({"t": 5}, {"a": ["t", "t"], "b": ["t"]}, engine=engine)
    three = assign({"t": 7}, {"a": Subscription(("t", "t", "t")), "b": ["t"], "c": ["t"]}, engine=engine)

    assert {"a": "tp0 tp1 tp2", "b": "tp3 tp4"} == spelled(two)
    assert {"a": "tp0 tp1 tp2", "b": "tp3 tp4", "c": "tp5 tp6"} == spelled(three)


def test_topics_that_do_not_exist_or_have_no_partitions_are_skipped(engine: Engine) -> None:
    answer = assign(
        {"t": 1, "none": 0, "empty": []}, {"a": ["gone", "t", "none", "empty"], "b": ["gone"]}, engine=engine
    )

    assert {"a": "tp0", "b": ""} == spelled(answer)


def test_topics_without_subscribers_are_not_assigned(engine: Engine) -> None:
    assert {"a": "tp0"} == spelled(assign({"t": 1, "other": 3}, {"a": ["t"]}, engine=engine))


def test_the_last_members_get_no_partitions_if_there_are_too_few(engine: Engine) -> None:
    answer = assign({"t": 2}, {"a": ["t"], "b": ["t"], "c": ["t"]}, engine=engine)

    assert {"a": "tp0", "b": "tp1", "c": ""} == spelled(answer)


def test_each_topic_is_divided_among_its_consumers(engine: Engine) -> None:
    members = {"consumer1": ["topic1"], "consumer2": ["topic1", "topic2"], "consumer3": ["topic1"]}

    answer = assign({"topic1": 3, "topic2": 2}, members, engine=engine)

    expected = {"consumer1": "topic1p0", "consumer2": "topic1p1 topic2p0 topic2p1", "consumer3": "topic1p2"}
    assert expected == spelled(answer)


@pytest.mark.parametrize("topics", [{}, {"t": 3}])
def test_without_members_nothing_is_assigned(topics: dict[str, int], engine: Engine) -> None:
    answer = assign(topics, {}, engine=engine)

    assert {} == answer
    assert {} == plan(topics, {}, engine=engine)


def test_without_topics_every_member_has_an_empty_list(engine: Engine) -> None:
    assert {"a": [], "b": [], "c": []} == assign({}, {"a": [], "b": ["t"], "c": Subscription()}, engine=engine)


def test_ids_with_gaps_are_kept(engine: Engine) -> None:
    answer = assign({"t": [2, 5, 9]}, {"a": ["t"], "b": ["t"]}, engine=engine)

    assert {"a": "tp2 tp5", "b": "tp9"} == spelled(answer)


def test_ids_are_assigned_in_ascending_order(engine: Engine) -> None:
    answer = assign({"t": [2, PartitionInfo(0), 1]}, {"a": ["t"], "b": ["t"]}, engine=engine)

    assert {"a": "tp0 tp1", "b": "tp2"} == spelled(answer)


def test_the_largest_ids_are_valid(engine: Engine) -> None:
    largest = 2**31 - 1

    answer = assign({"t": [largest, 0, largest - 1]}, {"a": ["t"], "b": ["t"]}, engine=engine)

    assert {"a": [("t", 0), ("t", largest - 1)], "b": [("t", largest)]} == answer


@pytest.mark.parametrize(
    "ids",
    [
        [0, 1, 4],
        (4, 1, 0),
        {0, 1, 4},
        frozenset({0, 1, 4}),
        {4: "d", 0: "a", 1: "b"},
        {4: "d", 0: "a", 1: "b"}.keys(),
        [PartitionInfo(4, ("r",)), 1, np.int16(0)],
        list(np.array([0, 1, 4], dtype=np.int32)),
        np.array([4, 0, 1]),
        np.array([0, 1, 4], dtype=np.uint8),
    ],
    ids=lambda value: type(value).__name__,
)
def test_ids_may_be_any_iterable_of_integers(ids: Iterable[int], engine: Engine) -> None:
    assert {"a": "tp0 tp1", "b": "tp4"} == spelled(assign({"t": ids}, {"a": ["t"], "b": ["t"]}, engine=engine))


def test_iterators_are_read_once(engine: Engine) -> None:
    members = {"a": iter(["t", "u"]), "b": (topic for topic in ["u"]), "c": map(str.lower, ["T"])}

    answer = assign({"t": iter([3, 1]), "u": (id for id in range(2))}, members, engine=engine)

    assert {"a": "tp1 up0", "b": "up1", "c": "tp3"} == spelled(answer)


@pytest.mark.parametrize("count", [np.int64(3), np.uint8(3), np.int32(3)], ids=lambda value: type(value).__name__)
def test_a_count_may_be_a_numpy_integer(count: np.integer, engine: Engine) -> None:
    answer = assign({"t": count}, {"a": ["t"], "b": ["t"]}, engine=engine)  # type: ignore[dict-item]  # deliberately wrong type

    assert {"a": "tp0 tp1", "b": "tp2"} == spelled(answer)
    assert int is type(answer["a"][0].partition)


@pytest.mark.parametrize(
    "topics",
    [
        ["t", "u"],
        ("u", "t"),
        {"t", "u"},
        frozenset("tu"),
        {"t": 1, "u": 2},
        {"t": 1, "u": 2}.keys(),
        np.array(["t", "u"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_topics_may_be_any_iterable_of_names(topics: Iterable[str], engine: Engine) -> None:
    assert {"a": "tp0 up0"} == spelled(assign({"t": 1, "u": 1}, {"a": topics}, engine=engine))
    assert {"a": "tp0 up0"} == spelled(assign({"t": 1, "u": 1}, {"a": Subscription(topics)}, engine=engine))  # type: ignore[arg-type]  # deliberately wrong type


def test_any_mapping_is_accepted(engine: Engine) -> None:
    answer = assign(MappingProxyType({"t": 2}), OrderedDict(b=["t"], a=["t"]), engine=engine)

    assert {"b": "tp1", "a": "tp0"} == spelled(answer)


def test_members_may_share_a_list_of_topics(engine: Engine) -> None:
    shared = ["t", "u"]

    answer = assign({"t": 2, "u": 2}, {"a": shared, "b": shared}, engine=engine)

    assert {"a": "tp0 up0", "b": "tp1 up1"} == spelled(answer)
    assert ["t", "u"] == shared


def test_the_order_of_both_mappings_does_not_matter(engine: Engine) -> None:
    topics = {f"t{number}": number % 5 for number in range(9)}
    members = {f"m{number}": [topic for topic in topics if (number + int(topic[1])) % 3] for number in range(7)}
    expected = spelled(assign(topics, members, engine=engine))
    shuffler = random.Random(7)

    for _ in range(20):
        shuffled = dict(shuffler.sample(sorted(topics.items()), len(topics)))
        joined = dict(shuffler.sample(sorted(members.items()), len(members)))

        assert expected == spelled(assign(shuffled, joined, engine=engine))


def test_each_answer_is_a_new_object(engine: Engine) -> None:
    topics, members = {"t": 2}, {"a": ["t"]}

    first = assign(topics, members, engine=engine)
    first["a"].clear()

    assert {"a": "tp0 tp1"} == spelled(assign(topics, members, engine=engine))


def test_partitions_are_topic_partition_objects(engine: Engine) -> None:
    partition = assign({"t": 1}, {"a": ["t"]}, engine=engine)["a"][0]

    assert TopicPartition is type(partition)
    assert ("t", 0) == (partition.topic, partition.partition)


def test_eight_threads_get_equal_answers(engine: Engine) -> None:
    topics = {f"t{number}": [PartitionInfo(id, (f"r{id % 3}",)) for id in range(10)] for number in range(5)}
    members = {f"m{number}": Subscription(topics, rack=f"r{number % 4}") for number in range(8)}  # type: ignore[arg-type]  # deliberately wrong type
    expected = assign(topics, members, engine=engine)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: assign(topics, members, engine=engine), range(32)))
        plans = list(pool.map(lambda _: plan(topics, members, engine=engine), range(32)))
        shared = list(pool.map(lambda _: dict(plans[0].items()), range(32)))

    assert [expected] * 32 == answers
    assert [expected] * 32 == plans
    assert [expected] * 32 == shared


def test_a_million_partitions_are_assigned() -> None:
    answer = plan({"t": 1_000_000}, {f"m{number}": ["t"] for number in range(3)})

    assert [333_334, 333_333, 333_333] == answer.counts().tolist()
    assert ("m0", "m1", "m2") == (answer.owner("t", 0), answer.owner("t", 333_334), answer.owner("t", 999_999))
    assert 1_000_000 == sum(len(found) for found in assign({"t": 1_000_000}, {"a": ["t"], "b": ["t"]}).values())


def test_a_hundred_thousand_members_are_assigned() -> None:
    answer = plan({"t": 250_000, "u": 7}, dict.fromkeys((f"m{number:06}" for number in range(100_000)), ("t", "u")))

    assert [4] * 7 + [3] * 49_993 + [2] * 50_000 == answer.counts().tolist()
    assert "m099999" == answer.owner("t", 249_999)
