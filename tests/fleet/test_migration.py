"""Verdicts on the move of classic groups to KIP-848, with their counterexamples; `tests/broker/` asks real brokers."""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import Any

import pytest

from assignor import TopicPartition, assign, plan
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.migration import BrokerSettings, ClassicGroup, ClassicMember, Migration, classic_member, migrate
from assignor.model import Subscription
from assignor.wire import encode_subscription

TOPICS: list[dict[str, Any]] = [{"topic": "orders", "partitions": 7}, {"topic": "payments", "partitions": 4}]


def java(name: str, *spans: tuple[str, int, int], **fields: Any) -> ClassicMember:
    """Return a member with the Java client."""
    given = {"library": "java", "library_version": "3.4+", **fields}
    return ClassicMember(name, ("orders", "payments"), spans, **given)


def group(*members: ClassicMember, **fields: Any) -> ClassicGroup:
    """Return a group of consumers with range."""
    return ClassicGroup("g", members, **{"assignor": "range", "protocol_type": "consumer", **fields})


def judge(given: ClassicGroup, *, later: bool = False, **settings: Any) -> Migration:
    """Return the answer for a group with some settings of the brokers."""
    (found,) = migrate([given], TOPICS, settings=BrokerSettings(**settings), later=later)
    return found


MEMBERS = (java("a", ("orders", 0, 4), ("payments", 0, 2)), java("b", ("orders", 4, 3), ("payments", 2, 2)))


def test_a_group_of_java_members_moves_online() -> None:
    found = judge(group(*MEMBERS))

    assert found.verdict == "online"
    assert found.blockers == ()
    assert found.path == (
        "check that java is 4.0 or newer; restart the members one after another with group.protocol=consumer"
    )
    assert [(each.library, each.support, each.members) for each in found.clients] == [("java", "in newer versions", 2)]


@pytest.mark.parametrize(
    ("fields", "settings", "verdict", "kind"),
    [
        ({}, {"policy": "disabled"}, "offline only", "migration_policy"),
        ({}, {"policy": "Downgrade"}, "offline only", "migration_policy"),
        ({}, {"policy": "UPGRADE"}, "online", None),
        ({}, {"max_size": 1}, "not yet", "max_size"),
        ({}, {"max_size": 2}, "online", None),
        ({}, {"has_protocol": False}, "not yet", "rebalance_protocols"),
        ({}, {"version": "3.9.1"}, "not yet", "broker_version"),
        ({}, {"version": "4.0"}, "online", None),
        ({"protocol_type": "connect", "assignor": "sessioned"}, {}, "not yet", "connect"),
        ({"protocol_type": "own"}, {}, "not yet", "protocol_type"),
        ({"protocol_type": None}, {}, "online", None),
        ({"assignor": "stream"}, {}, "offline only", "streams"),
        ({"assignor": "mine"}, {}, "online", None),
        ({"assignor": None}, {}, "online", None),
    ],
)
def test_settings_and_kinds_of_groups_decide(
    fields: dict[str, Any], settings: dict[str, Any], verdict: str, kind: str | None
) -> None:
    found = judge(group(*MEMBERS, **fields), **settings)

    assert found.verdict == verdict
    assert [each.kind for each in found.blockers] == ([] if kind is None else [kind])
    assert (found.path is None) == (verdict == "not yet")


@pytest.mark.parametrize(
    ("fields", "verdict", "kind"),
    [
        ({"conversion_problem": "user_data"}, "offline only", "user_data"),
        ({"conversion_problem": "subscription"}, "offline only", "subscription"),
        ({"conversion_problem": "assignment"}, "offline only", "assignment"),
        ({"library": "kafka-python", "library_version": "3.0.12"}, "not yet", "client"),
        ({"library": "aiokafka", "library_version": None}, "not yet", "client"),
        ({"library": "librdkafka", "library_version": "2.11.1"}, "online", None),
        ({"library": "java", "library_version": "2.4-3.3"}, "online", None),
        ({"library": "franz-go", "library_version": None}, "online", None),
        ({"library": None, "library_version": None}, "online", None),
        ({"library": None, "library_version": "writes subscription version 0"}, "not yet", "client"),
    ],
)
def test_one_member_can_block(fields: dict[str, Any], verdict: str, kind: str | None) -> None:
    found = judge(group(MEMBERS[0], dataclasses.replace(MEMBERS[1], **fields)))

    assert found.verdict == verdict
    assert found.blocking == (() if kind is None else ("b",))
    assert [each.kind for each in found.blockers] == ([] if kind is None else [kind])


