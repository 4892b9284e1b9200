"""Tests of what members with our assignors write and remember, in the clients' own coordinators without a server."""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as AiokafkaSticky
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from kafka.coordinator import consumer as kafka_coordinator
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as KafkaPythonSticky
from kafka.errors import KafkaConfigurationError
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from assignor import PartitionInfo, StickyAssignor, Subscription, TopicPartition, assign
from assignor.clients import aiokafka, kafka_python
from assignor.errors import IllegalArgumentError, WireError, WrongTypeError
from assignor.wire import decode_assignment, decode_subscription, encode_assignment, encode_subscription
from tests.clients import aiokafka_group, kafka_python_group
from tests.clients.kafka_python_group import LEADER, Leader, coordinator

if TYPE_CHECKING:
    from collections.abc import Iterator

KAFKA_GO = b"\0\1" + encode_subscription(Subscription(("t",)), 0)[2:]
"""Subscription with a header of version 1 and a body of version 0."""

OTHER = ("other-2", (None, encode_subscription(Subscription(("t",)))))


@pytest.fixture
def strict_decoder() -> Iterator[None]:
    """Restore kafka-python's decoder, which `tolerant=True` replaces."""
    yield
    kafka_coordinator.ConsumerProtocolSubscription = ConsumerProtocolSubscription


def given_by(leader: Any) -> dict[str, list[int]]:
    return {member: sorted(id for _, id in decode_assignment(data).partitions) for member, data in leader.sent.items()}


@pytest.mark.parametrize("assignor", [kafka_python.RangeAssignor, kafka_python.RangeAssignor(client_rack="r1")])
def test_kafka_python_leads_a_group_through_its_own_coordinator(assignor: Any) -> None:
    leader = Leader({"t": 5}, assignor, "t")
    owned = leader.rebalance(dict([OTHER]))

    assert {LEADER: [0, 1, 2], "other-2": [3, 4]} == given_by(leader)
    assert {("t", 0), ("t", 1), ("t", 2)} == owned
    rack = None if isinstance(assignor, type) else "r1"
    assert encode_subscription(Subscription(("t",), rack=rack, generation=-1)) == leader.subscription


def test_aiokafka_leads_a_group_through_its_own_coordinator() -> None:
    for assignor in (aiokafka.RangeAssignor, aiokafka.RangeAssignor(client_rack="r1")):
        sent = asyncio.run(aiokafka_group.lead(assignor, {"t": 5}, {"m1": ("t",), "m2": ("t",)}))

        assert {"m1": [0, 1, 2], "m2": [3, 4]} == {
            member: [id for _, id in decode_assignment(data).partitions] for member, data in sent.items()
        }


def test_racks_of_members_and_brokers_are_used_by_kafka_python() -> None:
    topics = {"t": [PartitionInfo(0, ("r2",)), PartitionInfo(1, ("r1",))]}
    others = {"other-2": (None, encode_subscription(Subscription(("t",), rack="r2")))}

    leader = Leader(topics, kafka_python.RangeAssignor(client_rack="r1"), "t")
    leader.rebalance(others)

    assert {LEADER: [1], "other-2": [0]} == given_by(leader)


@pytest.mark.parametrize("assignor", [kafka_python.RangeAssignor, kafka_python.RoundRobinAssignor])
def test_later_subscriptions_have_the_last_generation_and_no_owned_partitions(assignor: Any) -> None:
    leader = Leader({"b": 1, "a": 1}, assignor(client_rack=""), "b", "a")
    leader.rebalance()
    leader.rebalance()

    assert encode_subscription(Subscription(("a", "b"), generation=1)) == leader.subscription


def test_sticky_member_claims_its_partitions_as_kafkas_class_does() -> None:
    leader = Leader({"t": 4}, kafka_python.StickyAssignor(), "t")
    leader.rebalance()
    leader.rebalance(dict([OTHER]))

    rules = StickyAssignor()
    rules.on_assignment([TopicPartition("t", id) for id in range(4)], 1)
    claims = rules.subscription_user_data(["t"])
    assert encode_subscription(Subscription(("t",), user_data=claims, generation=1)) == leader.subscription
    assert {LEADER: [0, 1], "other-2": [2, 3]} == given_by(leader)


