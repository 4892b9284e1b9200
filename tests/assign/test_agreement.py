"""Comparison of both engines for range, on drawn groups, on all small groups, and with other clients.

Outcomes are compared: the answer including all orders, or the class and message of the error.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given

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
