"""Comparison of both engines for all assignors, on drawn groups and on all small groups.

Outcomes are compared: the answer including all orders, or the class and message of the error.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest
from hypothesis import given

from assignor import PartitionInfo, Subscription, TopicPartition, assign, errors
from tests.assign.claim_strategies import Group, groups_with_claims
from tests.conformance.assignor_vectors import ASSIGNORS, Named
from tests.support import strategies
from tests.support.engines import ENGINES, Assign, Outcome, outcome

RUST, REFERENCE = (partial(assign, engine=engine) for engine in ENGINES)
LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
RANGE = Named("classic", "range")


SHARE = ASSIGNORS["share_simple"]


def assert_engines_agree(kind: Named, group: Group, left: Assign = RUST, right: Assign = REFERENCE) -> Outcome:
    """Fail unless both give the same answer, in the same order, or raise the same error; return the outcome."""
    options = {"assignor": kind.assignor, "group_protocol": kind.group_protocol, **group.options}
    found = outcome(left, group.topics, group.members, **options)
    assert found == outcome(right, group.topics, group.members, **options), group
    return found


def without_claims(group: strategies.Group) -> Group:
    """Return a drawn group in the form that `assert_engines_agree` accepts."""
    return Group(group.topics, group.members, {"prefer_rack_aware": group.prefer_rack_aware})


@given(group=strategies.groups(equal_instance_ids=True).map(without_claims))
def test_the_engines_agree_on_drawn_groups(group: Group) -> None:
    assert assert_engines_agree(RANGE, group).error is None


@given(group=strategies.wrong_groups().map(without_claims))
def test_the_engines_raise_the_same_errors(group: Group) -> None:
    assert assert_engines_agree(RANGE, group).answer is None


@pytest.mark.parametrize("kind", ASSIGNORS.values(), ids=ASSIGNORS)
@given(group=groups_with_claims())
def test_the_engines_agree_on_drawn_claims(kind: Named, group: Group) -> None:
    found = assert_engines_agree(kind, group)
    assert found.error is None or (kind, errors.IllegalStateError) == (SHARE, found.error[0])


Maker = Callable[[], Group]
"""Function that builds a group. It is called only for groups that are compared; the short profile skips most."""

NOTHING: Any = itertools.repeat(None)


def make(
    topics: dict[str, Any],
    members: str,
    subscribed: Any,
    *,
    owned: Any = NOTHING,
    generations: Any = NOTHING,
    racks: Any = NOTHING,
    instance_ids: Any = NOTHING,
    prefer_rack_aware: bool = False,
) -> Group:
    """Return a group from columns of its members."""
    columns = zip(members, subscribed, owned, generations, racks, instance_ids, strict=False)
    found = {
        member: Subscription(
            wanted, group_instance_id=instance_id, rack=rack, owned_partitions=claims or (), generation=generation
        )
        for member, wanted, claims, generation, rack, instance_id in columns
    }
    return Group(topics, found, {"prefer_rack_aware": prefer_rack_aware})


def topics_of(counts: tuple[int, ...]) -> dict[str, Any]:
    """Return topics with these numbers of partitions."""
    return {f"t{number}": count for number, count in enumerate(counts)}


def subscriptions_of(topics: int, members: int) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Yield all combinations of subscriptions to subsets of the topics."""
    names = [f"t{number}" for number in range(topics)]
    subsets = [subset for size in range(topics + 1) for subset in itertools.combinations(names, size)]
    return itertools.product(subsets, repeat=members)


def claims_of(partitions: list[TopicPartition], members: int) -> list[tuple[tuple[TopicPartition, ...], ...]]:
    """Return all combinations of claims: each partition is claimed by any subset of the members."""
    return [
        tuple(
            tuple(partition for partition, mask in zip(partitions, claimants, strict=True) if mask >> member & 1)
            for member in range(members)
        )
        for claimants in itertools.product(range(2**members), repeat=len(partitions))
    ]


def replicated(
    largest: int, replicas: tuple[tuple[str, ...], ...] = (("r0",), ("r1",), ("r0", "r1")), *, gaps: bool = False
) -> list[list[PartitionInfo]]:
    """Return all topics of up to `largest` partitions, each on one of these sets of racks."""
    layouts = (layout for size in range(largest + 1) for layout in itertools.product(replicas, repeat=size))
    return [[PartitionInfo(2 * id + 1 if gaps else id, racks) for id, racks in enumerate(layout)] for layout in layouts]


def claiming_groups(counts: tuple[int, ...], members: str, generations: tuple[int, ...]) -> Iterator[Maker]:
    """Yield all groups of these members and topics, with all subscriptions, claims and generations."""
    topics = topics_of(counts)
    partitions = [TopicPartition(topic, id) for topic, count in topics.items() for id in range(count)]
    columns = itertools.product(
        subscriptions_of(len(topics), len(members)),
        claims_of(partitions, len(members)),
        itertools.product(generations, repeat=len(members)),
    )
    return (
        partial(make, topics, members, subscribed, owned=owned, generations=claimed)
        for subscribed, owned, claimed in columns
    )


def plain_groups() -> Iterator[Maker]:
    """Yield groups of up to three members and three topics with up to four partitions."""
    for topics, members in itertools.product(range(4), range(4)):
        for counts in itertools.product(range(5), repeat=topics):
            for subscribed in subscriptions_of(topics, members):
                yield partial(make, topics_of(counts), "cab"[:members], subscribed)


def static_groups() -> Iterator[Maker]:
    """Yield groups of three static or dynamic members, some with equal instance ids, on two topics."""
    every = itertools.product(
        itertools.product(range(5), repeat=2), subscriptions_of(2, 3), itertools.product([None, "x", "y"], repeat=3)
    )
    for counts, subscribed, instance_ids in every:
        yield partial(make, topics_of(counts), "cab", subscribed, instance_ids=instance_ids)


