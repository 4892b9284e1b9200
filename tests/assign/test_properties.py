"""Properties of range assignment on drawn groups, on both engines, and checks that wrong answers violate them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assignor import TopicPartition, assign, check
from tests.support import assignment_rules
from tests.support.engines import Engine
from tests.support.strategies import Group, groups


@given(group=groups(equal_instance_ids=True))
def test_every_partition_has_one_subscriber_as_owner_and_shares_are_fair(engine: Engine, group: Group) -> None:
    answer = assign(*group[:2], prefer_rack_aware=group.prefer_rack_aware, engine=engine)

    assignment_rules.assert_is_valid(*group[:2], answer)
    assignment_rules.assert_counts_are_quota_or_one_more(group, answer)
    assert not check(answer, *group[:2])


@given(group=groups(racks=False, equal_instance_ids=True))
def test_without_racks_ranges_follow_the_order_of_members(engine: Engine, group: Group) -> None:
    assignment_rules.assert_ranges_follow_the_order_of_members(group, assign(*group[:2], engine=engine))


@given(group=groups(), data=st.data())
def test_the_order_of_the_input_does_not_matter(engine: Engine, group: Group, data: st.DataObject) -> None:
    topics = dict(data.draw(st.permutations(list(group.topics.items()))))
    members = dict(data.draw(st.permutations(list(group.members.items()))))

    found = assign(topics, members, prefer_rack_aware=group.prefer_rack_aware, engine=engine)

    assert assign(*group[:2], prefer_rack_aware=group.prefer_rack_aware, engine=engine) == found
    assert list(members) == list(found)


@given(racks=st.booleans(), data=st.data())
def test_static_members_keep_their_partitions_when_member_ids_change(
    engine: Engine, racks: bool, data: st.DataObject
) -> None:
    group = data.draw(groups(racks=racks))
    statics = [member for member, given in group.members.items() if assignment_rules.instance_id_of(given) is not None]
    # With racks, the id of a dynamic member decides which partitions it takes first, so only static members may change
    # ids.
    changing = statics if racks else list(group.members)
    renamed = {member: member for member in group.members}
    renamed |= dict(zip(changing, data.draw(st.permutations([f"{member}x" for member in changing])), strict=True))
    assume(len(set(renamed.values())) == len(group.members))

    before, after = (
        assign(group.topics, members, prefer_rack_aware=group.prefer_rack_aware, engine=engine)
        for members in (group.members, {renamed[member]: given for member, given in group.members.items()})
    )
    for member in statics:
        assert before[member] == after[renamed[member]]


GROUP = Group({"t": 5, "u": 4}, {"b": ("t", "u"), "a": ("u", "t"), "c": ("t",)})
WRONG: dict[str, Callable[[dict[str, list[TopicPartition]]], object]] = {
    "a partition is lost": lambda answer: answer["a"].pop(),
    "a partition is given twice": lambda answer: answer["b"].append(answer["a"][-1]),
    "a partition does not exist": lambda answer: answer["b"].append(TopicPartition("u", 9)),
    "a member is left out": lambda answer: answer.pop("c"),
    "a member is new": lambda answer: answer.update(z=[]),
    "members come in another order": lambda answer: answer.update(b=answer.pop("b")),
    "a list is out of order": lambda answer: answer["a"].reverse(),
    "a member gets what it does not want": lambda answer: answer["c"].append(answer["b"].pop()),
    "shares are unfair": lambda answer: answer["a"].insert(2, TopicPartition("t", answer["b"].pop(0)[1])),
    "two members are swapped": lambda answer: answer.update(a=answer["b"], b=answer["a"]),
}


def assert_rules_hold(answer: dict[str, list[TopicPartition]]) -> None:
    """Check all rules of the answer to `GROUP`."""
    assignment_rules.assert_is_valid(*GROUP[:2], answer)
    assignment_rules.assert_counts_are_quota_or_one_more(GROUP, answer)
    assignment_rules.assert_ranges_follow_the_order_of_members(GROUP, answer)


@pytest.mark.parametrize("damage", WRONG.values(), ids=WRONG)
def test_a_wrong_answer_violates_the_rules(damage: Callable[[dict[str, list[TopicPartition]]], object]) -> None:
    answer = assign(*GROUP[:2])
    assert_rules_hold(answer)

    damage(answer)

    with pytest.raises(AssertionError):
        assert_rules_hold(answer)
