"""Kafka's assignor interface in Python, the assignors behind it, and the order of `MemberInfo`."""

from __future__ import annotations

import uuid

import pytest

from assignor import (
    CooperativeStickyAssignor,
    MemberInfo,
    PartitionAssignor,
    PartitionInfo,
    RangeAssignor,
    RebalanceProtocol,
    RoundRobinAssignor,
    StickyAssignor,
    Subscription,
    TopicPartition,
    Topics,
    assign,
    errors,
    server,
    wire,
)
from assignor.names import AssignorName
from tests.support.engines import Engine


def ids(members: list[MemberInfo]) -> list[str]:
    """Return the member ids in Kafka's order."""
    return [member.member_id for member in sorted(members)]


CLIENT = {
    "range": RangeAssignor,
    "roundrobin": RoundRobinAssignor,
    "sticky": StickyAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}
SERVER = {"uniform": server.UniformAssignor, "range": server.RangeAssignor}

EAGER, COOPERATIVE = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE


@pytest.mark.parametrize("name", CLIENT)
def test_the_client_assignors_satisfy_the_protocol(name: AssignorName, engine: Engine) -> None:
    assignor: PartitionAssignor = CLIENT[name](engine=engine)

    assert isinstance(assignor, PartitionAssignor)
    assert (name, 0) == (assignor.name, assignor.version)
    protocols = [COOPERATIVE, EAGER] if name == "cooperative-sticky" else [EAGER]
    assert protocols == assignor.supported_protocols()


@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_range_and_round_robin_have_no_user_data_and_no_state(name: AssignorName, engine: Engine) -> None:
    assignor = CLIENT[name](engine=engine)
    before = dict(vars(assignor))

    assert assignor.subscription_user_data({"t"}) is None
    assert assignor.on_assignment([TopicPartition("t", 0)], 7) is None  # type: ignore[func-returns-value]  # the None is tested
    assert before == vars(assignor)


OWNING: dict[str, Subscription] = {
    "a": Subscription(("t", "u"), owned_partitions=(TopicPartition("t", 3), TopicPartition("u", 0)), generation=2),
    "b": Subscription(("u", "t"), group_instance_id="i"),
    "c": Subscription(("t",)),
}


@pytest.mark.parametrize("name", CLIENT)
def test_the_client_assignors_give_the_same_answers_as_the_function(name: AssignorName, engine: Engine) -> None:
    topics = {"t": 4, "u": 3}

    answer = CLIENT[name](engine=engine).assign(topics, OWNING)

    assert assign(topics, OWNING, assignor=name, engine=engine) == answer


@pytest.mark.parametrize("name", CLIENT)
def test_encoded_and_decoded_subscriptions_give_the_same_answer(name: AssignorName, engine: Engine) -> None:
    topics = Topics({"t": 4, "u": 3})
    members = {"a": OWNING["a"], "b": OWNING["b"]}
    joined = [
        (member, subscription.group_instance_id, wire.encode_subscription(subscription))
        for member, subscription in members.items()
    ]
    expected = assign(topics, members | {"a": Subscription(("t", "u"))} if name == "sticky" else members, assignor=name)

    found = CLIENT[name](engine=engine).assign_encoded(topics, joined, version=3)

    assert found is not None
    assert expected == {member: sorted(wire.decode_assignment(data).partitions) for member, data in found.items()}, (
        "sticky reads user data only, which is missing here"
    )


@pytest.mark.parametrize("name", CLIENT)
def test_a_subclass_that_overrides_assign_does_not_accept_encoded_subscriptions(name: str) -> None:
    own = type("Own", (CLIENT[name],), {"assign": lambda *_: {}})

    assert own().assign_encoded(Topics({}), [], version=3) is None


@pytest.mark.parametrize("name", SERVER)
def test_the_server_assignors_give_the_same_answers_as_the_function(name: AssignorName, engine: Engine) -> None:
    topics = {"t": 4, "u": 3}
    ids = {"t": uuid.UUID(int=2**70), "u": uuid.UUID(int=3)}

    answer = SERVER[name](engine=engine).assign(topics, OWNING, topic_ids=ids)

    assert name == SERVER[name].name
    assert answer == assign(topics, OWNING, assignor=name, group_protocol="consumer", topic_ids=ids, engine=engine)
    assert 7 == sum(map(len, answer.values()))


