"""Comparison of both engines for all assignors, on small groups with claims and on drawn groups."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given

from assignor import PartitionInfo, Subscription, TopicPartition, assign
from tests.assign.claim_strategies import Group, groups_with_claims
from tests.conformance.assignor_vectors import ASSIGNORS, Named
from tests.support.engines import ENGINES, Assign, outcome

RUST, REFERENCE = (partial(assign, engine=engine) for engine in ENGINES)
LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"

KINDS = pytest.mark.parametrize("kind", ASSIGNORS.values(), ids=ASSIGNORS)
STEP = 1 if LONG else 97
"""Step through the larger sets of groups in the short profile. It is a prime number, so that the sample does not follow
the order of enumeration. All tiny groups are compared."""


def assert_engines_agree(kind: Named, group: Group, left: Assign = RUST, right: Assign = REFERENCE) -> None:
    """Fail unless both give the same answer, in the same order, or raise the same error."""
    options = {"assignor": kind.assignor, "group_protocol": kind.group_protocol, **group.options}
    found = outcome(left, group.topics, group.members, **options)
    assert found == outcome(right, group.topics, group.members, **options), group
    assert found.error is None


@KINDS
@given(group=groups_with_claims())
def test_the_engines_agree_on_drawn_claims(kind: Named, group: Group) -> None:
    assert_engines_agree(kind, group)


Maker = Callable[[], Group]
"""Function that builds a group. It is called only for groups that are compared; the short profile skips most."""


def claims_of(partitions: list[TopicPartition], members: int) -> list[tuple[tuple[TopicPartition, ...], ...]]:
    """Return all combinations of claims: each partition is claimed by any subset of the members."""
    return [
        tuple(
            tuple(partition for partition, mask in zip(partitions, claimants, strict=True) if mask >> member & 1)
            for member in range(members)
        )
        for claimants in itertools.product(range(2**members), repeat=len(partitions))
    ]


def make(topics: dict[str, Any], members: str, *columns: tuple[Any, ...]) -> Group:
    """Return a group from columns: topics, owned partitions, generations and racks of the members."""
    found = {}
    for member, subscribed, owned, generation, rack in zip(members, *columns, strict=True):
        found[member] = Subscription(subscribed, rack=rack, owned_partitions=owned, generation=generation)
    return Group(topics, found, {})


def small_groups(counts: tuple[int, ...], members: str, generations: tuple[int, ...]) -> Iterator[Maker]:
    """Yield all groups of these members and topics, with all subscriptions, claims and generations."""
    topics = {f"t{number}": count for number, count in enumerate(counts)}
    partitions = [TopicPartition(topic, id) for topic, count in topics.items() for id in range(count)]
    subsets = [subset for size in range(len(topics) + 1) for subset in itertools.combinations(topics, size)]
    columns = itertools.product(
        itertools.product(subsets, repeat=len(members)),
        claims_of(partitions, len(members)),
        itertools.product(generations, repeat=len(members)),
        [(None,) * len(members)],
    )
    return (partial(make, topics, members, *each) for each in columns)


def tiny_groups() -> Iterator[Maker]:
    """Yield groups of up to two members, and of three members on two partitions, with claims of one generation."""
    for members in ("", "a", "ba"):
        for counts in [(), (3,), (0, 2), (1, 2), (2, 1)]:
            yield from small_groups(counts, members, (1,))
    yield from small_groups((1, 1), "cab", (1,))


def groups_of_one_generation() -> Iterator[Maker]:
    """Yield groups of up to three members and two topics of up to three partitions, with claims of one generation."""
    for members in ("", "a", "ba", "cab"):
        for counts in [(), (3,), (0, 2), (1, 2), (2, 1)]:
            yield from small_groups(counts, members, (1,))


def groups_of_two_generations() -> Iterator[Maker]:
    """Yield groups of two or three members and two topics, with claims of two generations."""
    yield from small_groups((1, 1), "cab", (1, 2))
    yield from small_groups((2, 2), "ba", (1, 2))


def groups_on_racks() -> Iterator[Maker]:
    """Yield groups of two members with or without rack, and a topic of up to three partitions on two racks."""
    replicas: list[tuple[str, ...]] = [("r0",), ("r1",), ("r0", "r1")]
    for layout in (layout for size in range(4) for layout in itertools.product(replicas, repeat=size)):
        topics = {"t": [PartitionInfo(2 * id + 1, racks) for id, racks in enumerate(layout)]}
        claimed = claims_of([TopicPartition("t", 2 * id + 1) for id in range(len(layout))], 2)
        for owned, racks in itertools.product(claimed, itertools.product([None, "r0", "r1"], repeat=2)):
            yield partial(make, topics, "ba", (("t",), ("t",)), owned, (1, 1), racks)


SMALL: Mapping[Callable[[], Iterator[Maker]], int] = {
    tiny_groups: 6_759,
    groups_of_one_generation: 76_392,
    groups_of_two_generations: 49_152,
    groups_on_racks: 16_965,
}
"""Functions that yield small groups, and the number of groups."""


@KINDS
@pytest.mark.parametrize("small", SMALL, ids=lambda small: small.__name__)
def test_the_engines_agree_on_small_groups_with_claims(kind: Named, small: Callable[[], Iterator[Maker]]) -> None:
    step = 1 if small is tiny_groups else STEP
    compared = 0
    for make_group in itertools.islice(small(), 0, None, step):
        assert_engines_agree(kind, make_group())
        compared += 1

    assert len(range(0, SMALL[small], step)) == compared


@KINDS
def test_an_engine_that_swaps_two_members_is_detected(kind: Named) -> None:
    def swapping(*arguments: Any, **options: Any) -> dict[str, list[TopicPartition]]:
        answer = assign(*arguments, **options)
        return {**answer, "a": answer["b"], "b": answer["a"]}

    group = Group({"t": 3}, {"a": Subscription(("t",)), "b": Subscription(("t",))}, {})

    assert_engines_agree(kind, group)
    with pytest.raises(AssertionError):
        assert_engines_agree(kind, group, swapping)
