"""Comparison of both engines for range, on drawn groups, on all small groups, and with other clients.

Outcomes are compared: the answer including all orders, or the class and message of the error.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import Phase, given, settings

from assignor import PartitionInfo, Subscription, TopicPartition, assign
from tests.support.engines import ENGINES, Assign, Engine, Outcome, outcome
from tests.support.strategies import Group, groups, wrong_groups

RUST, REFERENCE = (partial(assign, engine=engine) for engine in ENGINES)


def assert_engines_agree(group: Group, left: Assign = RUST, right: Assign = REFERENCE) -> Outcome:
    """Fail unless both outcomes are equal; return the outcome."""
    options = {"prefer_rack_aware": group.prefer_rack_aware}
    found = outcome(left, group.topics, group.members, **options)
    assert found == outcome(right, group.topics, group.members, **options), group
    return found


@given(group=groups(equal_instance_ids=True))
def test_the_engines_agree_on_drawn_groups(group: Group) -> None:
    assert assert_engines_agree(group).error is None


@given(group=groups(racks=False, static=False))
def test_the_engines_agree_on_plain_dynamic_groups(group: Group) -> None:
    assert assert_engines_agree(group).error is None


@given(group=wrong_groups())
def test_the_engines_raise_the_same_errors(group: Group) -> None:
    assert assert_engines_agree(group).answer is None


def subscriptions_of(topics: int, members: int) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Yield all combinations of subscriptions to subsets of the topics."""
    names = [f"t{number}" for number in range(topics)]
    subsets = [subset for size in range(topics + 1) for subset in itertools.combinations(names, size)]
    return itertools.product(subsets, repeat=members)


def small_groups() -> Iterator[Group]:
    """Yield all groups of up to three members and three topics with up to four partitions."""
    for topics, members in itertools.product(range(4), range(4)):
        for counts in itertools.product(range(5), repeat=topics):
            partitions = {f"t{number}": count for number, count in enumerate(counts)}
            for subscribed in subscriptions_of(topics, members):
                yield Group(partitions, dict(zip("cab", subscribed, strict=False)))


def small_static_groups(step: int = 1) -> Iterator[Group]:
    """Yield every `step`th group of three static or dynamic members, some with equal instance ids, on two topics."""
    every = itertools.product(
        itertools.product(range(5), repeat=2),
        subscriptions_of(2, 3),
        itertools.product([None, "x", "y"], repeat=3),
    )
    for counts, subscribed, instance_ids in itertools.islice(every, 0, None, step):
        members = {
            member: Subscription(topics, group_instance_id=instance_id)
            for member, topics, instance_id in zip("cab", subscribed, instance_ids, strict=True)
        }
        yield Group({f"t{number}": count for number, count in enumerate(counts)}, members)


def small_rack_groups(step: int = 1) -> Iterator[Group]:
    """Yield every `step`th group of two members with or without rack and two topics.

    Topics have up to three partitions on two racks.
    """
    on: list[tuple[str, ...]] = [("r0",), ("r1",), ("r0", "r1")]
    layouts = [
        [PartitionInfo(id, racks) for id, racks in enumerate(replicas)]
        for size in range(4)
        for replicas in itertools.product(on, repeat=size)
    ]
    every = itertools.product(layouts, layouts, subscriptions_of(2, 2), itertools.product([None, "r0", "r1"], repeat=2))
    for left, right, subscribed, racks in itertools.islice(every, 0, None, step):
        members = {
            member: Subscription(topics, rack=rack)
            for member, topics, rack in zip("ba", subscribed, racks, strict=True)
        }
        yield Group({"t0": left, "t1": right}, members)


def crowded_rack_groups() -> Iterator[Group]:
    """Yield all groups of three members with or without rack, and a topic of up to four partitions on two racks.

    The partition ids have gaps.
    """
    on: list[tuple[str, ...]] = [(), ("r0",), ("r1",), ("r0", "r1")]
    for size in range(5):
        for replicas in itertools.product(on, repeat=size):
            partitions = [PartitionInfo(2 * id + 1, racks) for id, racks in enumerate(replicas)]
            for racks in itertools.product([None, "r0", "r1"], repeat=3):
                members = {member: Subscription(("t",), rack=rack) for member, rack in zip("cab", racks, strict=True)}
                for prefer in (False, True):
                    yield Group({"t": partitions}, members, prefer)


def assert_engines_agree_on_all(found: Iterator[Group]) -> int:
    """Compare the engines on each group; return the number of groups."""
    number = 0
    for group in found:
        assert assert_engines_agree(group).error is None
        number += 1
    return number


# The step through large sets is a prime number, so that the sample does not follow the order of enumeration.
def test_the_engines_agree_on_a_slice_of_all_small_groups() -> None:
    assert 5_795 == assert_engines_agree_on_all(itertools.islice(small_groups(), 0, None, 13))


def test_the_engines_agree_on_a_slice_of_all_small_groups_with_static_members() -> None:
    assert 1_054 == assert_engines_agree_on_all(small_static_groups(41))


def test_the_engines_agree_on_a_slice_of_all_small_groups_with_racks() -> None:
    assert 1_092 == assert_engines_agree_on_all(small_rack_groups(211))
    assert 1_084 == assert_engines_agree_on_all(itertools.islice(crowded_rack_groups(), 0, None, 17))


