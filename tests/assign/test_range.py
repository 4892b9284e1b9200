"""Input that range assignment accepts, and large groups.

The vectors of Kafka's class in `tests/conformance` prove the rules. `t0p1` means partition 1 of topic t0.
"""

from __future__ import annotations

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


@pytest.mark.parametrize("topics", [{}, {"t": 3}])
def test_without_members_nothing_is_assigned(topics: dict[str, int], engine: Engine) -> None:
    answer = assign(topics, {}, engine=engine)

    assert {} == answer
    assert {} == plan(topics, {}, engine=engine)


def test_without_topics_every_member_has_an_empty_list(engine: Engine) -> None:
    assert {"a": [], "b": [], "c": []} == assign({}, {"a": [], "b": ["t"], "c": Subscription()}, engine=engine)


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
        {"t": 1, "u": 2}.keys(),
        np.array(["t", "u"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_topics_may_be_any_iterable_of_names(topics: Iterable[str], engine: Engine) -> None:
    assert {"a": "tp0 up0"} == spelled(assign({"t": 1, "u": 1}, {"a": topics}, engine=engine))
    assert {"a": "tp0 up0"} == spelled(assign({"t": 1, "u": 1}, {"a": Subscription(topics)}, engine=engine))


def test_any_mapping_is_accepted(engine: Engine) -> None:
    answer = assign(MappingProxyType({"t": 2}), OrderedDict(b=["t"], a=["t"]), engine=engine)

    assert {"b": "tp1", "a": "tp0"} == spelled(answer)


def test_members_may_share_a_list_of_topics(engine: Engine) -> None:
    shared = ["t", "u"]

    answer = assign({"t": 2, "u": 2}, {"a": shared, "b": shared}, engine=engine)

    assert {"a": "tp0 up0", "b": "tp1 up1"} == spelled(answer)
    assert ["t", "u"] == shared


def test_eight_threads_get_equal_answers(engine: Engine) -> None:
    topics = {f"t{number}": [PartitionInfo(id, (f"r{id % 3}",)) for id in range(10)] for number in range(5)}
    members = {f"m{number}": Subscription(topics, rack=f"r{number % 4}") for number in range(8)}
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
