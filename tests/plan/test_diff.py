"""Differences between plans, and balance of plans, compared with dicts and sets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import Balance, Diff, Plan, TopicPartition, assign, errors, plan
from tests.support.assignment_rules import consumers
from tests.support.engines import ENGINES, Engine
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
