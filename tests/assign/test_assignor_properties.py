"""Properties of Kafka's assignors on drawn groups with arbitrary claims, on both engines.

A share group may raise an error for claims of partitions that do not exist, where Kafka's class does.

Balance and stickiness follow from the comparison with Kafka's classes, in `tests/conformance` and in
`test_simulated_groups.py`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assignor import Group as PackedGroup
from assignor import Subscription, TopicPartition, assign, check, plan
from assignor.ordering import string_hash, table_order
from tests.assign.claim_strategies import Group, groups_with_claims
from tests.conformance.assignor_vectors import ASSIGNORS, Named
from tests.support import assignment_rules
from tests.support.engines import Engine, outcome

Answer = Mapping[str, list[TopicPartition]]

KINDS = pytest.mark.parametrize("kind", ASSIGNORS.values(), ids=ASSIGNORS)
SHARING = ASSIGNORS["share_simple"]
EXCLUSIVE = pytest.mark.parametrize(
    "kind",
    [kind for kind in ASSIGNORS.values() if kind != SHARING],
    ids=[name for name in ASSIGNORS if "share" not in name],
)
"""Assignors that give each partition to one member."""
KEEPING = pytest.mark.parametrize(
    "kind",
    [ASSIGNORS["sticky"], ASSIGNORS["cooperative_sticky"], ASSIGNORS["server_uniform"]],
    ids=["sticky", "cooperative_sticky", "uniform"],
)
COOPERATIVE = ASSIGNORS["cooperative_sticky"]

SHARE = settings(max_examples=1000 if os.environ.get("ASSIGNOR_PROFILE") == "long" else 30)
"""Number of examples for each assignor and engine of a test that runs on several."""


def answer_of(kind: Named, group: Group, engine: Engine) -> Answer:
    """Return the answer to a group."""
    options = {"assignor": kind.assignor, "group_protocol": kind.group_protocol, **group.options}
    return assign(group.topics, group.members, engine=engine, **options)


@EXCLUSIVE
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


def of_existing_partitions(group: Group) -> Group:
    """Return a group without claims of partitions that do not exist."""
    existing = {(topic, id) for topic, of in group.topics.items() for id in assignment_rules.ids_of(of)}
    members = {
        member: dataclasses.replace(
            given, owned_partitions=tuple(each for each in given.owned_partitions if each in existing)
        )
        for member, given in group.members.items()
    }
    return Group(group.topics, members, group.options)


@SHARE
@given(group=groups_with_claims().map(of_existing_partitions))
def test_every_partition_of_a_share_group_has_owners(engine: Engine, group: Group) -> None:
    answer = answer_of(SHARING, group, engine)

    assignment_rules.assert_every_member_is_present(group.members, answer)
    assignment_rules.assert_lists_are_ordered(answer)
    assignment_rules.assert_every_partition_is_given(group.topics, group.members, answer)
    wanted = set().union(*(each.topics for each in group.members.values()))
    for member, partitions in answer.items():
        given, had = group.members[member], set(group.members[member].owned_partitions)
        assert len(set(partitions)) == len(partitions), member
        kept = {each for each in partitions if each.topic not in given.topics}
        assert kept <= {each for each in had if each.topic not in wanted}, member
    findings = check(answer, group.topics, group.members, group_protocol="share", engine=engine)
    assert ((), (), ()) == (findings.unowned, findings.doubly_owned, findings.unknown)


@KINDS
@SHARE
@given(group=groups_with_claims())
def test_plan_and_group_give_the_same_answer_as_assign(kind: Named, group: Group) -> None:
    options = {"assignor": kind.assignor, "group_protocol": kind.group_protocol, **group.options}
    packed = PackedGroup(group.topics, group.members)
    expected = outcome(assign, group.topics, group.members, **options)

    assert expected == outcome(plan, group.topics, group.members, **options)
    assert [expected] * 3 == [outcome(call, **options) for call in (packed.plan, packed.assign, packed.assign)]


@given(group=groups_with_claims())
def test_a_partition_is_not_given_while_another_member_holds_it(engine: Engine, group: Group) -> None:
    answer = answer_of(COOPERATIVE, group, engine)

    assignment_rules.assert_no_partition_is_given_while_another_member_owns_it(group.members, answer)


@KINDS
@SHARE
@given(group=groups_with_claims(equal_instance_ids=False), data=st.data())
def test_the_order_of_members_matters_only_within_a_bucket(
    kind: Named, engine: Engine, group: Group, data: st.DataObject
) -> None:
    topics = dict(data.draw(st.permutations(list(group.topics.items()))))
    members = dict(data.draw(st.permutations(list(group.members.items()))))
    assume(in_table_order(members) == in_table_order(group.members))

    options = {"assignor": kind.assignor, "group_protocol": kind.group_protocol, "engine": engine, **group.options}
    first, second = outcome(assign, *group[:2], **options), outcome(assign, topics, members, **options)
    if first.answer is None or second.answer is None:
        assert (kind, first) == (SHARING, second)
    else:
        assert dict(first.answer) == dict(second.answer)


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


def test_giving_a_partition_that_its_owner_still_holds_violates_the_cooperative_property() -> None:
    held = TopicPartition("t", 0)
    members = {"a": Subscription(("t",), owned_partitions=(held,)), "b": Subscription(("t",))}

    assignment_rules.assert_no_partition_is_given_while_another_member_owns_it(members, {"a": [held], "b": []})
    with pytest.raises(AssertionError, match="b is given what a owns"):
        assignment_rules.assert_no_partition_is_given_while_another_member_owns_it(members, {"a": [], "b": [held]})