def test_the_strongest_blocker_gives_the_verdict_and_the_reason() -> None:
    members = (java("a", conversion_problem="user_data"), java("b", library="kafka-python"))
    found = judge(group(*members), policy="disabled")

    assert [(each.kind, each.verdict) for each in found.blockers] == [
        ("client", "not yet"),
        ("migration_policy", "offline only"),
        ("user_data", "offline only"),
    ]
    assert found.verdict == "not yet"
    assert found.reason == "kafka-python has no new protocol"


def test_an_empty_group_has_nothing_that_the_policy_could_refuse() -> None:
    found = judge(ClassicGroup("g", protocol_type="consumer"), policy="disabled")

    assert (found.verdict, found.members, found.path) == (
        "online",
        0,
        "start the members with group.protocol=consumer",
    )


def test_the_numbers_are_those_of_the_broker_s_assignor_on_the_current_owners() -> None:
    members = (java("a", ("orders", 0, 7), ("payments", 0, 2)), java("b", ("payments", 2, 2)))
    found = judge(group(*members), later=True)
    owned = {each.member_id: Subscription(each.topics, owned_partitions=_places(each)) for each in members}
    assigned = assign(
        {row["topic"]: row["partitions"] for row in TOPICS}, owned, assignor="uniform", group_protocol="consumer"
    )

    assert found.before is not None
    assert found.after is not None
    assert (found.before.least_loaded, found.before.most_loaded) == (2, 9)
    assert sorted(map(len, assigned.values())) == [found.after.least_loaded, found.after.most_loaded]
    assert found.moved == sum(
        place not in assigned[member] for member, each in owned.items() for place in each.owned_partitions
    )
    assert found.later is not None
    assert found.later.leave == 5


def test_weights_are_carried_before_and_after_the_switch() -> None:
    members = (java("a", ("orders", 0, 7), ("payments", 0, 2)), java("b", ("payments", 2, 2)))
    weights = {"orders": [9.0, 1, 1, 1, 1, 1, 1], "payments": [2.0, 2, 2, 2]}
    found = judge(group(*members, weights=weights))
    owned = {each.member_id: Subscription(each.topics, owned_partitions=_places(each)) for each in members}
    after = plan(
        {row["topic"]: row["partitions"] for row in TOPICS}, owned, assignor="uniform", group_protocol="consumer"
    ).balance(weights=weights)

    assert found.before is not None
    assert (found.before.least_weight, found.before.most_weight, found.before.mean_weight) == (4, 19, 11.5)
    assert found.after is not None
    assert (found.after.least_weight, found.after.most_weight) == (after.least_weight, after.most_weight)
    assert (found.after.weight_bound, found.after.packed_weight) == (after.weight_bound, after.packed_weight)


def test_a_weight_that_is_not_known_leaves_the_weighted_load_unknown() -> None:
    found = judge(group(*MEMBERS, weights={("orders", 0): 5.0}))

    assert found.before is not None
    assert (found.before.unweighted, found.before.most_weight) == (10, None)
    plain = judge(group(*MEMBERS)).before
    assert plain is not None
    assert (plain.unweighted, plain.most_weight) == (None, None)


def test_each_group_has_weights_of_its_own() -> None:
    groups = [
        dataclasses.replace(group(*MEMBERS, weights=weights), group_id=name)
        for name, weights in (("one", {"orders": [1.0] * 7, "payments": [0.0] * 4}), ("none", None))
    ]
    topics = [{**row, "weights": [2.0] * row["partitions"]} for row in TOPICS]
    one, none = (each.before for each in migrate(groups, topics, later=False))

    assert one is not None
    assert none is not None
    assert (one.most_weight, none.most_weight) == (4, 12)


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (
            {"orders": [-1.0]},
            IllegalArgumentError,
            "group 'g': weights['orders']: a weight must be a finite number >= 0",
        ),
        (
            {"none": [1.0]},
            IllegalArgumentError,
            "group 'g': weights has a weight for ('none', 0), but the group has no",
        ),
        (5, WrongTypeError, "group 'g': weights must be a mapping of topics or partitions"),
    ],
)
def test_invalid_weights_are_named_with_their_group(weights: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        judge(group(*MEMBERS, weights=weights))


def _places(member: ClassicMember) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(topic, start + place) for topic, start, count in member.spans for place in range(count))


def test_members_without_partitions_are_named() -> None:
    members = [java(f"m{number:02}", ("payments", number, 1)) for number in range(4)]
    found = judge(group(*members, *(java(f"n{number:02}") for number in range(8))))

    assert found.before is not None
    assert found.after is not None
    assert len(found.before.idle) == 8
    assert len(found.after.idle) == 1


