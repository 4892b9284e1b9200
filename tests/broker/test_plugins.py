"""Groups that our assignors lead in kafka-python and aiokafka, with members of other clients, on a real cluster.

All groups of a test run at the same time. Their generations are read from the records of the coordinator, and compared
with the answer of a Java leader for the members of the record.
"""

from __future__ import annotations

import gc
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from kafka.coordinator import consumer as coordinator
from kafka.coordinator.assignors.range import RangePartitionAssignor as KafkaPythonRange
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as KafkaPythonRoundRobin

from assignor import Subscription, TopicPartition
from assignor.clients import aiokafka, kafka_python
from assignor.wire import encode_subscription
from tests.broker.cluster import BrokerMissingError
from tests.broker.mixed_groups import RACKS, MixedGroups
from tests.broker.racks import RackedCluster
from tests.support.go_program import GoMissingError
from tests.support.kafka_program import OracleMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.broker.group_log import Generation

pytestmark = [
    pytest.mark.broker,
    # A Python client that is closed while it connects leaves the socket to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

TOPICS = ("orders", "payments", "single")

CLIENTS = {
    "range": ("kafka-python", "aiokafka", "confluent-kafka", "java"),
    "roundrobin": ("kafka-python", "aiokafka", "confluent-kafka", "java"),
    "sticky": ("kafka-python", "aiokafka", "java"),
    "cooperative-sticky": ("kafka-python", "confluent-kafka", "java"),
}
"""Clients that have each assignor."""

EXACT = ("kafka-python", "aiokafka", "java")
"""Clients whose leaders give the answers of Kafka's classes."""


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedGroups]:
    """Start a cluster with racks, and create the topics."""
    try:
        cluster = RackedCluster(tmp_path_factory.mktemp("racks"), RACKS)
    except BrokerMissingError as error:
        pytest.skip(str(error))
    with cluster, MixedGroups(cluster) as running:
        running.create_topics(orders=(1, 2, 3, 1, 2, 3, 1), payments=(2, 3, 1, 2), single=(3,))
        yield running
    gc.collect()


class Joining(NamedTuple):
    """A consumer that joins a group: what differs from consumer to consumer."""

    name: str
    client: str
    strategies: Sequence[Any]
    topics: Sequence[str] = TOPICS
    instance_id: str | None = None
    rack: str | None = None


def ours(client: str, assignor: str, rack: str | None = None) -> list[Any]:
    """Return our assignor for a Python client; for other clients the name of their own."""
    classes = {
        "range": "RangeAssignor",
        "roundrobin": "RoundRobinAssignor",
        "sticky": "StickyAssignor",
        "cooperative-sticky": "CooperativeStickyAssignor",
    }
    module = {"kafka-python": kafka_python, "aiokafka": aiokafka}.get(client)
    return [getattr(module, classes[assignor])(client_rack=rack)] if module else [assignor]


def lead(groups: MixedGroups, group: str, leader: Joining) -> None:
    """Start the first consumer of a group."""
    try:
        groups.join(group, **leader._asdict())
    except (OracleMissingError, GoMissingError) as error:
        pytest.skip(str(error))


def form(
    groups: MixedGroups, members: dict[str, list[Joining]], *, complete: bool = True, stay: bool = False
) -> dict[str, Generation]:
    """Form groups whose first member is the leader, and return the generation in which each has settled.

    Args:
        groups: The groups of all tests.
        members: The members of each group.
        complete: Wait until every partition has an owner.
        stay: Leave the consumers running, for `MixedGroups.disband`.
    """
    for group, (leader, *_) in members.items():
        lead(groups, group, leader)
    for group in members:
        groups.lead(group)
    for group, (_, *others) in members.items():
        for other in others:
            groups.join(group, **other._asdict())
    settled = {group: groups.settle(group, complete=complete) for group in members}
    for group, generation in settled.items():
        assert generation.led_by == f"{group}.{members[group][0].name}"
        assert [] == [error for member in members[group] for error in groups.errors(group, member.name)]
    if not stay:
        groups.disband(*members)
    return settled


