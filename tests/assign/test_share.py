"""Share groups: partitions with several owners, kept partitions, and groups without an answer."""

from __future__ import annotations

import pickle
import uuid
from typing import Any

import pytest

from assignor import (
    Group,
    MemberColumns,
    Plan,
    Subscription,
    TopicColumns,
    TopicPartition,
    Topics,
    assign,
    check,
    errors,
    plan,
)
from assignor.server import SimpleAssignor
from tests.support.engines import Engine

ONE = {"t": uuid.UUID(int=1)}
"""Id of the topic t whose hash code is 1."""

FIVE = dict.fromkeys("abcde", ("t",))


def had(*topics: str, owned: str = "") -> Subscription:
    """Return a subscription with the partitions of the previous target, such as `t0 t1`."""
    return Subscription(
        topics, owned_partitions=tuple(TopicPartition(name[0], int(name[1:])) for name in owned.split())
    )


def shared(topics: Any, members: Any, **options: Any) -> dict[str, str]:
    """Return the partitions of each member as text."""
    answer = assign(topics, members, group_protocol="share", **options)
    return {member: " ".join(f"{topic}{partition}" for topic, partition in owned) for member, owned in answer.items()}


def test_each_member_gets_a_partition_of_a_topic_with_fewer_partitions_than_members(engine: Engine) -> None:
    expected = {"a": "t0 t1", "b": "t1", "c": "t1", "d": "t0", "e": "t0"}

    assert expected == shared({"t": 2}, FIVE, topic_ids=ONE, engine=engine)


def test_a_member_that_joins_takes_partitions_only_from_members_above_their_quota(engine: Engine) -> None:
    members = {"a": had("t", owned="t0 t1 t2 t3"), "b": had("t")}

    assert {"a": "t0 t3", "b": "t1 t2"} == shared({"t": 4}, members, topic_ids=ONE, engine=engine)


def test_only_the_partitions_in_the_list_are_assigned(engine: Engine) -> None:
    assert {"a": "t1", "b": "t3"} == shared({"t": [3, 1]}, {"a": ["t"], "b": ["t"]}, engine=engine)
    assert {"a": "", "b": ""} == shared({"t": []}, {"a": had("t", owned="t0"), "b": ["t"]}, engine=engine)


def test_members_of_a_heterogeneous_group_keep_topics_that_no_member_subscribes_to(engine: Engine) -> None:
    members = {"a": had("t", owned="v0 v1 x7"), "b": had("u")}
    expected = {"a": "t0 v0 v1 x7", "b": "u0"}

    assert expected == shared({"t": 1, "u": 1, "v": 1}, members, engine=engine)
    found = plan({"t": 1, "u": 1, "v": 1}, members, group_protocol="share", engine=engine)
    assert ("t", "u", "v", "x") == found.topics
    assert ("a",) == found.owners("x", 7)
    assert {"t": 0, "u": 0, "v": 0, "x": 0} == {**found.balance().spread, "t": 0, "u": 0}


def test_members_of_a_homogeneous_group_lose_topics_that_they_do_not_subscribe_to(engine: Engine) -> None:
    members = {"a": had("t", owned="v0 x7"), "b": had("t")}

    assert {"a": "t0", "b": "t0"} == shared({"t": 1, "v": 1}, members, engine=engine)


@pytest.mark.parametrize("topics", [(), ("gone",)])
def test_members_that_subscribe_to_no_existing_topic_get_nothing(topics: tuple[str, ...], engine: Engine) -> None:
    members = {"a": had(*topics, owned="t0"), "b": had(*topics)}

    assert {"a": "", "b": ""} == shared({"t": 2}, members, engine=engine)


def test_a_member_without_topics_gets_nothing_beside_one_with_topics(engine: Engine) -> None:
    assert {"a": "", "b": "t0"} == shared({"t": 1}, {"a": had(owned="t0"), "b": had("t")}, engine=engine)
    assert {} == shared({"t": 1}, {}, engine=engine)


def test_partitions_that_do_not_exist_can_leave_no_member_for_others(engine: Engine) -> None:
    members = {"a": had("t", owned="t0 t1"), "b": had("t")}

    with pytest.raises(errors.IllegalStateError, match=r"topic 't', partition \d: no member is left"):
        shared({"t": 1}, members, engine=engine)


