"""Comparison of the assignments in the recorded fleet with the answers of Kafka's assignors for the same input.

The assignments of Java clients and brokers equal the engine's. kafka-python's sticky and librdkafka's
cooperative-sticky are other algorithms, so their assignments can differ. Tests check that kafka-python's class gives
the recorded assignments, and that librdkafka's assignments never give a partition two owners, as the cooperative
protocol requires.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.protocol.consumer.group import JoinGroupResponse
from kafka.protocol.consumer.metadata import ConsumerProtocolSubscription

from assignor.model import TopicPartition
from assignor.offsets import decode_record
from assignor.wire import DecodedSubscription, decode_assignment, decode_subscription
from tests.replay.logs import replay_all
from tests.support.recorded_fleet import logs, topics, topics_around

if TYPE_CHECKING:
    from assignor.model import PartitionInfo

Row = dict[str, Any]


class Member(NamedTuple):
    """Member of a generation: its subscription and its partitions."""

    subscription: DecodedSubscription
    partitions: tuple[TopicPartition, ...]


COUNTS = {
    ("analytics.hourly", "range", "equal"): 4,
    ("clickstream-sessionizer", "roundrobin", "equal"): 4,
    ("crm-cdc-sink", "sticky", "equal"): 7,
    ("email-workers", "simple", "equal"): 7,
    ("inventory-sync", "cooperative-sticky", "different"): 12_473,
    ("inventory-sync", "cooperative-sticky", "equal"): 1,
    ("notify-dispatch", "sticky", "different"): 3,
    ("notify-dispatch", "sticky", "equal"): 2,
    ("orders-next", "range", "equal"): 1,
    ("orders-next", "uniform", "equal"): 6,
    ("payments-audit", "uniform", "equal"): 6,
    ("profile-migrating", "cooperative-sticky", "different"): 3,
    ("profile-migrating", "cooperative-sticky", "equal"): 3,
    ("profile-migrating", "uniform", "equal"): 1,
    ("settlement-eos", "cooperative-sticky", "equal"): 4,
    ("profile-joiner", "sticky", "equal"): 3,
}
"""Numbers of generations and epochs by group, assignor and outcome, without classic range."""

NOT_JAVA = {
    "notify-dispatch": "its subscription has version 0",
    "inventory-sync": "its user data does not have the format of Kafka's cooperative-sticky assignor",
    "profile-migrating": "its user data does not have the format of Kafka's cooperative-sticky assignor",
}
"""Groups whose leader is not a Java client, and the reason that shows it."""


@functools.cache
def compared() -> list[tuple[str, Row]]:
    """Return the group and the generation of each comparison, without classic range."""
    found = logs()
    histories = zip(found, replay_all(list(found.values()), topics()), strict=True)
    generations = [(group, each) for group, history in histories for each in history["generations"]]
    return [(group, each) for group, each in generations if each["assignor"] and each["range"] is None]


def generations(group: str, length: int | None = None) -> list[tuple[int, dict[str, Member]]]:
    """Return time and members of each generation of a classic group, without generations that have no members."""
    found = []
    for each in logs()[group][:length]:
        record = decode_record(each.key, each.value)
        if record.type == 2 and record.value is not None and record.value["members"]:
            members = {member["memberId"]: read_member(member) for member in record.value["members"]}
            found.append((each.timestamp, members))
    return found


def read_member(member: Row) -> Member:
    """Decode the subscription and the partitions of a member."""
    return Member(decode_subscription(member["subscription"]), decode_assignment(member["assignment"]).partitions)


def test_assignments_of_java_clients_and_brokers_equal_kafkas_answers() -> None:
    counts = Counter((group, each["assignor"], each["outcome"]) for group, each in compared())
    assert counts == COUNTS


def test_all_other_assignments_are_of_other_clients() -> None:
    differing = [(group, each) for group, each in compared() if each["outcome"] == "different"]
    assert {group for group, _ in differing} == NOT_JAVA.keys()
    for group, each in differing:
        remark = f"the leader {each['leader']} is not a Java client of Kafka 3.5 or newer: {NOT_JAVA[group]}"
        assert each["reasons"][1:] == [remark]


class Cluster:
    """Stand-in for the cluster metadata that kafka-python's assignor reads."""

    def __init__(self, topics: dict[str, list[PartitionInfo]]) -> None:
        self._topics = topics

    def topics(self) -> set[str]:
        return set(self._topics)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return {partition.partition for partition in self._topics[topic]} if topic in self._topics else None


def kafka_pythons_answer(
    members: dict[str, Member], topics: dict[str, list[PartitionInfo]]
) -> dict[str, set[TopicPartition]]:
    """Return the assignment of kafka-python's sticky assignor for the members of a generation."""
    joined = []
    for member_id, (subscription, _) in members.items():
        wants = ConsumerProtocolSubscription(0, list(subscription.topics), subscription.user_data)
        joined.append(
            JoinGroupResponse.JoinGroupResponseMember(member_id=member_id, group_instance_id=None, metadata=wants)
        )
    wanted = {topic for member in joined for topic in member.metadata.topics}
    cluster = Cluster({topic: partitions for topic, partitions in topics.items() if topic in wanted})
    answer = StickyPartitionAssignor().assign(cluster, joined)
    return {
        member: {TopicPartition(topic, id) for topic, ids in given.assigned_partitions for id in ids}
        for member, given in answer.items()
    }


def test_kafka_pythons_sticky_gives_the_assignments_of_the_group_it_leads() -> None:
    found = generations("notify-dispatch")
    for time, members in found:
        has = {member_id: set(member.partitions) for member_id, member in members.items()}
        assert has in [kafka_pythons_answer(members, known) for known in topics_around(time)]
    assert len(found) == 5


@pytest.mark.parametrize(("group", "length", "least"), [("profile-migrating", None, 6), ("inventory-sync", 700, 500)])
def test_librdkafkas_cooperative_sticky_waits_for_the_owner_of_a_partition(
    group: str, length: int | None, least: int
) -> None:
    found = generations(group, length)
    for _, members in found:
        owners: dict[TopicPartition, str] = {}
        for member_id, member in members.items():
            owners.update(dict.fromkeys(member.subscription.owned_partitions, member_id))
        given = Counter[TopicPartition]()
        for member_id, member in members.items():
            given.update(member.partitions)
            assert {owners.get(partition, member_id) for partition in member.partitions} <= {member_id}
        assert max(given.values()) == 1
    assert len(found) >= least