def test_sticky_leader_keeps_what_members_claim() -> None:
    rules = StickyAssignor()
    rules.on_assignment([TopicPartition("t", 0), TopicPartition("t", 2)], 7)
    claims = Subscription(("t",), user_data=rules.subscription_user_data(["t"]))
    members = {"a": Subscription(("t",)), "b": claims}

    for client, module in ((kafka_python_group, kafka_python), (aiokafka_group, aiokafka)):
        found = client.answer(module.StickyAssignor(), {"t": 4}, members)
        assert {"a": {("t", 1), ("t", 3)}, "b": {("t", 0), ("t", 2)}} == found


def test_kafka_python_and_kafka_do_not_read_each_others_sticky_user_data() -> None:
    own = KafkaPythonSticky()
    own.on_assignment(ConsumerProtocolAssignment(0, [("t", [0, 2])], b""), 7)
    written = own.metadata({"t"}).encode()
    ours = kafka_python.StickyAssignor()
    ours.on_assignment(ConsumerProtocolAssignment(0, [("t", [0, 2])], b""), 7)

    user_data = decode_subscription(written).user_data
    assert user_data is not None
    assert decode_subscription(ours.metadata({"t"}).encode()).user_data == user_data[2:]
    members = {"a": Subscription(("t",)), "b": written}
    found = kafka_python_group.answer(kafka_python.StickyAssignor(), {"t": 4}, members)
    assert {"a": {("t", 0), ("t", 2)}, "b": {("t", 1), ("t", 3)}} == found


def test_cooperative_rebalance_moves_partitions_in_two_steps() -> None:
    leader = Leader({"t": 4}, kafka_python.CooperativeStickyAssignor(), "t")
    assert {("t", 0), ("t", 1), ("t", 2), ("t", 3)} == leader.rebalance()
    assert {("t", 0), ("t", 1)} == leader.rebalance(dict([OTHER]))
    assert {LEADER: [0, 1], "other-2": []} == given_by(leader)
    owned = tuple(TopicPartition("t", id) for id in range(4))
    expected = Subscription(("t",), owned_partitions=owned, generation=1, user_data=struct.pack(">i", 1))
    assert encode_subscription(expected) == leader.subscription
    leader.rebalance(dict([OTHER]))
    assert {LEADER: [0, 1], "other-2": [2, 3]} == given_by(leader)


def test_cooperative_member_reports_no_partitions_of_topics_it_left() -> None:
    assignor = kafka_python.CooperativeStickyAssignor()
    assignor.on_assignment(ConsumerProtocolAssignment(0, [("t", [1, 0]), ("left", [0])], None), 5)

    found = decode_subscription(assignor.metadata({"t"}).encode())

    assert ((("t", 0), ("t", 1)), 5) == (found.owned_partitions, found.generation)


def test_old_claims_win_only_over_claims_without_generation() -> None:
    evicted = kafka_python.CooperativeStickyAssignor()
    evicted.on_assignment(ConsumerProtocolAssignment(0, [("t", [0, 1])], None), 5)
    owner = Subscription(("t",), owned_partitions=tuple(TopicPartition("t", id) for id in range(4)), generation=7)
    claims = evicted.metadata({"t"}).encode()

    def assigned(version: int) -> dict[str, set[tuple[str, int]]]:
        members = {"evicted": claims, "owner": encode_subscription(owner, version)}
        return kafka_python_group.answer(kafka_python.CooperativeStickyAssignor(), {"t": 4}, members)

    assert {"evicted": set(), "owner": {("t", 0), ("t", 1)}} == assigned(version=2)
    assert {"evicted": {("t", 0), ("t", 1)}, "owner": {("t", 2), ("t", 3)}} == assigned(version=1)


