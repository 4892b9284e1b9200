"""Tests of the conversion of an admin client's descriptions to sorted rows and problems."""

from __future__ import annotations

import pytest

from assignor.cluster.client_topics import ClusterTopics
from assignor.cluster.descriptions import (
    GroupDescription,
    MemberDescription,
    MemberSubscription,
    batches,
    build_snapshot,
    decode_member_subscription,
    read_batch,
    read_group_ids,
)
from assignor.cluster.snapshot import CurrentRow, GroupRow, GuessedSubscription, MemberRow, Problem
from assignor.errors import IllegalArgumentError, NullArgumentError, WrongTypeError

NO_TOPICS = ClusterTopics(has_racks=False)


def member(
    name: str, *assigned: tuple[str, int], subscription: MemberSubscription | str = "not shown"
) -> MemberDescription:
    return MemberDescription(name, None, subscription, assigned)


def test_consecutive_ids_are_one_row() -> None:
    has = [("b", 1), ("a", 7), ("a", 3), ("b", 0), ("a", 2), ("a", 3), ("a", 8), ("a", 10)]

    found = build_snapshot("c", NO_TOPICS, [GroupDescription("g", "consumer", members=[member("m", *has)])])

    runs = [("a", 2, 2), ("a", 7, 2), ("a", 10, 1), ("b", 0, 2)]
    assert tuple(CurrentRow("c", "g", "m", *run) for run in runs) == found.current


def test_guessed_subscription_has_current_and_target_topics_of_the_group() -> None:
    members = [member("m", ("b", 0)), MemberDescription("k", "i", "not shown", (), [("a", 1)])]

    found = build_snapshot("c", NO_TOPICS, [GroupDescription("g", "consumer", members=members)])

    rows = (
        MemberRow("c", "g", "k", "i", None, ("a", "b"), group_protocol="consumer"),
        MemberRow("c", "g", "m", None, None, ("a", "b"), group_protocol="consumer"),
    )
    assert rows == found.members
    assert (
        GuessedSubscription("c", "g", "k", "not shown"),
        GuessedSubscription("c", "g", "m", "not shown"),
    ) == found.guessed


def test_known_subscriptions_are_kept() -> None:
    members = [member("m", ("b", 0)), member("k", ("a", 0), subscription=MemberSubscription(("z", "y", "z"), "r1"))]

    found = build_snapshot("c", NO_TOPICS, [GroupDescription("g", "classic", "Stable", members=members)])

    assert [(("y", "z"), "r1"), (("a", "b"), None)] == [(row.topics, row.rack) for row in found.members]
    assert (GuessedSubscription("c", "g", "m", "not shown"),) == found.guessed


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
def test_classic_group_in_a_rebalance_is_a_problem(state: str) -> None:
    found = build_snapshot("c", NO_TOPICS, [GroupDescription("g", "classic", state, "range", [member("m")])])

    assert ((), ()) == (found.members, found.guessed)
    assert (GroupRow("c", "g", "classic", state, "range", 1, read=False),) == found.groups
    assert f"the group is in state {state}, in which brokers return no" in found.problems[0].reason


def test_group_with_only_offsets_has_no_members() -> None:
    found = build_snapshot("c", NO_TOPICS, [GroupDescription("g", "classic", "Empty")])

    assert (GroupRow("c", "g", "classic", "Empty", "", 0, read=True),) == found.groups
    assert () == found.problems


def test_invalid_topic_is_a_problem() -> None:
    topics = ClusterTopics(has_racks=True)
    topics.add("whole", {1: (None,), 0: ("r1",)})
    topics.topic_ids["whole"] = "O2a7KRH1Rd-atpW2TTMtdQ"
    topics.add("torn", {0: ("r1",), 2: ("r1",)})
    topics.add("bare", {})
    topics.add_error("fresh", 5)
    topics.add_error("odd", 99)

    found = build_snapshot("c", topics, [])

    assert [("c", "whole", 2, (("r1",), (None,)), "O2a7KRH1Rd-atpW2TTMtdQ")] == list(found.topics)
    reasons = {
        "bare": "it has no known partitions",
        "fresh": "the broker answered LEADER_NOT_AVAILABLE",
        "odd": "the broker answered error code 99",
        "torn": "the ids of its 2 known partitions are not 0 to 1",
    }
    assert tuple(Problem("c", "topic", *each) for each in reasons.items()) == found.problems


def test_undecodable_subscription_has_a_reason() -> None:
    assert "the group was rebalancing" in str(decode_member_subscription(b""))
    assert "cannot be decoded" in str(decode_member_subscription(b"\0\0\0"))
    assert MemberSubscription(("foo",), None) == decode_member_subscription(b"\0\3\0\0\0\1\0\3foo\xff\xff\xff\xff")


def test_batches_contain_each_name_once() -> None:
    assert [["a", "b"], ["c"]] == list(batches(["a", "b", "c"], 2))
    assert [] == list(batches([], 2))


def test_a_batch_is_a_positive_number() -> None:
    assert 7 == read_batch(7)
    for size in (0, -1):
        with pytest.raises(IllegalArgumentError, match=r"^batch must be a positive int, not "):
            read_batch(size)
    for other in (True, 1.5):
        with pytest.raises(WrongTypeError, match=r"^batch must be an int, not "):
            read_batch(other)


def test_group_ids_are_names() -> None:
    assert ["b", "a"] == read_group_ids(iter(["b", "a", "b"]))
    assert read_group_ids(None) is None
    with pytest.raises(WrongTypeError, match=r"^groups must be an iterable of group ids, not str"):
        read_group_ids("group")
    with pytest.raises(WrongTypeError, match=r"^groups must be an iterable of group ids, not int"):
        read_group_ids(7)  # type: ignore[arg-type]  # deliberately wrong type
    with pytest.raises(NullArgumentError, match=r"^groups: a group id must be a str, not None"):
        read_group_ids([None])  # type: ignore[list-item]  # deliberately wrong type