def leader_first(leader: str, members: Sequence[Joining]) -> list[Joining]:
    """Return the members with the leader first."""
    return sorted(members, key=lambda member: member.name != leader)


def shares(generation: Generation) -> dict[str, list[tuple[str, int]]]:
    """Return the partitions of each consumer by its name in the group."""
    return {
        client.rpartition(".")[2]: sorted(map(tuple, partitions))  # type: ignore[arg-type]
        for client, partitions in sorted(generation.shares_by_client.items())
    }


@pytest.fixture(scope="module")
def mixtures(groups: MixedGroups) -> dict[str, Generation]:
    """Form a group of all clients for each assignor and each client as leader."""
    return form(
        groups,
        {
            f"{assignor}-by-{leader}": leader_first(
                leader, [Joining(client, client, ours(client, assignor)) for client in clients]
            )
            for assignor, clients in CLIENTS.items()
            for leader in clients
        },
    )


@pytest.mark.parametrize("assignor", CLIENTS)
def test_a_leader_gives_the_answer_of_kafkas_class(
    groups: MixedGroups, mixtures: dict[str, Generation], assignor: str
) -> None:
    for leader in CLIENTS[assignor]:
        generation = mixtures[f"{assignor}-by-{leader}"]
        assert assignor == generation.protocol
        if leader in EXACT or assignor in ("range", "roundrobin"):
            assert groups.java_shares(generation) == generation.shares_by_client, leader


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_a_leader_gives_each_member_the_partitions_that_a_java_leader_gives_it(
    mixtures: dict[str, Generation], assignor: str
) -> None:
    # Member ids begin with client ids, which have the same order in each group.
    expected = shares(mixtures[f"{assignor}-by-java"])

    for leader in CLIENTS[assignor]:
        assert expected == shares(mixtures[f"{assignor}-by-{leader}"]), leader


@pytest.mark.long  # compiling franz-go takes a minute
def test_leaders_and_members_of_franz_go_share_a_group_with_ours(groups: MixedGroups) -> None:
    clients = {"range": EXACT, "roundrobin": EXACT, "sticky": EXACT, "cooperative-sticky": ("kafka-python", "java")}
    found = form(
        groups,
        {
            f"franz-go-{assignor}-by-{leader}": leader_first(
                leader, [Joining(client, client, ours(client, assignor)) for client in (*others, "franz-go")]
            )
            for assignor, others in clients.items()
            for leader in ("franz-go", *others)
        },
    )

    for group, generation in found.items():
        if generation.protocol in ("range", "roundrobin") or "by-franz-go" not in group:
            assert groups.java_shares(generation) == generation.shares_by_client, group
    for assignor in ("range", "roundrobin"):
        by_java = shares(found[f"franz-go-{assignor}-by-java"])
        assert [by_java] * 3 == [
            shares(found[f"franz-go-{assignor}-by-{leader}"]) for leader in (*EXACT[:2], "franz-go")
        ]


@pytest.fixture(scope="module")
def static_groups(groups: MixedGroups) -> dict[str, Generation]:
    """Form a group of static and dynamic members for each leader; the leader is dynamic."""

    def members(leader: str) -> list[Joining]:
        return [
            Joining("a", leader, ours(leader, "range")),
            Joining("b", "confluent-kafka", ours("confluent-kafka", "range"), instance_id="z1"),
            Joining("c", "kafka-python", ours("kafka-python", "range")),
            Joining("d", "aiokafka", ours("aiokafka", "range"), instance_id="y2"),
            Joining("e", "java", ours("java", "range")),
            Joining("f", "kafka-python", ours("kafka-python", "range"), instance_id="x3"),
            Joining("g", "java", ours("java", "range"), instance_id="w4"),
        ]

    return form(groups, {f"static-by-{leader}": members(leader) for leader in CLIENTS["range"]})


def test_kafka_python_orders_static_members_as_java_does(
    groups: MixedGroups, static_groups: dict[str, Generation]
) -> None:
    by_java, by_kafka_python = static_groups["static-by-java"], static_groups["static-by-kafka-python"]

    assert groups.java_shares(by_java) == by_java.shares_by_client
    assert groups.java_shares(by_kafka_python) == by_kafka_python.shares_by_client
    assert shares(by_java) == shares(by_kafka_python)
    assert groups.java_shares(by_java, without=["instances"]) != by_java.shares_by_client


