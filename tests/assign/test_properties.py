"""Properties of range assignment on drawn groups, on both engines, and checks that wrong answers violate them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import Subscription, assign, check
from tests.support import properties
from tests.support.engines import Engine
from tests.support.strategies import Group, groups


@given(group=groups(equal_instance_ids=True))
def test_every_partition_has_one_subscriber_as_owner_and_shares_are_fair(engine: Engine, group: Group) -> None:
    answer = assign(*group[:2], prefer_rack_aware=group.prefer_rack_aware, engine=engine)

    properties.assert_properties_hold(group, answer, plain=False)
    assert not check(answer, *group[:2])


@given(group=groups(racks=False, equal_instance_ids=True))
def test_without_racks_ranges_follow_the_order_of_members(engine: Engine, group: Group) -> None:
    properties.assert_properties_hold(group, assign(*group[:2], engine=engine), plain=True)
    assert group.members.keys() == assign(*group[:2], engine=engine).keys()


@given(group=groups(), data=st.data())
def test_the_order_of_the_input_does_not_matter(engine: Engine, group: Group, data: st.DataObject) -> None:
    topics = dict(data.draw(st.permutations(list(group.topics.items()))))
    members = dict(data.draw(st.permutations(list(group.members.items()))))
    reordered = Group(topics, members)

    properties.assert_the_order_of_the_input_does_not_matter(partial(assign, engine=engine), group, reordered)
    assert list(members) == list(assign(topics, members, engine=engine))


@given(racks=st.booleans(), data=st.data())
def test_static_members_keep_their_partitions_when_member_ids_change(
    engine: Engine, racks: bool, data: st.DataObject
) -> None:
    group = data.draw(groups(racks=racks))
    # With racks, the id of a dynamic member decides which partitions it takes first, so only static members may change
    # ids.
    changing = [
        member
        for member, subscription in group.members.items()
        if not racks or properties.instance_id_of(subscription) is not None
    ]
    renamed = {member: member for member in group.members}
    renamed |= dict(zip(changing, data.draw(st.permutations([f"{member}x" for member in changing])), strict=True))

    properties.assert_static_members_keep_their_partitions(partial(assign, engine=engine), group, renamed)
    assert len(set(renamed.values())) == len(group.members)


GROUP = Group({"t": 5, "u": 4}, {"b": ("t", "u"), "a": ("u", "t"), "c": ("t",)})
WRONG: dict[str, Callable[[dict[str, list[tuple[str, int]]]], object]] = {
    "a partition is lost": lambda answer: answer["a"].pop(),
    "a partition is given twice": lambda answer: answer["b"].append(("u", 0)),
    "a partition does not exist": lambda answer: answer["b"].append(("u", 9)),
    "a member is left out": lambda answer: answer.pop("c"),
    "a member is new": lambda answer: answer.update(z=[]),
    "members come in another order": lambda answer: answer.update(b=answer.pop("b")),
    "a list is out of order": lambda answer: answer["a"].reverse(),
    "a member gets what it does not want": lambda answer: answer["c"].append(answer["b"].pop()),
    "shares are unfair": lambda answer: answer["a"].insert(2, ("t", answer["b"].pop(0)[1])),
    "two members are swapped": lambda answer: answer.update(a=answer["b"], b=answer["a"]),
}


@pytest.mark.parametrize("damage", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_answer_violates_the_properties(damage: Callable[[dict[str, list[tuple[str, int]]]], object]) -> None:
    answer = {member: [tuple(entry) for entry in found] for member, found in assign(*GROUP[:2]).items()}
    properties.assert_properties_hold(GROUP, answer, plain=True)  # type: ignore[arg-type]  # deliberately wrong type

    damage(answer)  # type: ignore[arg-type]  # deliberately wrong type

    with pytest.raises(AssertionError):
        properties.assert_properties_hold(GROUP, answer, plain=True)  # type: ignore[arg-type]  # deliberately wrong type


def test_an_engine_that_sorts_by_member_id_violates_the_property_of_static_members() -> None:
    def forgetful(topics: object, members: dict[str, Subscription], **_: object) -> dict[str, list[tuple[str, int]]]:
        return assign(topics, {member: found.topics for member, found in members.items()})  # type: ignore[arg-type, return-value]  # deliberately wrong type

    group = Group({"t": 3}, {name: Subscription(("t",), group_instance_id=f"i{name}") for name in "ab"})

    properties.assert_static_members_keep_their_partitions(assign, group, {"a": "z", "b": "y"})
    with pytest.raises(AssertionError):
        properties.assert_static_members_keep_their_partitions(forgetful, group, {"a": "z", "b": "y"})


def test_an_engine_that_does_not_sort_members_violates_the_property_of_order() -> None:
    def hasty(topics: dict[str, int], members: dict[str, object], **_: object) -> dict[str, list[tuple[str, int]]]:
        return {member: [(next(iter(topics)), place)] for place, member in enumerate(members)}

    group = Group({"t": 2}, {"a": ("t",), "b": ("t",)})
    reordered = Group({"t": 2}, {"b": ("t",), "a": ("t",)})

    properties.assert_the_order_of_the_input_does_not_matter(assign, group, reordered)
    with pytest.raises(AssertionError):
        properties.assert_the_order_of_the_input_does_not_matter(hasty, group, reordered)
