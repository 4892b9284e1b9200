"""Comparison of hand-written target assignments of share groups (KIP-932) with the broker's assignor `simple`."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from assignor import Subscription, TopicPartition, assign
from tests.replay.logs import SHARE, Event, event, metadata, outcomes, replayed, topic_id

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TOPICS = {"t": 4, "u": 2}
METADATA = metadata({0: TOPICS})

Target = dict[str, dict[str, list[int]]]
"""Partitions by member and topic."""


def ready(partitions: Mapping[str, Sequence[int]]) -> Event:
    """Return the record of the partitions whose share state is initialized."""
    topics = [{"topicId": topic_id(name), "topicName": name, "partitions": ids} for name, ids in partitions.items()]
    value = {"initializingTopics": [], "initializedTopics": topics, "deletingTopics": []}
    return event(15, {"groupId": "g"}, value)


ALL = ready({"t": [0, 1, 2, 3], "u": [0, 1]})


def joins(*members: str, topics: Sequence[str] = ("t",)) -> list[Event]:
    return [SHARE.joins(id, subscribedTopicNames=list(topics)) for id in members]


def target(epoch: int, of: Mapping[str, Mapping[str, Sequence[int]]]) -> list[Event]:
    """Return the records of an epoch and its target."""
    members = [SHARE.target_of(id, has) for id, has in of.items()]
    return [SHARE.epoch(epoch), *members, SHARE.target_epoch(epoch)]


def answer(
    before: Target, topics: Mapping[str, Sequence[str]], ready: Mapping[str, int | list[int]] = TOPICS
) -> Target:
    """Return the answer of the reference to previous targets."""
    subscriptions = {
        id: Subscription(
            tuple(names),
            owned_partitions=tuple(TopicPartition(t, p) for t, ids in before.get(id, {}).items() for p in ids),
        )
        for id, names in topics.items()
    }
    found = assign(
        ready,
        subscriptions,
        group_protocol="share",
        topic_ids={name: topic_id(name) for name in TOPICS},
        engine="reference",
    )
    targets: Target = {}
    for id, partitions in found.items():
        targets[id] = {}
        for topic, partition in partitions:
            targets[id].setdefault(topic, []).append(partition)
    return targets


def compared(*events: Event) -> list[tuple[str | None, str | None]]:
    return outcomes(replayed(*events, topics=METADATA))


EQUAL, DIFFERENT, UNKNOWN = ("simple", "equal"), ("simple", "different"), ("simple", "unknown")
THREE = {"a": ("t",), "b": ("t",), "c": ("t",)}


def test_partitions_are_shared_and_members_keep_theirs() -> None:
    first = answer({}, {"a": ("u",), "b": ("u",), "c": ("u",)})
    assert 2 == max(sum(id in ids["u"] for ids in first.values()) for id in (0, 1))
    second = answer(first, {"a": ("u",), "c": ("u",)})

    leaves = [SHARE.target_of("b", None), *SHARE.leaves("b")]
    events = [*joins("a", "b", "c", topics=["u"]), ALL, *target(2, first), *leaves, *target(3, second)]

    assert [EQUAL, EQUAL] == compared(*events)


@pytest.mark.parametrize("change", [{"c": {"t": [0]}}, {"a": {"t": [0, 1, 2, 3]}}, {"b": {}}])
def test_a_changed_target_differs(change: Target) -> None:
    first = answer({}, THREE)
    assert first | change != first
    events = [*joins(*THREE), ALL]

    assert [EQUAL] == compared(*events, *target(2, first))
    assert [DIFFERENT] == compared(*events, *target(2, first | change))


def test_the_previous_target_counts() -> None:
    first = {"a": {"t": [3, 1]}, "b": {"t": [0, 2]}}
    kept = answer(first, {"a": ("t",), "b": ("t",)})
    assert kept != answer({}, {"a": ("t",), "b": ("t",)})
    events = [*joins("a", "b"), ALL, *target(2, first)]

    assert [DIFFERENT, EQUAL] == compared(*events, *target(3, kept))
    assert [DIFFERENT, DIFFERENT] == compared(*events, *target(3, answer({}, {"a": ("t",), "b": ("t",)})))


def test_without_the_previous_target_there_is_no_comparison() -> None:
    later = target(7, answer({}, {"a": ("t",)}))

    assert [(None, None)] == compared(*joins("a"), ALL, *later)


def test_only_initialized_partitions_are_assigned() -> None:
    some = answer({}, THREE, {"t": [1, 2], "u": []})
    whole = answer({}, THREE)
    assert some != whole
    part = ready({"t": [1, 2]})

    assert [EQUAL] == compared(*joins(*THREE), part, *target(2, some))
    assert [DIFFERENT] == compared(*joins(*THREE), part, *target(2, whole))
    assert [EQUAL, EQUAL] == compared(*joins(*THREE), part, *target(2, some), ALL, *target(3, answer(some, THREE)))


def test_a_log_without_the_initialized_partitions_determines_no_assignment() -> None:
    first = answer({}, THREE)
    history = replayed(*joins(*THREE), *target(2, first), topics=METADATA)

    assert [UNKNOWN] == outcomes(history)
    assert ["not_determined"] == [each["class"] for each in history["generations"]]
    ((reason,),) = (each["reasons"] for each in history["generations"])
    assert reason.startswith("not compared: the log does not have the partitions of the share group")


def test_members_without_topics_get_nothing() -> None:
    topics: dict[str, tuple[str, ...]] = {"a": ("t",), "b": ()}
    first = answer({}, topics)
    assert {} == first["b"]
    events = [*joins("a"), *joins("b", topics=[]), ALL]

    assert [EQUAL] == compared(*events, *target(2, first))
    assert [DIFFERENT] == compared(*events, *target(2, {"a": {"t": [0, 1, 2]}, "b": {"t": [3]}}))
    assert [EQUAL] == compared(*joins("a", "b", topics=[]), *target(2, {"a": {}, "b": {}}))


def test_partitions_of_topics_without_subscribers_stay_in_the_target() -> None:
    topics = {"a": ("t",), "b": ("u",)}
    before: Target = {"a": {"u": [0, 1]}, "b": {"t": [0, 1]}}
    left = {"a": ("u",), "b": ()}
    kept = answer(before, left)
    assert [0, 1] == kept["b"]["t"]
    events = [*joins("a"), *joins("b", topics=["u"]), ALL, *target(2, before)]
    changes = [*joins("a", topics=["u"]), *joins("b", topics=[])]

    assert topics.keys() == before.keys()
    assert EQUAL == compared(*events, *changes, *target(3, kept))[-1]
    assert DIFFERENT == compared(*events, *changes, *target(3, kept | {"b": {}}))[-1]


def test_a_topic_that_was_deleted_stays_in_the_target_without_a_name() -> None:
    gone = metadata({0: {"u": 2}})
    before: Target = {"a": {"t": [0, 1]}, "b": {"u": [0, 1]}}
    topics = {"a": ("t", "u"), "b": ("u",)}
    kept = answer(before, topics, {"u": 2})
    assert [0, 1] == kept["a"]["t"]
    events = [*joins("a", topics=["t", "u"]), *joins("b", topics=["u"]), ready({"u": [0, 1]})]

    history = replayed(*events, *target(2, before), *target(3, kept), topics=gone)

    assert EQUAL == outcomes(history)[-1]


def test_many_topic_ids_of_one_hash_code_determine_no_assignment() -> None:
    names = [f"t{number}" for number in range(12)]
    ids = {name: bytes([number] * 4 + [number] * 4 + [0] * 8) for number, name in enumerate(names)}
    rows = [{**row, "topic_id": _text(ids[row["topic"]])} for row in metadata({0: dict.fromkeys(names, 1)})]
    topics = [{"topicId": _text(ids[name]), "topicName": name, "partitions": [0]} for name in names]
    value = {"initializingTopics": [], "initializedTopics": topics, "deletingTopics": []}
    has = {"topicPartitions": [{"topicId": _text(ids[name]), "partitions": [0]} for name in names]}
    assigned = [SHARE.epoch(2), event(13, {"groupId": "g", "memberId": "a"}, has), SHARE.target_epoch(2)]

    history = replayed(*joins("a", "b", topics=names), event(15, {"groupId": "g"}, value), *assigned, topics=rows)

    assert [UNKNOWN] == outcomes(history)
    assert ["not_determined"] == [each["class"] for each in history["generations"]]


def _text(id: bytes) -> str:
    return base64.urlsafe_b64encode(id).decode().rstrip("=")
