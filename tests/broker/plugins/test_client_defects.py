"""Groups in which the clients' own assignors fail, and groups with the same members that our assignors lead."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from kafka.coordinator import consumer as coordinator
from kafka.coordinator.assignors.range import RangePartitionAssignor as KafkaPythonRange
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as KafkaPythonRoundRobin

from assignor import Subscription
from assignor.clients import kafka_python
from assignor.wire import encode_subscription
from tests.broker.plugins.client_consumers import TOPICS, Joining
from tests.broker.plugins.joining import form, lead, ours, raw, shares

if TYPE_CHECKING:
    from tests.broker.plugins.group_log import Generation
    from tests.broker.plugins.mixed_groups import MixedGroups

pytestmark = [
    pytest.mark.broker,
    # A Python client that is closed while it connects leaves the socket to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
]

REMOVED_MS = 6_000
"""Session timeout in milliseconds of a leader that the coordinator removes."""


def interleaved(generation: Generation) -> bool:
    """Return True if static and dynamic members alternate in the order in which the leader received them."""
    kinds = [member.instance_id is not None for member in generation.members]
    return sum(kind != before for before, kind in itertools.pairwise(kinds)) > 1


def test_members_are_idle_under_kafka_pythons_own_range_if_static_and_dynamic_members_mix(
    groups: MixedGroups, caplog: pytest.LogCaptureFixture
) -> None:
    leaders = {
        "idle-own": [KafkaPythonRange()],
        "idle-shadow": [kafka_python.RangeAssignor(shadow=True)],
        "idle-ours": ours("kafka-python", "range"),
    }
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

    for group in ("idle-own", "idle-shadow"):
        generation, attempt = found[group], 0
        while not interleaved(generation):  # the order is that of a hash table of random ids
            groups.leave(group, f"e{attempt}")
            attempt += 1
            groups.join(group, Joining(f"e{attempt}", "confluent-kafka", ["range"], TOPICS))
            generation = groups.settle(group, generation.number, complete=False)
        assert [client for client, owned in generation.shares_by_client.items() if not owned]
        assert [] == [client for client, owned in groups.java_shares(generation).items() if not owned]
    groups.disband(*leaders)
    assert groups.java_shares(found["idle-ours"]) == found["idle-ours"].shares_by_client
    warnings = [record.getMessage() for record in caplog.records if record.name == "assignor.clients"]
    given = r"kafka-python's answer differs .* for idle-shadow\S* adds (?!nothing)[^;]+ and removes nothing"
    assert re.search(given, "\n".join(warnings))


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
    raised: list[KeyError] = []

    class Watched(KafkaPythonRoundRobin):  # type: ignore[misc]  # the client has no types
        @classmethod
        def assign(cls, cluster: Any, members: Any) -> Any:
            try:
                return super().assign(cluster, members)
            except KeyError as error:
                raised.append(error)
                raise

    leaders = {"unequal-own": [Watched()], "unequal-ours": ours("kafka-python", "roundrobin")}
    for group, strategies in leaders.items():
        lead(groups, group, Joining("a", "kafka-python", strategies, ["orders"]))
    for group in leaders:
        groups.lead(group)
        groups.join(group, Joining("b", "confluent-kafka", ["roundrobin"], TOPICS))

    groups.until(lambda: raised, about="unequal-own")
    ours_settled = groups.settle("unequal-ours")
    groups.disband(*leaders)

    assert groups.java_shares(ours_settled) == ours_settled.shares_by_client
    ((_, member_id),) = raised[0].args  # not the id of a member, but a pair of instance id and member id
    assert member_id.startswith("unequal-own.")


def test_leaders_of_each_client_read_the_metadata_of_kafka_go_in_their_own_way(
    groups: MixedGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = encode_subscription(Subscription(("orders",)), 0)
    kafka_go = raw(b"\0\1" + body[2:])  # version 1 without owned partitions
    leaders = {
        "go-kafka-python": Joining(
            "a", "kafka-python", ours("kafka-python", "range"), ["orders"], session_ms=REMOVED_MS
        ),
        "go-own-kafka-python": Joining("a", "kafka-python", [KafkaPythonRange()], ["orders"], session_ms=REMOVED_MS),
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
        groups.join(group, Joining("b", "aiokafka", kafka_go, ["orders"]))

    shared = {"a": [("orders", id) for id in range(4)], "b": [("orders", id) for id in range(4, 7)]}
    for group in ("go-aiokafka", "go-own-aiokafka"):
        assert shared == shares(groups.settle(group))
    groups.until(lambda: groups.errors("go-java", "a"), about="go-java")
    assert "Buffer underflow while parsing consumer protocol's subscription" in groups.errors("go-java", "a")[0]
    for group in ("go-kafka-python", "go-own-kafka-python"):
        # If the poll that started the rebalance has returned, kafka-python never raises the error.
        groups.until(lambda group=group: groups.log.generations[group][-1].led_by == f"{group}.b", about=group)  # type: ignore[misc]  # the client has no types
        assert all("unpack requires a buffer of 4 bytes" in error for error in groups.errors(group, "a"))
        assert not [one for one in groups.log.generations[group] if one.led_by == f"{group}.a" and len(one.members) > 1]
    by_librdkafka = groups.first_of_two("go-confluent-kafka")
    assert {"a": [("orders", id) for id in range(7)], "b": []} == shares(by_librdkafka)
    assert not [one for one in groups.log.generations["go-java"] if one.led_by == "go-java.a" and len(one.members) > 1]
    groups.disband(*leaders)

    # The option replaces the decoder of all consumers in this process.
    monkeypatch.setattr(coordinator, "ConsumerProtocolSubscription", coordinator.ConsumerProtocolSubscription)
    tolerant = [kafka_python.RangeAssignor(tolerant=True)]
    members = [Joining("a", "kafka-python", tolerant, ["orders"]), Joining("b", "aiokafka", kafka_go, ["orders"])]
    assert shared == shares(form(groups, {"go-tolerated": members})["go-tolerated"])