def rack_groups() -> Iterator[Maker]:
    """Yield groups of two members with or without rack and two topics of up to three partitions on two racks."""
    layouts = replicated(3)
    every = itertools.product(layouts, layouts, subscriptions_of(2, 2), itertools.product([None, "r0", "r1"], repeat=2))
    for left, right, subscribed, racks in every:
        yield partial(make, {"t0": left, "t1": right}, "ba", subscribed, racks=racks)


def crowded_rack_groups() -> Iterator[Maker]:
    """Yield groups of three members with or without rack, and a topic of up to four partitions with gaps."""
    layouts = replicated(4, ((), ("r0",), ("r1",), ("r0", "r1")), gaps=True)
    every = itertools.product(layouts, itertools.product([None, "r0", "r1"], repeat=3), (False, True))
    for layout, racks, prefer in every:
        yield partial(make, {"t": layout}, "cab", [("t",)] * 3, racks=racks, prefer_rack_aware=prefer)


def tiny_groups() -> Iterator[Maker]:
    """Yield groups of up to two members, and of three members on two partitions, with claims of one generation."""
    for members in ("", "a", "ba"):
        for counts in [(), (3,), (0, 2), (1, 2), (2, 1)]:
            yield from claiming_groups(counts, members, (1,))
    yield from claiming_groups((1, 1), "cab", (1,))


def groups_of_one_generation() -> Iterator[Maker]:
    """Yield groups of up to three members and two topics of up to three partitions, with claims of one generation."""
    for members in ("", "a", "ba", "cab"):
        for counts in [(), (3,), (0, 2), (1, 2), (2, 1)]:
            yield from claiming_groups(counts, members, (1,))


def groups_of_two_generations() -> Iterator[Maker]:
    """Yield groups of two or three members and two topics, with claims of two generations."""
    yield from claiming_groups((1, 1), "cab", (1, 2))
    yield from claiming_groups((2, 2), "ba", (1, 2))


def claiming_groups_on_racks() -> Iterator[Maker]:
    """Yield groups of two members with or without rack, and a topic of up to three partitions on two racks."""
    for layout in replicated(3, gaps=True):
        claimed = claims_of([TopicPartition("t", each.partition) for each in layout], 2)
        for owned, racks in itertools.product(claimed, itertools.product([None, "r0", "r1"], repeat=2)):
            yield partial(make, {"t": layout}, "ba", [("t",)] * 2, owned=owned, generations=(1, 1), racks=racks)


def share_groups() -> Iterator[Maker]:
    """Yield groups of up to three members and two topics, with claims of partitions that cannot be assigned, too."""
    for members, (first, second) in itertools.product(("a", "ba", "cab"), [((), (0,)), ((0,), (1,)), ((1,), (0, 1))]):
        topics = {"t0": list(first), "t1": list(second)}
        partitions = [TopicPartition("t0", 0), TopicPartition("t0", 1), TopicPartition("t1", 0)]
        if len(members) < 3:
            partitions.append(TopicPartition("gone", 0))
        columns = itertools.product(subscriptions_of(2, len(members)), claims_of(partitions, len(members)))
        for subscribed, owned in columns:
            yield partial(make, topics, members, subscribed, owned=owned)


class Small(NamedTuple):
    """Set of small groups: its size, and the step through it in the short profile.

    The step is a prime number, so that the sample does not follow the order of enumeration.
    """

    number: int
    step: int


PLAIN: dict[Callable[[], Iterator[Maker]], Small] = {
    plain_groups: Small(75_329, 13),
    static_groups: Small(43_200, 41),
    rack_groups: Small(230_400, 211),
    crowded_rack_groups: Small(18_414, 17),
}
CLAIMING: dict[Callable[[], Iterator[Maker]], Small] = {
    tiny_groups: Small(6_759, 1),
    groups_of_one_generation: Small(76_392, 97),
    groups_of_two_generations: Small(49_152, 97),
    claiming_groups_on_racks: Small(16_965, 97),
}


SHARING: dict[Callable[[], Iterator[Maker]], Small] = {share_groups: Small(110_784, 97)}


@pytest.mark.parametrize(
    ("kind", "small"),
    [
        *((RANGE, small) for small in PLAIN),
        *((kind, small) for kind in ASSIGNORS.values() for small in CLAIMING),
        *((SHARE, small) for small in SHARING),
    ],
    ids=lambda value: value.assignor if isinstance(value, Named) else value.__name__,
)
def test_the_engines_agree_on_small_groups(kind: Named, small: Callable[[], Iterator[Maker]]) -> None:
    number, step = (PLAIN | CLAIMING | SHARING)[small]
    step = 1 if LONG else step
    compared = failed = 0
    for make_group in itertools.islice(small(), 0, None, step):
        failed += assert_engines_agree(kind, make_group()).error is not None
        compared += 1

    assert len(range(0, number, step)) == compared
    assert (small in SHARING) == (failed > 0)


@pytest.mark.parametrize("kind", [RANGE, *ASSIGNORS.values()], ids=lambda kind: kind.assignor)
def test_an_engine_that_swaps_two_members_is_detected(kind: Named) -> None:
    def swapping(*arguments: Any, **options: Any) -> dict[str, list[TopicPartition]]:
        answer = assign(*arguments, **options)
        return {**answer, "a": answer["b"], "b": answer["a"]}

    group = Group({"t": 3}, {"a": Subscription(("t",)), "b": Subscription(("t",))}, {})

    assert assert_engines_agree(kind, group).error is None
    with pytest.raises(AssertionError):
        assert_engines_agree(kind, group, swapping)
