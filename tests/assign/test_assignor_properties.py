"""Properties of Kafka's assignors on drawn groups, on both engines, and checks that wrong answers violate them.

Balance and stickiness are as specified in KIP-54 for sticky, KIP-429 for cooperative-sticky, and KIP-848 for uniform.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assignor import Group as PackedGroup
from assignor import Subscription, TopicPartition, assign, check, plan
from assignor.ordering import string_hash, table_order
from tests.assign.claim_strategies import Group, fresh_groups, groups_with_claims, owning, subscribers
from tests.conformance.assignor_vectors import ASSIGNORS, Named
from tests.support import assignment_rules
from tests.support.assignment_rules import ids_of
from tests.support.engines import Engine

Answer = Mapping[str, list[TopicPartition]]

KINDS = pytest.mark.parametrize("kind", ASSIGNORS.values(), ids=ASSIGNORS)
STICKY = pytest.mark.parametrize(
    "kind", [ASSIGNORS["sticky"], ASSIGNORS["cooperative_sticky"]], ids=["sticky", "cooperative"]
)
KEEPING = pytest.mark.parametrize(
    "kind",
    [ASSIGNORS["sticky"], ASSIGNORS["cooperative_sticky"], ASSIGNORS["server_uniform"]],
    ids=["sticky", "cooperative_sticky", "uniform"],
)
COOPERATIVE = ASSIGNORS["cooperative_sticky"]

SHARE = settings(max_examples=1000 if os.environ.get("ASSIGNOR_PROFILE") == "long" else 30)
"""Number of examples for each assignor and engine of a test that runs on several."""


def answer_of(kind: Named, group: Group, engine: Engine, members: dict[str, Subscription] | None = None) -> Answer:
    """Return the answer to a group, or to the same group with other members."""
    options = {"assignor": kind.assignor, "group_protocol": kind.group_protocol, **group.options}
    return assign(group.topics, group.members if members is None else members, engine=engine, **options)


def sizes(answer: Answer) -> list[int]:
    """Return the number of partitions of each member."""
    return [len(partitions) for partitions in answer.values()]


def owners(answer: Answer) -> dict[TopicPartition, str]:
    """Return the owner of each partition."""
    return {partition: member for member, partitions in answer.items() for partition in partitions}


def assert_sizes_differ_by_at_most_one(answer: Answer) -> None:
    """Check that no member has two partitions more than another."""
    assert max(sizes(answer)) - min(sizes(answer)) <= 1


def assert_no_move_helps(group: Group, answer: Answer) -> None:
    """Check that no member can take a partition from an owner with at least two partitions more."""
    for partition, owner in owners(answer).items():
        for member in subscribers(group, partition.topic):
            assert len(answer[owner]) <= len(answer[member]) + 1, (partition, owner, member)


@KINDS
@SHARE
@given(group=groups_with_claims())
def test_every_answer_is_a_valid_assignment(kind: Named, engine: Engine, group: Group) -> None:
    answer = answer_of(kind, group, engine)

    assignment_rules.assert_is_valid(group.topics, group.members, answer, withholds=kind == COOPERATIVE)
    findings = check(answer, group.topics, group.members)
    unowned = assignment_rules.missing_partitions(group.topics, group.members, answer)
    assert (unowned, (), (), ()) == (
        set(findings.unowned),
        findings.doubly_owned,
        findings.not_subscribed,
        findings.unknown,
    )


@KINDS
@SHARE
@given(group=groups_with_claims())
def test_plan_and_group_give_the_same_answer_as_assign(kind: Named, group: Group) -> None:
    options = {"assignor": kind.assignor, "group_protocol": kind.group_protocol, **group.options}
    packed = PackedGroup(group.topics, group.members)
    answer = assign(group.topics, group.members, **options)

    assert answer == plan(group.topics, group.members, **options)
    assert answer == packed.plan(**options) == packed.assign(**options) == packed.assign(**options)


@given(group=fresh_groups(equal=True))
def test_members_with_equal_subscriptions_get_equal_shares(engine: Engine, group: Group) -> None:
    for name, kind in ASSIGNORS.items():
        if name != "server_range":
            assert_sizes_differ_by_at_most_one(answer_of(kind, group, engine))


@STICKY
@SHARE
@given(group=fresh_groups(equal=True, racks=True))
def test_racks_do_not_affect_balance(kind: Named, engine: Engine, group: Group) -> None:
    assert_sizes_differ_by_at_most_one(answer_of(kind, group, engine))


@given(group=fresh_groups(equal=False))
def test_the_brokers_range_assignor_divides_each_topic_equally(engine: Engine, group: Group) -> None:
    answer = answer_of(ASSIGNORS["server_range"], group, engine)
    for topic, partitions in group.topics.items():
        consumers = subscribers(group, topic)
        if consumers:
            counts = [sum(each.topic == topic for each in answer[member]) for member in consumers]
            assert sum(counts) == len(ids_of(partitions))
            assert max(counts) - min(counts) <= 1


@STICKY
@SHARE
@given(group=fresh_groups(equal=False))
def test_a_first_sticky_assignment_is_as_balanced_as_subscriptions_allow(
    kind: Named, engine: Engine, group: Group
) -> None:
    assert_no_move_helps(group, answer_of(kind, group, engine))


@KEEPING
@SHARE
@given(group=fresh_groups(equal=True))
def test_an_unchanged_group_with_equal_subscriptions_moves_nothing(kind: Named, engine: Engine, group: Group) -> None:
    first = answer_of(kind, group, engine)

    assert first == answer_of(kind, group, engine, owning(group.members, first))


@STICKY
@SHARE
@given(group=fresh_groups(equal=False))
def test_an_unchanged_group_moves_nothing(kind: Named, engine: Engine, group: Group) -> None:
    first = answer_of(kind, group, engine)

    assert first == answer_of(kind, group, engine, owning(group.members, first))


@KEEPING
@SHARE
@given(group=fresh_groups(equal=True, least=2), data=st.data())
def test_when_a_member_leaves_only_its_partitions_move(
    kind: Named, engine: Engine, group: Group, data: st.DataObject
) -> None:
    first = answer_of(kind, group, engine)
    gone = data.draw(st.sampled_from(list(group.members)))
    left = {member: given for member, given in group.members.items() if member != gone}

    second = answer_of(kind, group, engine, owning(left, first))

    for member in left:
        assert set(first[member]) <= set(second[member])
    assert_sizes_differ_by_at_most_one(second)


@KEEPING
@SHARE
@given(group=fresh_groups(equal=True, least=2), data=st.data())
def test_when_a_member_joins_partitions_move_only_to_it(
    kind: Named, engine: Engine, group: Group, data: st.DataObject
) -> None:
    new = data.draw(st.sampled_from(list(group.members)))
    before = {member: given for member, given in group.members.items() if member != new}
    first = answer_of(kind, group, engine, before)

    second = answer_of(kind, group, engine, owning(group.members, first))

    for member in before:
        assert set(second[member]) <= set(first[member])
    if kind != COOPERATIVE:
        assert_sizes_differ_by_at_most_one(second)


@given(group=groups_with_claims())
def test_a_partition_is_not_given_while_another_member_holds_it(engine: Engine, group: Group) -> None:
    answer = answer_of(COOPERATIVE, group, engine)

    assignment_rules.assert_no_partition_is_given_while_another_member_owns_it(group.members, answer)


@given(equal=st.booleans(), data=st.data())
def test_two_cooperative_rebalances_assign_all_partitions(engine: Engine, equal: bool, data: st.DataObject) -> None:
    group = data.draw(fresh_groups(equal=equal, least=2))
    first = answer_of(COOPERATIVE, group, engine)
    new = data.draw(st.sampled_from(list(group.members)))
    changed = {**group.members, new: Subscription(tuple(group.topics)), f"{new}-2": group.members[new]}

    second = answer_of(COOPERATIVE, group, engine, owning(changed, first, 1))
    third = answer_of(COOPERATIVE, group, engine, owning(changed, second, 2))

    assignment_rules.assert_every_partition_is_given(group.topics, changed, third)
    for member in changed:
        assert set(second[member]) <= set(third[member]), "no partition is revoked in the second rebalance"


@KINDS
@SHARE
@given(group=groups_with_claims(equal_instance_ids=False), data=st.data())
def test_the_order_of_members_matters_only_within_a_bucket(
    kind: Named, engine: Engine, group: Group, data: st.DataObject
) -> None:
    topics = dict(data.draw(st.permutations(list(group.topics.items()))))
    members = dict(data.draw(st.permutations(list(group.members.items()))))
    assume(in_table_order(members) == in_table_order(group.members))

    options = {"assignor": kind.assignor, "group_protocol": kind.group_protocol, **group.options}
    assert answer_of(kind, group, engine) == assign(topics, members, engine=engine, **options)


def in_table_order(members: Mapping[str, Any]) -> list[str]:
    """Return member ids in the order of Kafka's table; only the order within a bucket depends on the input."""
    return table_order(list(members), [string_hash(member) for member in members])


