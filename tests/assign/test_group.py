"""`Group`: it reads topics and subscriptions once, and answers like `plan` and `assign`."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given

from assignor import Group, PartitionInfo, Plan, Subscription, Topics, assign, errors, plan
from tests.support.invalid_input import ARGUMENT, NULL, TYPE, error_of, error_of_input
from tests.support.strategies import Group as Drawn
from tests.support.strategies import groups, wrong_groups

TOPICS: dict[str, Any] = {"u": [9, 4, 5], "t": 3, "～": 0, "😀": 1}
MEMBERS: dict[str, Any] = {"b": ["t", "u"], "a": Subscription(("u", "gone"), group_instance_id="i"), "c": ()}


@given(group=groups(equal_instance_ids=True))
def test_a_group_and_topics_give_the_same_answers_as_the_functions_for_mappings(group: Drawn) -> None:
    for topics in (group.topics, Topics(group.topics)):
        found = Group(topics, group.members)
        for prefer in (False, True):
            expected = assign(group.topics, group.members, prefer_rack_aware=prefer, engine="reference")

            assert list(expected.items()) == list(found.assign(prefer_rack_aware=prefer).items())
            assert list(expected.items()) == list(assign(topics, group.members, prefer_rack_aware=prefer).items())
            assert expected == found.plan(prefer_rack_aware=prefer)
        expected_json = plan(group.topics, group.members).to_json()
        assert expected_json == found.plan().to_json() == plan(topics, group.members).to_json()


def test_a_group_gives_the_same_answer_again() -> None:
    group = Group(TOPICS, MEMBERS)

    first, second = group.assign(), group.assign()

    assert first == second == group.plan() == dict(group.plan())
    assert first is not second
    assert first["a"] is not second["a"]
    assert isinstance(group.plan(), Plan)
    first["a"].clear()
    assert second == group.assign()


def test_members_are_in_the_given_order_and_topics_in_java_order() -> None:
    group = Group(TOPICS, MEMBERS)

    assert ("b", "a", "c") == group.members == group.plan().members
    assert ("t", "u", "😀", "～") == group.topics == group.plan().topics
    assert 3 == len(group)
    assert "<Group: 3 members with 3 subscriptions, 4 topics>" == repr(group)


def test_later_changes_of_the_input_do_not_affect_a_group() -> None:
    topics: dict[str, Any] = {"t": [0, 1]}
    wanted = ["t"]
    members = {"a": wanted}
    group = Group(topics, members)

    topics["t"].append(2)
    topics["u"] = 1
    wanted.append("u")
    members["b"] = wanted

    assert {"a": [("t", 0), ("t", 1)]} == group.assign()


def test_a_group_keeps_the_objects_of_its_names() -> None:
    topic, member = "".join(["top", "ic"]), "".join(["mem", "ber"])
    group = Group({topic: 1}, {member: [topic]})

    assert group.topics[0] is topic
    assert group.members[0] is member
    assert group.assign()[member][0].topic is topic
    assert next(iter(group.assign())) is member


def test_a_group_cannot_be_changed() -> None:
    group = Group(TOPICS, MEMBERS)

    with pytest.raises(AttributeError):
        group.members = ()  # type: ignore[misc]  # deliberately wrong type
    with pytest.raises(AttributeError):
        group.more = 1  # type: ignore[attr-defined]  # deliberately wrong type


@given(group=wrong_groups())
def test_a_group_raises_the_same_errors_as_the_functions(group: Drawn) -> None:
    expected = error_of_input(group.topics, group.members, "reference")

    assert expected == error_of(lambda: Group(group.topics, group.members))


@pytest.mark.parametrize(
    ("topics", "members", "error", "message"),
    [
        (None, {}, NULL, "partitions_per_topic must be a mapping of topics to partitions, not None"),
        ({}, 7, TYPE, "subscriptions must be a mapping of member ids to subscriptions, not int: 7"),
        ({"t": -1}, {"a": None}, ARGUMENT, "topic 't': a partition count cannot be negative: -1"),
    ],
)
def test_a_group_rejects_invalid_input(topics: Any, members: Any, error: type[Exception], message: str) -> None:
    assert (error, message) == error_of(lambda: Group(topics, members))


@pytest.mark.parametrize("flag", [1, None, "yes"])
def test_prefer_rack_aware_must_be_a_bool_given_by_name(flag: Any) -> None:
    group = Group(TOPICS, MEMBERS)

    for verb in (group.plan, group.assign):
        with pytest.raises(errors.WrongTypeError, match="prefer_rack_aware must be a bool, not "):
            verb(prefer_rack_aware=flag)
        with pytest.raises(TypeError, match="positional argument"):
            verb(True)  # type: ignore[call-arg,arg-type]  # deliberately wrong type


def test_a_group_may_be_used_by_several_threads() -> None:
    racks = [PartitionInfo(id, (f"r{id % 3}",)) for id in range(40)]
    members = {f"m{number}": Subscription(("t", "u"), rack=f"r{number % 4}") for number in range(300)}
    group = Group(Topics({"t": racks, "u": 900}), members)
    expected = assign({"t": racks, "u": 900}, members)
    found = []

    def ask() -> None:
        for _ in range(5):
            answer = group.plan()
            found.append((dict(answer), group.assign(), answer.owner("u", 899), answer.diff(group.plan()).moved))

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    owner = next(member for member, partitions in expected.items() if ("u", 899) in partitions)
    assert [(expected, expected, owner, 0)] * 20 == found
