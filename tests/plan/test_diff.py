"""Differences between plans, and balance of plans, compared with dicts and sets."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import Balance, Diff, PartitionInfo, Plan, Subscription, TopicPartition, assign, errors, plan
from tests.support.engines import ENGINES, Engine
from tests.support.properties import consumers
from tests.support.strategies import Group, groups

Answer = dict[str, list[TopicPartition]]


def in_order(partitions: set[TopicPartition]) -> list[TopicPartition]:
    """Sort partitions by topic in Java's order, then by id."""
    return sorted(partitions, key=lambda partition: (partition.topic.encode("utf-16-be"), partition.partition))


def owners(answer: Answer) -> dict[TopicPartition, str]:
    """Return the owner of each partition."""
    return {partition: member for member, partitions in answer.items() for partition in partitions}


def gains(before: Answer, after: Answer) -> Answer:
    """Return the partitions that each member has only in the later plan, in the order of the later members."""
    found = {member: in_order(set(after[member]) - set(before.get(member, ()))) for member in after}
    return {member: partitions for member, partitions in found.items() if partitions}


def diff_of(before: Answer, after: Answer) -> Diff:
    """Return the difference, computed from lists."""
    old, new = owners(before), owners(after)
    moved = sum(old[partition] != new[partition] for partition in old.keys() & new.keys())
    return Diff(gains(before, after), gains(after, before), moved)


def balance_of(group: Group, answer: Answer) -> Balance:
    """Return the balance, computed from lists."""
    counts = [len(partitions) for partitions in answer.values()]
    spread = {}
    for topic in sorted(group.topics, key=lambda topic: topic.encode("utf-16-be")):
        shares = [sum(found == topic for found, _ in answer[member]) for member in consumers(group, topic)]
        spread[topic] = max(shares, default=0) - min(shares, default=0)
    return Balance(
        min=min(counts, default=0),
        max=max(counts, default=0),
        mean=sum(counts) / len(counts) if counts else 0.0,
        idle=tuple(member for member, partitions in answer.items() if not partitions),
        spread=spread,
    )


def exactly(diff: Diff) -> tuple[Any, ...]:
    """Return a diff with the order of its members, which dicts ignore in comparisons."""
    return list(diff.added.items()), list(diff.revoked.items()), diff.moved


@given(before=groups(equal_instance_ids=True), after=groups(equal_instance_ids=True))
def test_a_diff_equals_the_difference_of_the_lists(before: Group, after: Group) -> None:
    left, right = (
        assign(group.topics, group.members, prefer_rack_aware=group.prefer_rack_aware, engine="reference")
        for group in (before, after)
    )
    expected = exactly(diff_of(left, right))
    for engine in ENGINES:
        earlier, later = (
            plan(group.topics, group.members, prefer_rack_aware=group.prefer_rack_aware, engine=engine)
            for group in (before, after)
        )

        assert expected == exactly(earlier.diff(later))
        assert exactly(diff_of(right, left)) == exactly(later.diff(earlier))
        assert Diff({}, {}, 0) == earlier.diff(earlier)


@given(group=groups(), data=st.data())
def test_a_diff_of_a_changed_group_equals_the_difference_of_the_lists(group: Group, data: Any) -> None:
    gone = data.draw(st.sets(st.sampled_from([*group.members, None])))
    members = {member: wanted for member, wanted in group.members.items() if member not in gone} | {"new": ["B", "0"]}
    topics = {topic: partitions for topic, partitions in group.topics.items() if topic not in gone} | {"0": 4}
    left = assign(group.topics, group.members)
    right = assign(topics, members)
    for engine in ENGINES:
        earlier, later = plan(group.topics, group.members, engine=engine), plan(topics, members, engine=engine)

        assert exactly(diff_of(left, right)) == exactly(earlier.diff(later))


@given(group=groups(equal_instance_ids=True))
def test_a_balance_equals_that_of_the_lists(group: Group) -> None:
    options: dict[str, Any] = {"prefer_rack_aware": group.prefer_rack_aware}
    expected = balance_of(group, assign(group.topics, group.members, engine="reference", **options))
    for engine in ENGINES:
        found = plan(group.topics, group.members, engine=engine, **options).balance()

        assert expected == found
        assert list(expected.spread) == list(found.spread)