def test_aiokafka_orders_static_members_by_member_id(groups: MixedGroups, static_groups: dict[str, Generation]) -> None:
    by_aiokafka = static_groups["static-by-aiokafka"]

    assert groups.java_shares(by_aiokafka, without=["instances"]) == by_aiokafka.shares_by_client
    assert groups.java_shares(by_aiokafka) != by_aiokafka.shares_by_client


@pytest.fixture(scope="module")
def racked_groups(groups: MixedGroups) -> dict[str, Generation]:
    """Form a group of members with racks for each leader."""
    racks = {"kafka-python": "r2", "aiokafka": "r1", "confluent-kafka": "r0", "java": "r0"}
    return form(
        groups,
        {
            f"racks-by-{leader}": leader_first(
                leader,
                [Joining(client, client, ours(client, "range", rack), rack=rack) for client, rack in racks.items()],
            )
            for leader in CLIENTS["range"]
        },
    )


def test_kafka_python_prefers_racks_as_java_does(groups: MixedGroups, racked_groups: dict[str, Generation]) -> None:
    by_java, by_kafka_python = racked_groups["racks-by-java"], racked_groups["racks-by-kafka-python"]

    assert groups.java_shares(by_java) == by_java.shares_by_client
    assert groups.java_shares(by_kafka_python) == by_kafka_python.shares_by_client
    assert shares(by_java) == shares(by_kafka_python)
    assert groups.java_shares(by_java, without=["racks"]) != by_java.shares_by_client


def test_aiokafka_does_not_see_racks(groups: MixedGroups, racked_groups: dict[str, Generation]) -> None:
    by_aiokafka = racked_groups["racks-by-aiokafka"]

    assert groups.java_shares(by_aiokafka, without=["racks"]) == by_aiokafka.shares_by_client
    assert groups.java_shares(by_aiokafka) != by_aiokafka.shares_by_client


# ---- known bugs of the clients' own assignors, beside our answers


def interleaved(generation: Generation) -> bool:
    """Return True if the leader received static and dynamic members in more than two runs of the same kind."""
    kinds = [member.instance_id is not None for member in generation.members]
    return sum(kind != before for before, kind in itertools.pairwise(kinds)) > 1


def test_members_are_idle_under_kafka_pythons_own_range_if_static_and_dynamic_members_mix(groups: MixedGroups) -> None:
    leaders = {"idle-own": [KafkaPythonRange()], "idle-ours": ours("kafka-python", "range")}
    found = form(
        groups,
        {
            group: [
                Joining("a", "kafka-python", strategies),
                *(Joining(name, "confluent-kafka", ["range"], instance_id=f"{group}-{name}") for name in "bcd"),
                Joining("e0", "confluent-kafka", ["range"]),
            ]
            for group, strategies in leaders.items()
        },
        complete=False,
        stay=True,
    )
    own, attempt = found["idle-own"], 0
    while not interleaved(own):  # the order is that of a hash table of random ids
        groups.leave("idle-own", f"e{attempt}")
        attempt += 1
        groups.join("idle-own", f"e{attempt}", "confluent-kafka", ["range"], TOPICS)
        own = groups.settle("idle-own", own.number, complete=False)

    groups.disband(*leaders)
    assert [client for client, owned in own.shares_by_client.items() if not owned]
    assert [] == [client for client, owned in groups.java_shares(own).items() if not owned]
    assert groups.java_shares(found["idle-ours"]) == found["idle-ours"].shares_by_client


def raw(metadata: bytes) -> list[Any]:
    """Return an assignor of aiokafka that joins with arbitrary bytes; it never leads."""

    class Raw(AiokafkaRange):  # type: ignore[misc]
        @classmethod
        def metadata(cls, topics: object) -> bytes:  # noqa: ARG003
            return metadata

    return [Raw]