@pytest.mark.long
def test_the_engines_agree_on_all_small_groups() -> None:
    expected = sum(5**topics * 2 ** (topics * members) for topics in range(4) for members in range(4))

    assert expected == 75_329
    assert expected == assert_engines_agree_on_all(small_groups())


@pytest.mark.long
def test_the_engines_agree_on_all_small_groups_with_static_members() -> None:
    assert 25 * 4**3 * 3**3 == assert_engines_agree_on_all(small_static_groups())


@pytest.mark.long
def test_the_engines_agree_on_all_small_groups_with_racks() -> None:
    assert 40**2 * 4**2 * 3**2 == assert_engines_agree_on_all(small_rack_groups())
    assert 341 * 3**3 * 2 == assert_engines_agree_on_all(crowded_rack_groups())


def swapped(answer: Mapping[str, list[TopicPartition]]) -> dict[str, list[TopicPartition]]:
    """Return the answer with the partitions of the first two members exchanged."""
    members = list(answer)
    if len(members) < 2:
        return dict(answer)
    first, second = members[:2]
    return {**answer, first: answer[second], second: answer[first]}


@pytest.mark.parametrize("engine_that_errs", ENGINES)
def test_an_engine_that_swaps_two_members_is_detected(engine_that_errs: Engine) -> None:
    def swapping(*arguments: Any, **options: Any) -> dict[str, list[TopicPartition]]:
        return swapped(assign(*arguments, engine=engine_that_errs, **options))

    group = Group({"t": 3}, {"a": ("t",), "b": ("t",)})

    assert assert_engines_agree(group).answer == assert_engines_agree(group, RUST, RUST).answer
    with pytest.raises(AssertionError):
        assert_engines_agree(group, swapping, REFERENCE)
    with pytest.raises(AssertionError):
        assert_engines_agree(group, RUST, swapping)


def test_an_engine_that_swaps_two_members_is_detected_on_drawn_groups() -> None:
    @settings(phases=[Phase.generate], derandomize=True, max_examples=200)
    @given(group=groups())
    def compare(group: Group) -> None:
        assert_engines_agree(group, lambda *arguments, **options: swapped(assign(*arguments, **options)), REFERENCE)

    with pytest.raises(AssertionError):
        compare()


def test_an_engine_with_another_error_message_is_detected() -> None:
    def wordy(*arguments: Any, **options: Any) -> Mapping[str, list[TopicPartition]]:
        try:
            return assign(*arguments, **options)
        except ValueError as error:
            raise type(error)(f"{error}!") from None

    group = Group({"t": -1}, {})

    assert assert_engines_agree(group).error is not None
    with pytest.raises(AssertionError):
        assert_engines_agree(group, wordy, REFERENCE)


class Cluster:
    """Stand-in for the cluster metadata of kafka-python and aiokafka, with the method that their assignors call."""

    def __init__(self, group: Group) -> None:
        self.topics = {
            topic: set(range(found)) if isinstance(found, int) else set(found) for topic, found in group.topics.items()
        }

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """Return the partition ids of a topic, or None if it does not exist."""
        return self.topics.get(topic)


def as_sets(answer: Mapping[str, Any]) -> dict[str, set[tuple[str, int]]]:
    """Return the answer of a client as sets."""
    return {member: {(topic, id) for topic, ids in found.assignment for id in ids} for member, found in answer.items()}


def members_of(group: Group) -> dict[str, list[str]]:
    """Return the distinct topics of each member; both clients lose partitions of a topic that is named twice."""
    return {member: sorted(set(getattr(found, "topics", found))) for member, found in group.members.items()}


def ours(group: Group, engine: Engine) -> dict[str, set[tuple[str, int]]]:
    """Return the answer of an engine as sets."""
    return {
        member: {tuple(entry) for entry in found}  # type: ignore[misc]  # deliberately wrong type
        for member, found in assign(group.topics, group.members, engine=engine).items()
    }


# Neither client supports racks. kafka-python loses members of groups with static and dynamic members, aiokafka does not
# support static members, and both compare code points. All other answers must be equal.
@given(group=groups(racks=False, static=False, ascii_only=True))
def test_the_engines_agree_with_kafka_python(engine: Engine, group: Group) -> None:
    reason = "kafka-python is an independent peer to compare with"
    peer = pytest.importorskip("kafka.coordinator.assignors.range", reason=reason).RangePartitionAssignor
    members = [
        SimpleNamespace(member_id=member, group_instance_id=None, metadata=peer.metadata(topics))
        for member, topics in members_of(group).items()
    ]

    theirs = peer.assign(Cluster(group), members)

    assert {
        member: {(topic, id) for topic, ids in found.assigned_partitions for id in ids}
        for member, found in theirs.items()
    } == ours(group, engine)


@given(group=groups(racks=False, static=False, ascii_only=True))
def test_the_engines_agree_with_aiokafka(engine: Engine, group: Group) -> None:
    reason = "aiokafka is an independent peer to compare with"
    peer = pytest.importorskip("aiokafka.coordinator.assignors.range", reason=reason).RangePartitionAssignor

    theirs = peer.assign(
        Cluster(group), {member: peer.metadata(topics) for member, topics in members_of(group).items()}
    )

    assert as_sets(theirs) == ours(group, engine)