def test_a_new_member_takes_partitions_from_the_others(engine: Engine) -> None:
    two, three = (plan({"t": 3}, dict.fromkeys(names, ("t",)), engine=engine) for names in ("ab", "abc"))

    first, second = TopicPartition("t", 1), TopicPartition("t", 2)
    assert Diff({"b": [first], "c": [second]}, {"a": [first], "b": [second]}, 2) == two.diff(three)
    assert isinstance(two.diff(three), Diff)
    assert all(type(partition) is TopicPartition for partition in two.diff(three).added["c"])


def test_a_partition_with_an_owner_in_one_plan_only_does_not_count_as_moved(engine: Engine) -> None:
    small, large = (plan({"t": count}, {"a": ["t"]}, engine=engine) for count in (2, 4))
    other = plan({"u": 2}, {"b": ["u"]}, engine=engine)

    assert Diff({"a": [TopicPartition("t", 2), TopicPartition("t", 3)]}, {}, 0) == small.diff(large)
    assert Diff({}, {"a": [TopicPartition("t", 2), TopicPartition("t", 3)]}, 0) == large.diff(small)
    assert (["b"], ["a"], 0) == tuple(part if isinstance(part, int) else list(part) for part in small.diff(other))


def test_a_diff_lists_the_partitions_of_plans_with_gaps_and_racks(engine: Engine) -> None:
    racks = [PartitionInfo(id, (rack,)) for id, rack in zip([1, 2, 5, 6], ["r1", "r0", "r0", "r1"], strict=True)]
    members = {"a": Subscription(("t",), rack="r0"), "b": Subscription(("t",), rack="r1")}
    near, plain = plan({"t": racks}, members, engine=engine), plan({"t": [1, 2, 5, 6]}, members, engine=engine)

    assert {"a": [("t", 2), ("t", 5)], "b": [("t", 1), ("t", 6)]} == near
    assert {"a": [("t", 1)], "b": [("t", 5)]} == near.diff(plain).added
    assert {"a": [("t", 5)], "b": [("t", 1)]} == near.diff(plain).revoked
    assert 2 == near.diff(plain).moved


def test_a_diff_between_engines_is_empty() -> None:
    topics: dict[str, Any] = {"t": 30, "u": [4, 7, 8]}
    members = {name: ["u", "t"] for name in "fedcba"}
    rust, reference = (plan(topics, members, engine=engine) for engine in ENGINES)

    assert Diff({}, {}, 0) == rust.diff(reference)
    assert Diff({}, {}, 0) == reference.diff(rust)


def test_plans_of_a_billion_partitions_are_compared_by_spans(engine: Engine) -> None:
    text = plan({"t": 2}, dict.fromkeys("ab", ("t",)), engine=engine).to_json()
    halves = Plan.from_json(
        text.replace('"start":[0,1],"count":[1,1]', '"start":[0,1000000000],"count":[1000000000,7]')
    )
    later = Plan.from_json(text.replace('"start":[0,1],"count":[1,1]', '"start":[0,999999999],"count":[999999999,8]'))

    assert Diff({"b": [TopicPartition("t", 999999999)]}, {"a": [TopicPartition("t", 999999999)]}, 1) == halves.diff(
        later
    )
    assert (7, 1_000_000_000) == halves.balance()[:2]


@pytest.mark.parametrize("other", [{}, None, "plan", 3])
def test_only_plans_are_compared(engine: Engine, other: Any) -> None:
    with pytest.raises(errors.WrongTypeError, match="other must be a Plan, not "):
        plan({"t": 1}, {"a": ["t"]}, engine=engine).diff(other)


def test_a_balance_names_idle_members_and_uneven_topics(engine: Engine) -> None:
    members = {"z": [], "a": ["t", "u"], "b": ["t", "u"], "c": ["u", "gone"], "idle": ["none"]}

    found = plan({"t": 4, "u": 4, "none": 0, "unwanted": 9}, members, engine=engine).balance()

    assert Balance(0, 4, 8 / 5, ("z", "idle"), {"none": 0, "t": 0, "u": 1, "unwanted": 0}) == found
    assert isinstance(found, Balance)
    assert [int, int, float] == [type(value) for value in found[:3]]


def test_a_consumer_without_partitions_counts_in_the_spread(engine: Engine) -> None:
    assert {"t": 1} == plan({"t": 2}, dict.fromkeys("abc", ("t",)), engine=engine).balance().spread


def test_a_plan_without_members_is_balanced(engine: Engine) -> None:
    found = plan({"t": 3}, {}, engine=engine).balance()

    assert Balance(0, 0, 0.0, (), {"t": 0}) == found
    assert not math.isnan(found.mean)