def test_partitions_have_no_owner_under_the_clients_own_range_if_a_member_lists_a_topic_twice(
    groups: MixedGroups,
) -> None:
    twice = raw(encode_subscription(Subscription(("orders", "orders")), 0))
    leaders = {
        "twice-own-kafka-python": Joining("a", "kafka-python", [KafkaPythonRange()], ["orders"]),
        "twice-own-aiokafka": Joining("a", "aiokafka", [AiokafkaRange], ["orders"]),
        "twice-by-kafka-python": Joining("a", "kafka-python", ours("kafka-python", "range"), ["orders"]),
        "twice-by-aiokafka": Joining("a", "aiokafka", ours("aiokafka", "range"), ["orders"]),
        "twice-by-java": Joining("a", "java", ours("java", "range"), ["orders"]),
    }

    found = form(
        groups,
        {group: [leader, Joining("b", "aiokafka", twice, ["orders"])] for group, leader in leaders.items()},
        complete=False,
    )

    expected = {"a": [("orders", id) for id in range(4)], "b": [("orders", id) for id in range(4, 7)]}
    without_owner = {"a": [("orders", id) for id in range(3)], "b": [("orders", id) for id in (5, 6)]}
    assert {group: without_owner if "own" in group else expected for group in leaders} == {
        group: shares(generation) for group, generation in found.items()
    }


def test_kafka_pythons_own_roundrobin_fails_if_subscriptions_differ(groups: MixedGroups) -> None:
    leaders = {"unequal-own": [KafkaPythonRoundRobin()], "unequal-ours": ours("kafka-python", "roundrobin")}
    for group, strategies in leaders.items():
        lead(groups, group, Joining("a", "kafka-python", strategies, ["orders"]))
    for group in leaders:
        groups.lead(group)
        groups.join(group, "b", "confluent-kafka", ["roundrobin"], TOPICS)

    groups.until(lambda: groups.errors("unequal-own", "a"), about="unequal-own")
    ours_settled = groups.settle("unequal-ours")

    assert ["KeyError" in error for error in groups.errors("unequal-own", "a")] == [True]
    assert groups.java_shares(ours_settled) == ours_settled.shares_by_client
    groups.disband(*leaders)


# ---- rolling changes


def replace(groups: MixedGroups, members: dict[str, tuple[str, Joining]]) -> None:
    """Replace a member by another one in each group, one step after the other, and wait until the groups settle."""
    before = {group: groups.settle(group).number for group in members}
    for group, (leaving, _) in members.items():
        groups.leave(group, leaving)
    before = {group: groups.settle(group, number).number for group, number in before.items()}
    for group, (_, joining) in members.items():
        groups.join(group, **joining._asdict())
    for group, number in before.items():
        groups.settle(group, number)


def partitions_without_owner(groups: MixedGroups, group: str) -> list[set[TopicPartition]]:
    """Return for each generation of a group the partitions that have no owner and are not being revoked."""
    return [
        groups.partitions(*generation.topics) - set(generation.owners) - generation.claimed
        for generation in groups.log.generations[group]
    ]


def test_members_change_from_the_clients_own_range_to_ours_without_a_stop(groups: MixedGroups) -> None:
    own = {"kafka-python": [KafkaPythonRange()], "aiokafka": [AiokafkaRange]}
    form(
        groups,
        {
            f"switch-{client}": [
                *(Joining(name, client, strategies) for name in "ab"),
                Joining("java", "java", ["range"]),
            ]
            for client, strategies in own.items()
        },
        stay=True,
    )

    for name in "ab":
        replace(
            groups,
            {f"switch-{client}": (name, Joining(f"{name}2", client, ours(client, "range"))) for client in own},
        )
    groups.disband(*(f"switch-{client}" for client in own))

    for group in (f"switch-{client}" for client in own):
        generations = groups.log.generations[group]
        assert not any(partitions_without_owner(groups, group))
        assert {1} == {count for generation in generations for count in generation.owners.values()}
        assert ["a2", "b2", "java"] == sorted(shares(generations[-1]))
        assert 1 == len(
            {each.member_id for one in generations for each in one.members if each.client_id[-4:] == "java"}
        )
        assert groups.java_shares(generations[-1]) == generations[-1].shares_by_client