def test_numbers_that_are_not_known_have_a_reason() -> None:
    unknown = judge(group(java("a", ("other", 0, 2))))
    unowned = judge(group(*MEMBERS, has_owners=False))

    assert (unknown.moved, unknown.after) == (None, None)
    assert unknown.problem == "the topic metadata has no topic 'other', so the assignment after the switch is not known"
    assert unowned.moved is None
    assert unowned.after is not None


def test_a_group_that_cannot_be_judged_has_no_verdict() -> None:
    (found,) = migrate([ClassicGroup("g", problem="it is in state PreparingRebalance")], TOPICS)

    assert (found.verdict, found.reason) == (None, "it is in state PreparingRebalance")
    assert found.to_json()["members"] is None


def test_lost_racks_and_co_partitioning_are_noted() -> None:
    topics = [
        {"topic": name, "partitions": 4, "racks": [["r1"], ["r1"], ["r2"], ["r2"]]} for name in ("orders", "payments")
    ]
    members = (
        java("a", ("orders", 0, 2), ("payments", 0, 2), rack="r2"),
        java("b", ("orders", 2, 2), ("payments", 2, 2), rack="r1"),
        java("c", rack="r1"),
    )
    (found,) = migrate([group(*members)], topics, later=False)

    assert found.nearest == "range"
    assert any("different owners" in note for note in found.notes)


def test_a_pattern_that_the_broker_rejects_blocks() -> None:
    member = ClassicMember("a", (), (), library="librdkafka", pattern=("^(a)\\1",), dialect="librdkafka")
    found = judge(ClassicGroup("g", (member,), "range", "consumer"))

    assert (found.verdict, found.blocking) == ("not yet", ("a",))
    assert "INVALID_REGULAR_EXPRESSION" in found.reason


def test_static_members_keep_their_partitions_unless_the_group_is_full() -> None:
    members = [dataclasses.replace(member, group_instance_id=member.member_id) for member in MEMBERS]
    full, new = (judge(group(*members), max_size=2, version=version) for version in ("4.3", "4.4"))

    assert any("brokers before Kafka 4.4 reject its successor" in note for note in full.notes)
    assert not any("reject" in note for note in new.notes)
    assert judge(group(*members), later=True).rolling == 0


def test_the_form_of_a_subscription_shows_the_library() -> None:
    plain = Subscription(("orders",))
    java_bytes = encode_subscription(plain, 3)
    librdkafka = java_bytes.replace(b"\xff\xff\xff\xff", b"\0\0\0\0", 1)[:-2] + b"\0\0"

    def library(data: bytes, client_id: str = "mine") -> tuple[str | None, str | None]:
        found = classic_member("g", "range", client_id, data, b"")
        return found["library"], found["library_version"]

    assert library(java_bytes) == ("java", "3.4+")
    assert library(encode_subscription(plain, 1)) == ("java", "2.4-3.3")
    assert library(librdkafka) == ("librdkafka", None)
    assert library(encode_subscription(plain, 0)) == (None, "writes subscription version 0")
    assert library(java_bytes, "kafka-python-2.0.2") == ("kafka-python", "2.0.2")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"policy": "some"}, IllegalArgumentError, "group.consumer.migration.policy must be one of"),
        ({"max_size": 0}, IllegalArgumentError, "group.consumer.max.size must be from 1"),
        ({"version": "four"}, IllegalArgumentError, "version must be like 4.3, not 'four'"),
        ({"assignor": "sticky"}, IllegalArgumentError, "assignor must be 'uniform' or 'range'"),
        ({"has_protocol": 1}, WrongTypeError, "has_protocol must be a bool"),
    ],
)
def test_invalid_settings_are_named(given: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        BrokerSettings(**given)


def test_a_member_that_is_given_twice_is_named() -> None:
    with pytest.raises(IllegalArgumentError, match="group 'g': member 'a' is given twice"):
        judge(group(java("a"), java("a")))
    with pytest.raises(IllegalArgumentError, match="conversion_problem must be null or one of"):
        judge(group(java("a", conversion_problem="own")))


def test_the_order_of_members_does_not_matter() -> None:
    topics = [{"topic": f"t{id}-x", "partitions": 3, "weights": [5.0, 1.0 + id, 0.25]} for id in range(4)]
    patterns = ("^t1", "^t[0-2]", "t3", r"^(t)\1?0$")
    members = [
        java(f"m{place}", pattern=(text,), dialect=dialect)
        for place, (text, dialect) in enumerate(itertools.product(patterns, ("librdkafka", "java")))
    ]
    members = [dataclasses.replace(member, topics=("t2",) * (place % 2)) for place, member in enumerate(members)]
    (expected,) = migrate([group(*members)], topics)

    assert len(expected.pattern_changes) > 2
    for shuffled in (members[::-1], members[3:] + members[:3]):
        assert migrate([group(*shuffled)], topics) == (expected,)