def consumer_protocol(*assignors: Any) -> RebalanceProtocol:
    return coordinator(*assignors)._rebalance_protocol


def test_eager_cooperative_sticky_can_be_configured_together_with_range() -> None:
    eager = kafka_python.CooperativeStickyAssignor(eager=True)
    eager.on_assignment(ConsumerProtocolAssignment(0, [("t", [1])], None), 5)

    assert RebalanceProtocol.EAGER == consumer_protocol(eager, kafka_python.RangeAssignor())
    assert RebalanceProtocol.COOPERATIVE == consumer_protocol(kafka_python.CooperativeStickyAssignor)
    assert () == decode_subscription(eager.metadata({"t"}).encode()).owned_partitions
    with pytest.raises(KafkaConfigurationError, match="common RebalanceProtocol"):
        consumer_protocol(kafka_python.CooperativeStickyAssignor(), kafka_python.RangeAssignor())


def test_strict_leader_of_kafka_python_rejects_a_header_newer_than_its_body() -> None:
    leader = Leader({"t": 2}, kafka_python.RangeAssignor(), "t")
    with pytest.raises(struct.error):
        leader.rebalance({"go": (None, KAFKA_GO)})


@pytest.mark.usefixtures("strict_decoder")
def test_tolerant_leader_of_kafka_python_reads_a_header_newer_than_its_body(
    caplog: pytest.LogCaptureFixture,
) -> None:
    leader = Leader({"t": 2}, kafka_python.RangeAssignor(tolerant=True), "t")
    leader.rebalance({"go": (None, KAFKA_GO)})

    assert {LEADER: [1], "go": [0]} == given_by(leader)
    with pytest.raises(WireError):
        leader.rebalance({"go": (None, b"\0\1\0")})
    message = (
        r"^the body has version 0, but the header has a newer version \(pass tolerant=True to read it\) "
        r"at offset 0 while reading member 'go': subscription$"
    )
    strict = Leader({"t": 2}, kafka_python.RangeAssignor(), "t")
    with pytest.raises(WireError, match=message):
        strict.rebalance({"go": (None, KAFKA_GO)})
    (logged,) = caplog.records
    assert ("assignor.clients", "ERROR") == (logged.name, logged.levelname)
    assert "member 'go'" in logged.message


def test_aiokafka_reads_a_header_newer_than_its_body() -> None:
    for tolerant in (False, True):
        assignor = aiokafka.RangeAssignor(tolerant=tolerant)
        assert {"go": {("t", 0)}, "m": {("t", 1)}} == aiokafka_group.answer(
            assignor, {"t": 2}, {"go": KAFKA_GO, "m": ("t",)}
        )


def test_aiokafka_member_writes_version_3_with_its_rack() -> None:
    found = aiokafka.RangeAssignor(client_rack="r1").metadata({"b", "a"})

    assert encode_subscription(Subscription(("a", "b"), rack="r1")) == found.encode()
    assert (3, ["a", "b"], None) == (found.version, found.subscription, found.user_data)


def test_aiokafka_leader_orders_static_members_by_member_id_and_without_racks() -> None:
    members = {"a": Subscription(("t",)), "b": Subscription(("t",), group_instance_id="i", rack="r1")}

    found = aiokafka_group.answer(aiokafka.RangeAssignor(), {"t": 1}, members)

    assert {"a": {("t", 0)}, "b": set()} == found
    assert [] == assign({"t": 1}, members)["a"]


def test_shadow_of_aiokafkas_sticky_has_state_of_its_own() -> None:
    one, other = aiokafka.StickyAssignor(shadow=True), aiokafka.StickyAssignor(shadow=True)
    one.on_assignment(ConsumerProtocolMemberAssignment.decode(encode_assignment([("t", 1)])))

    assert one.metadata(["t"]).user_data != other.metadata(["t"]).user_data
    assert AiokafkaSticky.member_assignment is None