@KEEPING
def test_of_two_members_in_one_bucket_the_first_keeps_its_extra_partition(kind: Named, engine: Engine) -> None:
    topics, partitions = {"t": 5}, [TopicPartition("t", id) for id in range(5)]
    shared = {
        "Aa": Subscription(("t",), owned_partitions=tuple(partitions[:2])),
        "BB": Subscription(("t",), owned_partitions=tuple(partitions[2:4])),
        "C": Subscription(("t",)),
        "D": Subscription(("t",), owned_partitions=tuple(partitions[4:])),
    }
    turned = {member: shared[member] for member in ("BB", "Aa", "C", "D")}

    first, second = (answer_of(kind, Group(topics, members, {}), engine) for members in (shared, turned))

    assert string_hash("Aa") == string_hash("BB")
    assert (2, 1) == (len(first["Aa"]), len(first["BB"]))
    assert (1, 2) == (len(second["Aa"]), len(second["BB"]))


def test_an_unbalanced_answer_violates_the_balance_properties() -> None:
    group = Group({"t": 4}, {member: Subscription(("t",)) for member in "ab"}, {})
    partitions = [TopicPartition("t", id) for id in range(4)]
    for split in range(5):
        answer = {"a": partitions[:split], "b": partitions[split:]}
        for rule in (assert_sizes_differ_by_at_most_one, partial(assert_no_move_helps, group)):
            if split == 2:
                rule(answer)
            else:
                with pytest.raises(AssertionError):
                    rule(answer)


def test_giving_a_partition_that_its_owner_still_holds_violates_the_cooperative_property() -> None:
    held = TopicPartition("t", 0)
    members = {"a": Subscription(("t",), owned_partitions=(held,)), "b": Subscription(("t",))}

    assignment_rules.assert_no_partition_is_given_while_another_member_owns_it(members, {"a": [held], "b": []})
    with pytest.raises(AssertionError, match="b is given what a owns"):
        assignment_rules.assert_no_partition_is_given_while_another_member_owns_it(members, {"a": [], "b": [held]})