def test_a_group_changes_from_range_to_cooperative_sticky_in_two_rolling_restarts(groups: MixedGroups) -> None:
    group = "cooperate"
    clients = {"a": "kafka-python", "b": "kafka-python", "c": "java"}

    def strategies(client: str, restart: int) -> list[Any]:
        if client == "java":
            return ["cooperative-sticky"] if restart else ["cooperative-sticky", "range"]
        if restart:
            return [kafka_python.CooperativeStickyAssignor()]
        return [kafka_python.CooperativeStickyAssignor(eager=True), kafka_python.RangeAssignor()]

    form(groups, {group: [Joining(name, client, ours(client, "range")) for name, client in clients.items()]}, stay=True)

    for restart in (0, 1):
        for name, client in clients.items():
            joining = Joining(f"{name}{restart + 1}", client, strategies(client, restart))
            replace(groups, {group: (f"{name}{restart or ''}", joining)})
    groups.disband(group)

    generations = groups.log.generations[group]
    protocols = [protocol for protocol, _ in itertools.groupby(generation.protocol for generation in generations)]
    assert ["range", "cooperative-sticky"] == protocols
    assert not any(partitions_without_owner(groups, group))
    assert {1} == {count for generation in generations for count in generation.owners.values()}
    assert ["a2", "b2", "c2"] == sorted(shares(generations[-1]))
    for generation in generations:
        assert groups.java_shares(generation) == generation.shares_by_client


# ---- metadata that Kafka's reader rejects


def test_leaders_of_each_client_read_the_metadata_of_kafka_go_in_their_own_way(
    groups: MixedGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = encode_subscription(Subscription(("orders",)), 0)
    kafka_go = raw(b"\0\1" + body[2:])  # version 1 without owned partitions
    leaders = {
        "go-kafka-python": Joining("a", "kafka-python", ours("kafka-python", "range"), ["orders"]),
        "go-own-kafka-python": Joining("a", "kafka-python", [KafkaPythonRange()], ["orders"]),
        "go-aiokafka": Joining("a", "aiokafka", ours("aiokafka", "range"), ["orders"]),
        "go-own-aiokafka": Joining("a", "aiokafka", [AiokafkaRange], ["orders"]),
        "go-confluent-kafka": Joining("a", "confluent-kafka", ["range"], ["orders"]),
        "go-java": Joining("a", "java", ["range"], ["orders"]),
    }
    for group, leader in leaders.items():
        lead(groups, group, leader)
    for group in leaders:
        groups.lead(group)
    for group in leaders:
        groups.join(group, "b", "aiokafka", kafka_go, ["orders"])

    shared = {"a": [("orders", id) for id in range(4)], "b": [("orders", id) for id in range(4, 7)]}
    for group in ("go-aiokafka", "go-own-aiokafka"):
        assert shared == shares(groups.settle(group))
    for group, message in {
        "go-java": "Buffer underflow while parsing consumer protocol's subscription",
        "go-kafka-python": "unpack requires a buffer of 4 bytes",
        "go-own-kafka-python": "unpack requires a buffer of 4 bytes",
    }.items():
        groups.until(lambda group=group: groups.errors(group, "a"), about=group)  # type: ignore[misc]
        assert message in groups.errors(group, "a")[0]
    groups.until(lambda: len(groups.log.generations["go-confluent-kafka"]) > 1, about="go-confluent-kafka")
    by_librdkafka = groups.log.generations["go-confluent-kafka"][1]
    assert {"a": [("orders", id) for id in range(7)], "b": []} == shares(by_librdkafka)
    assert 1 == len(groups.log.generations["go-java"])
    groups.disband(*leaders)

    # The option replaces the decoder of all consumers in this process.
    monkeypatch.setattr(coordinator, "ConsumerProtocolSubscription", coordinator.ConsumerProtocolSubscription)
    tolerant = [kafka_python.RangeAssignor(tolerant=True)]
    members = [Joining("a", "kafka-python", tolerant, ["orders"]), Joining("b", "aiokafka", kafka_go, ["orders"])]
    assert shared == shares(form(groups, {"go-tolerated": members})["go-tolerated"])