def test_assignors_have_kafkas_names() -> None:
    names = ["range", "roundrobin", "sticky"]
    classes = ("RangeAssignor", "RoundRobinAssignor", "StickyAssignor")

    for module in (kafka_python, aiokafka):
        assert names == [getattr(module, name).name for name in classes]
        assert set(classes) < set(module.__all__)
        with pytest.raises(AttributeError, match="has no attribute 'Absent'"):
            _ = module.Absent
    assert "cooperative-sticky" == kafka_python.CooperativeStickyAssignor.name
    assert "CooperativeStickyAssignor" not in aiokafka.__all__


def test_the_repr_of_an_assignor_is_short() -> None:
    assert "RangeAssignor()" == repr(kafka_python.RangeAssignor())
    assert "StickyAssignor(client_rack='r1', shadow=True)" == repr(
        aiokafka.StickyAssignor(client_rack="r1", shadow=True)
    )
    eager = kafka_python.CooperativeStickyAssignor(eager=True)
    eager.on_assignment(ConsumerProtocolAssignment(0, [("t", list(range(1000)))], None), 5)
    assert "CooperativeStickyAssignor(eager=True)" == repr(eager)


@pytest.mark.parametrize("module", [kafka_python, aiokafka])
def test_a_rack_is_text(module: Any) -> None:
    with pytest.raises(WrongTypeError, match=r"^client_rack must be a str, not int: 1$"):
        module.RangeAssignor(client_rack=1)


@pytest.mark.parametrize("module", [kafka_python, aiokafka])
def test_a_rack_fits_in_a_subscription(module: Any) -> None:
    longest = module.RangeAssignor(client_rack="é" * 16_383 + "r").metadata({"t"})

    assert 32_767 == len(str(decode_subscription(longest.encode()).rack).encode())
    with pytest.raises(
        IllegalArgumentError, match=r"^client_rack has 32768 bytes of UTF-8; the limit is 32767: 'é{78}…$"
    ):
        module.RangeAssignor(client_rack="é" * 16_384)


@pytest.mark.parametrize("name", ["StickyAssignor", "CooperativeStickyAssignor"])
def test_each_consumer_of_kafka_python_has_its_own_state_in_a_shared_instance(name: str) -> None:
    shared = getattr(kafka_python, name)()
    first, second = Leader({"t": 3}, shared, "t"), Leader({"u": 2}, shared, "u")
    for leader in (first, second, first, second):
        leader.rebalance()

    expected = []
    for topic, count in (("t", 3), ("u", 2)):
        alone = Leader({topic: count}, getattr(kafka_python, name)(), topic)
        alone.rebalance()
        alone.rebalance()
        expected.append(alone.subscription)
    assert expected == [first.subscription, second.subscription]


def test_a_consumer_of_kafka_python_does_not_get_the_state_of_a_closed_one() -> None:
    shared = kafka_python.StickyAssignor()
    first = Leader({"t": 3}, shared, "t")
    first.rebalance()
    assert shared.metadata(["t"]).user_data is not None
    del first
    second = Leader({"t": 3}, shared, "t")
    assert {("t", 0), ("t", 1), ("t", 2)} == second.rebalance()
    assert decode_subscription(second.subscription).user_data is None


@pytest.mark.parametrize("shared", [aiokafka.StickyAssignor, aiokafka.StickyAssignor()])
def test_each_consumer_of_aiokafka_has_its_own_state_in_a_shared_class_or_instance(shared: Any) -> None:
    first, second = aiokafka_group.coordinator(shared), aiokafka_group.coordinator(shared)
    for id, consumer in enumerate((first, second)):
        asyncio.run(consumer._on_join_complete(1, "m", "sticky", encode_assignment([("t", id)])))

    def claim(id: int) -> bytes:
        return struct.pack(">ih1siii", 1, 1, b"t", 1, id, -1)

    joining = [
        decode_subscription(asyncio.run(aiokafka_group.join(consumer, "t"))).user_data for consumer in (first, second)
    ]
    assert [claim(0), claim(1)] == joining
