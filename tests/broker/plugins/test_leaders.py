"""Groups that our assignors lead in kafka-python and aiokafka, with members of other clients, on a real cluster.

All groups of a test run at the same time. Their generations are read from the records of the coordinator, and compared
with the answer of a Java leader for the members of the record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.broker.plugins.client_consumers import TOPICS, Joining, needs_racks_of_aiokafka
from tests.broker.plugins.joining import form, leader_first, ours, shares

if TYPE_CHECKING:
    from tests.broker.plugins.group_log import Generation
    from tests.broker.plugins.mixed_groups import MixedGroups

pytestmark = [
    pytest.mark.broker,
    # A Python client that is closed while it connects leaves the socket to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

CLIENTS = {
    "range": ("kafka-python", "aiokafka", "confluent-kafka", "java"),
    "roundrobin": ("kafka-python", "aiokafka", "confluent-kafka", "java"),
    "sticky": ("kafka-python", "aiokafka", "java"),
    "cooperative-sticky": ("kafka-python", "confluent-kafka", "java"),
}
"""Clients that have each assignor."""

EXACT = ("kafka-python", "aiokafka", "java")
"""Clients whose leaders give the answers of Kafka's classes."""


def lengths_by_client(generation: Generation) -> dict[str, int]:
    """Return the number of bytes of each consumer's assignment by its name in the group."""
    return {member.client_id.rpartition(".")[2]: len(member.assignment) for member in generation.members}


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


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_assignments_have_the_length_of_those_of_a_java_leader(mixtures: dict[str, Generation], assignor: str) -> None:
    lengths = {leader: lengths_by_client(mixtures[f"{assignor}-by-{leader}"]) for leader in EXACT}

    assert [lengths["java"]] * len(EXACT) == list(lengths.values())


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


def test_static_members_come_first_in_the_round_of_roundrobin(groups: MixedGroups) -> None:
    def members() -> list[Joining]:
        return [
            Joining("a", "java", ours("java", "roundrobin")),
            Joining("b", "kafka-python", ours("kafka-python", "roundrobin"), instance_id="y5"),
            Joining("c", "java", ours("java", "roundrobin"), instance_id="x6"),
            Joining("d", "kafka-python", ours("kafka-python", "roundrobin")),
        ]

    found = form(groups, {f"round-by-{leader}": leader_first(leader, members()) for leader in "ad"})

    for generation in found.values():
        assert groups.java_shares(generation) == generation.shares_by_client
    assert shares(found["round-by-a"]) == shares(found["round-by-d"])


def test_aiokafka_orders_static_members_by_member_id(groups: MixedGroups, static_groups: dict[str, Generation]) -> None:
    by_aiokafka = static_groups["static-by-aiokafka"]

    assert groups.java_shares(by_aiokafka, without=["instances"]) == by_aiokafka.shares_by_client
    assert groups.java_shares(by_aiokafka) != by_aiokafka.shares_by_client


def test_sticky_leaders_prefer_racks_as_java_does(groups: MixedGroups) -> None:
    racks = {"kafka-python": "r2", "confluent-kafka": "r1", "java": "r0"}
    clients = {"sticky": ("kafka-python", "java"), "cooperative-sticky": ("kafka-python", "java")}
    found = form(
        groups,
        {
            f"racks-{assignor}-by-{leader}": leader_first(
                leader,
                [Joining(client, client, ours(client, assignor, racks[client]), rack=racks[client]) for client in both],
            )
            for assignor, both in clients.items()
            for leader in both
        },
    )

    for generation in found.values():
        assert groups.java_shares(generation) == generation.shares_by_client
    assert any(
        groups.java_shares(generation, without=["racks"]) != generation.shares_by_client
        for generation in found.values()
    )


@pytest.fixture(scope="module")
def racked_groups(groups: MixedGroups) -> dict[str, Generation]:
    """Form a group of members with racks for each leader."""
    needs_racks_of_aiokafka()
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


def test_a_topic_that_does_not_exist_is_skipped(groups: MixedGroups) -> None:
    topics = ("missing", *TOPICS)
    found = form(
        groups,
        {
            f"missing-by-{leader}": leader_first(
                leader, [Joining(client, client, ours(client, "range"), topics) for client in EXACT]
            )
            for leader in EXACT
        },
    )

    for leader in EXACT:
        generation = found[f"missing-by-{leader}"]
        assert "missing" in generation.topics
        assert groups.java_shares(generation) == generation.shares_by_client
        assert shares(found["missing-by-java"]) == shares(generation)