def test_eight_topic_ids_of_one_hash_code_leave_the_answer_open(engine: Engine) -> None:
    names = [f"t{number}" for number in range(8)]
    ids = {name: uuid.UUID(int=(number << 64) | number ^ 1) for number, name in enumerate(names)}
    topics = dict.fromkeys(names, 4)

    with pytest.raises(errors.NotDeterminedError, match="not determined"):
        shared(topics, {"a": names, "b": names}, topic_ids=ids, engine=engine)


# ---- plans


@pytest.fixture
def found(engine: Engine) -> Plan:
    return plan({"t": 2}, FIVE, group_protocol="share", topic_ids=ONE, engine=engine)


def test_a_plan_knows_all_owners_of_a_partition(found: Plan) -> None:
    assert ("a", "d", "e") == found.owners("t", 0)
    assert ("a", "b", "c") == found.owners("t", 1)
    assert "a" == found.owner("t", 0)
    assert () == found.owners("t", 2) == found.owners("u", 0)
    assert found.owner("t", 2) is None
    assert [2, 1, 1, 1, 1] == found.counts().tolist()
    assert (1, 2, {"t": 1}) == (found.balance().min, found.balance().max, found.balance().spread)
    assert ("simple", "share") == (found.assignor, found.group_protocol)


def test_other_protocols_have_at_most_one_owner() -> None:
    by_range = plan({"t": 2}, FIVE)

    assert ("a",) == by_range.owners("t", 0)
    assert () == by_range.owners("t", 2)


@pytest.mark.parametrize(("topic", "partition"), [(1, 0), ("t", "0"), ("t", None)])
def test_owners_rejects_other_types(topic: Any, partition: Any, found: Plan) -> None:
    with pytest.raises(errors.WrongTypeError):
        found.owners(topic, partition)


def test_a_plan_with_several_owners_and_kept_topics_survives_json_and_pickle(engine: Engine) -> None:
    members = {"a": had("t", owned="v0 v9"), "b": had("t", "u"), "c": had("t", owned="v0 t0")}
    before = plan({"t": 2, "u": 1}, members, group_protocol="share", engine=engine)

    for after in (Plan.from_json(before.to_json()), pickle.loads(pickle.dumps(before))):
        assert before == after
        assert before.topics == after.topics == ("t", "u", "v")
        assert ("a", "c") == after.owners("v", 0)
        assert ("simple", "share") == (after.assignor, after.group_protocol)


def test_the_json_of_a_classic_plan_cannot_have_two_owners() -> None:
    text = (
        plan({"t": 2}, FIVE, group_protocol="share")
        .to_json()
        .replace('"share"', '"consumer"')
        .replace("simple", "range")
    )

    with pytest.raises(errors.IllegalArgumentError, match="already has an owner"):
        Plan.from_json(text)


def test_a_partition_moves_if_the_set_of_its_owners_changes() -> None:
    members = dict.fromkeys("abc", ("t",))
    before = plan({"t": 2}, members, group_protocol="share", topic_ids=ONE)
    joined = {member: Subscription(("t",), owned_partitions=tuple(owned)) for member, owned in before.items()}
    after = plan({"t": 2, "u": 1}, {**joined, "d": ["t"]}, group_protocol="share", topic_ids=ONE)

    assert {"a": "t0 t1", "b": "t1", "c": "t0"} == {
        m: " ".join(f"t{p}" for _, p in owned) for m, owned in before.items()
    }
    found = before.diff(after)
    gained = {member: set(after[member]) - set(before.get(member, ())) for member in after}
    lost = {member: set(before[member]) - set(after[member]) for member in before}
    assert {member: sorted(each) for member, each in gained.items() if each} == found.added
    assert {member: sorted(each) for member, each in lost.items() if each} == found.revoked
    assert sum(set(before.owners("t", id)) != set(after.owners("t", id)) for id in range(2)) == found.moved
    assert (0, {}, {}) == (before.diff(before).moved, before.diff(before).added, before.diff(before).revoked)