def test_the_servers_range_assignor_does_not_use_racks(engine: Engine) -> None:
    topics = {"t": [PartitionInfo(0, ("r1",)), PartitionInfo(1, ("r0",))]}
    members = {"a": Subscription(("t",), rack="r0"), "b": Subscription(("t",), rack="r1")}

    assert {"a": [("t", 0)], "b": [("t", 1)]} == server.RangeAssignor(engine=engine).assign(topics, members)
    assert {"a": [("t", 1)], "b": [("t", 0)]} == RangeAssignor(engine=engine).assign(topics, members)


@pytest.mark.parametrize("assignor", [*CLIENT.values(), *SERVER.values()])
def test_an_unknown_engine_is_rejected(assignor: type[RangeAssignor]) -> None:
    with pytest.raises(errors.IllegalArgumentError, match="engine must be 'rust' or 'reference', not 'java'"):
        assignor(engine="java")  # type: ignore[arg-type]  # deliberately wrong type


def test_an_object_that_lacks_a_method_is_not_a_partition_assignor() -> None:
    assert not isinstance(object(), PartitionAssignor)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([MemberInfo("c"), MemberInfo("a"), MemberInfo("b")], ["a", "b", "c"]),
        ([MemberInfo("a", "y"), MemberInfo("b", "z"), MemberInfo("c", "x")], ["c", "a", "b"]),
        ([MemberInfo("a"), MemberInfo("b", "y"), MemberInfo("c", "x")], ["c", "b", "a"]),
        ([MemberInfo("～"), MemberInfo("😀")], ["😀", "～"]),
        ([MemberInfo("a", "～"), MemberInfo("b", "😀")], ["b", "a"]),
    ],
)
def test_members_sort_statics_first_by_id_in_the_order_of_java(members: list[MemberInfo], expected: list[str]) -> None:
    assert expected == ids(members)


def test_members_with_equal_instance_ids_compare_equal() -> None:
    left, right = MemberInfo("z", "i"), MemberInfo("a", "i")

    assert ["z", "a"] == ids([left, right])
    assert ["a", "z"] == ids([right, left])
    assert left <= right
    assert left >= right
    assert not left < right
    assert not left > right


def test_members_with_equal_member_ids_are_equal() -> None:
    assert MemberInfo("a", "i", "r") == MemberInfo("a")
    assert MemberInfo("a", "i") != MemberInfo("b", "i")
    assert MemberInfo("a") != "a"
    assert 1 == len({MemberInfo("a", "i", "r"), MemberInfo("a")})


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None,), errors.NullArgumentError, "MemberInfo: member_id must be a str, not None"),
        (("a", 7), errors.WrongTypeError, "MemberInfo: group_instance_id must be a str, not int: 7"),
        (("a", None, b"r"), errors.WrongTypeError, "MemberInfo: rack must be a str, not bytes: b'r'"),
        (("\udfff",), errors.IllegalArgumentError, "MemberInfo: member_id has a lone surrogate"),
    ],
)
def test_invalid_names_are_rejected(arguments: tuple[str, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        MemberInfo(*arguments)


def test_rebalance_protocols_have_wire_ids() -> None:
    assert RebalanceProtocol.EAGER is RebalanceProtocol.for_id(0)
    assert RebalanceProtocol.COOPERATIVE is RebalanceProtocol.for_id(1)
    assert [0, 1] == [int(protocol) for protocol in RebalanceProtocol]


@pytest.mark.parametrize("unknown", [2, -1, 127])
def test_an_unknown_wire_id_is_rejected(unknown: int) -> None:
    with pytest.raises(errors.IllegalArgumentError, match=f"no rebalance protocol has the id {unknown}; 0 is EAGER"):
        RebalanceProtocol.for_id(unknown)
