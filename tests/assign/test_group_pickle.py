"""Copies and pickles of `Group` and `Topics`: they give the same answers as the original."""

from __future__ import annotations

import copy
import pickle
import uuid
from collections.abc import Iterable
from typing import Any, cast, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import Group, PartitionInfo, Subscription, Topics, errors, wire
from assignor.names import AssignorName, GroupProtocol
from assignor.reference.assign import ASSIGNORS
from tests.assign.claim_strategies import Group as Drawn
from tests.assign.claim_strategies import groups_with_claims

TOPICS: dict[str, Any] = {"u": [9, 4, 5], "t": [PartitionInfo(0, ("r0", None)), PartitionInfo(1, ("r1",))], "～": 3}
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def answers(group: Group) -> list[object]:
    """Return the answers of all assignors, with all that a plan knows about its members, or their errors."""
    found: list[object] = [group.members, group.topics, repr(group)]
    for protocol, assignor in cast(Iterable[tuple[GroupProtocol, AssignorName]], ASSIGNORS):
        for prefer_rack_aware in (False, True):
            try:
                plan = group.plan(assignor=assignor, group_protocol=protocol, prefer_rack_aware=prefer_rack_aware)
                found += [dict(plan), plan.to_json(), plan.group_metadata_size("g")]
            except errors.AssignorError as error:
                found.append(repr(error))
    return found


@given(groups_with_claims(), st.booleans(), st.booleans(), st.sampled_from(PROTOCOLS))
def test_a_pickled_group_gives_the_same_answers(group: Drawn, has_ids: bool, is_from_wire: bool, protocol: int) -> None:
    ids = {topic: uuid.UUID(int=number) for number, topic in enumerate(["gone", *group.topics], 7)} if has_ids else None
    if is_from_wire:
        joined = [
            (member, subscription.group_instance_id, wire.encode_subscription(subscription))
            for member, subscription in group.members.items()
        ]
        original = Group.from_wire(group.topics, joined, topic_ids=ids)
    else:
        original = Group(group.topics, group.members, topic_ids=ids)

    assert answers(original) == answers(pickle.loads(pickle.dumps(original, protocol)))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pickled_topics_are_equal(protocol: int) -> None:
    topics = Topics(TOPICS)

    back = pickle.loads(pickle.dumps(topics, protocol))

    assert dict(topics) == dict(back)
    assert topics.names == back.names
    members: dict[str, Any] = {"a": Subscription(["～", "u"], rack="r1"), "b": ["t", "u"]}
    assert answers(Group(topics, members)) == answers(Group(back, members))


def test_a_copy_of_a_group_or_topics_is_the_object_itself() -> None:
    topics = Topics(TOPICS)
    group = Group(topics, {"a": ["t"]})
    for value in (topics, group):
        assert value is copy.copy(value)
        assert value is copy.deepcopy(value)
        assert [value] == copy.deepcopy([value])


def test_members_with_the_same_topics_share_them_in_a_pickle() -> None:
    topics = [f"topic-{number}" for number in range(1_000)]
    group = Group(dict.fromkeys(topics, 1), {f"m{number}": topics for number in range(1_000)})

    assert len(pickle.dumps(group)) < 100_000


def test_a_rack_without_replicas_stays_one() -> None:
    members: dict[str, Any] = {
        "a": Subscription(["t"], rack="elsewhere"),
        "b": Subscription(["t"], rack="\x01"),
        "c": ["t"],
    }
    group = Group({"t": [PartitionInfo(0, ("\x01",)), PartitionInfo(1, ("r",))]}, members)

    assert answers(group) == answers(pickle.loads(pickle.dumps(group)))


def test_the_group_protocols_are_those_of_the_assignors() -> None:
    assert set(get_args(GroupProtocol)) == {protocol for protocol, _ in ASSIGNORS}