def test_plans_are_equal_if_members_have_the_same_partitions(found: Plan) -> None:
    assert found == plan({"t": 2}, FIVE, group_protocol="share", topic_ids=ONE)
    assert found == dict(found)
    assert found != plan({"t": 2}, FIVE)


def test_spans_and_bytes_have_each_owner(found: Plan) -> None:
    spans = found.spans()
    assert [0, 1, 2, 3, 4] == spans.member.tolist()
    assert [2, 1, 1, 1, 1] == spans.count.tolist()
    assert 5 == found.to_arrow().num_rows
    assert 5 == len(found.encode())
    with pytest.raises(errors.IllegalStateError, match="only a group of group_protocol 'classic'"):
        found.group_metadata_size("g")


def test_groups_columns_and_topics_have_the_same_answer() -> None:
    members = {"a": had("t", owned="v0"), "b": had("t", "u"), "c": had("t")}
    topics: dict[str, Any] = {"t": 2, "u": [0, 2], "v": 2}
    expected = assign(topics, members, group_protocol="share")

    assert expected == Group(topics, members).assign(group_protocol="share")
    assert expected == Group(topics, members).plan(group_protocol="share")
    assert expected == assign(Topics(topics), members, group_protocol="share")
    assert expected == SimpleAssignor().assign(topics, members)
    assert expected == SimpleAssignor(engine="reference").assign(topics, members)
    columns = MemberColumns(
        list(members),
        [0, 1, 0],
        [["t"], ["t", "u"]],
        owned_partitions=[each.owned_partitions for each in members.values()],
    )
    assert expected == assign(topics, columns, group_protocol="share")
    counted = {"t": 2, "u": 3}
    assert assign(counted, members, group_protocol="share") == assign(
        TopicColumns(list(counted), list(counted.values())), columns, group_protocol="share"
    )


def test_shared_partition_objects_include_kept_partitions_that_do_not_exist() -> None:
    members = {"a": had("t", owned="v1 v7 v8"), "b": had("u")}
    topics = Topics({"t": 1, "u": 1, "v": 2})

    answer = assign(topics, members, group_protocol="share")

    assert [("t", 0), ("v", 1), ("v", 7), ("v", 8)] == answer["a"]
    assert answer == plan(topics, members, group_protocol="share")


# ---- check


def test_several_owners_are_no_finding(found: Plan, engine: Engine) -> None:
    assert not check(found, {"t": 2}, FIVE, group_protocol="share", engine=engine)
    assert not check(dict(found), {"t": 2}, FIVE, group_protocol="share", engine=engine)
    doubly = check(dict(found), {"t": 2}, FIVE, engine=engine).doubly_owned
    assert (TopicPartition("t", 0), TopicPartition("t", 1)) == doubly


def test_a_partition_twice_in_the_list_of_a_member_is_a_finding(engine: Engine) -> None:
    twice = {"a": [("t", 1), ("t", 0), ("t", 1)], "b": [("t", 1), ("t", 1), ("t", 0)]}

    found = check(twice, {"t": 2}, {"a": ["t"], "b": ["t"]}, group_protocol="share", engine=engine)

    assert (TopicPartition("t", 1),) == found.doubly_owned


def test_check_rejects_an_unknown_protocol(engine: Engine) -> None:
    with pytest.raises(
        errors.IllegalArgumentError, match="group_protocol must be one of 'classic', 'consumer', 'share'"
    ):
        check({}, {}, {}, group_protocol="streams", engine=engine)  # type: ignore[arg-type]  # deliberately unknown


def test_kept_partitions_are_findings(engine: Engine) -> None:
    members = {"a": had("t", owned="v0 x7"), "b": had("u")}
    topics = {"t": 1, "u": 1, "v": 1}

    for kept in (assign(topics, members, group_protocol="share"), plan(topics, members, group_protocol="share")):
        found = check(kept, topics, members, group_protocol="share", engine=engine)
        assert (("a", TopicPartition("v", 0)), ("a", TopicPartition("x", 7))) == found.not_subscribed
        assert (("a", TopicPartition("x", 7)),) == found.unknown
        assert () == found.doubly_owned == found.unowned
