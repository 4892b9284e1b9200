"""What a watch asks a real broker: the leaders of the log, the groups in a rebalance, and the lag of a stuck member."""

from __future__ import annotations

import functools
import json
import time
from concurrent.futures import Future
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor.cluster.confluent import rebalancing_groups
from assignor.cluster.connection import ClientSettings
from assignor.cluster.log import OffsetsLog
from assignor.errors import ClusterError
from assignor.replay import watch
from assignor.replay.events import to_json
from tests.broker.plugins.racks import RackedCluster
from tests.broker.running import running
from tests.live.watching import Watching, until
from tests.support.committed_offsets import commit_offset
from tests.support.consumer_closing import close_consumers
from tests.support.time_limit import within

if TYPE_CHECKING:
    from pathlib import Path

    from tests.broker.cluster import Cluster

pytestmark = pytest.mark.broker


def consumer(broker: Cluster, group: str, topic: str, **settings: Any) -> Consumer:
    given = {"bootstrap.servers": broker.address, "group.id": group, "auto.offset.reset": "earliest"}
    found = Consumer({**given, "enable.auto.commit": False, **settings})
    found.subscribe([topic])
    return found


def polls(consumer: Consumer) -> bool:
    return consumer.poll(0.1) is not None


@pytest.fixture(scope="module")
def topic(broker: Cluster) -> str:
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic("polled", 1)])["polled"].result(60)
    producer = Producer({"bootstrap.servers": broker.address})
    for _ in range(500):
        producer.produce("polled", b"x")
    assert 0 == producer.flush(60)
    return "polled"


@pytest.mark.usefixtures("topic")
def test_the_leaders_of_the_log_are_known(broker: Cluster) -> None:
    settings = ClientSettings.read(broker.address)
    admin = settings.admin()
    log = OffsetsLog(settings)

    leaders = log.leaders(admin)

    assert log.partitions(admin) == sorted(leaders)
    assert set(settings.metadata(admin).brokers) == set(leaders.values())


def test_a_group_that_waits_for_a_member_is_in_a_rebalance(broker: Cluster, topic: str) -> None:
    settings = ClientSettings.read(broker.address)
    admin = settings.admin()
    first = consumer(broker, "waits", topic)
    until(lambda: polls(first))
    assert "waits" not in rebalancing_groups(settings, admin)

    second = consumer(broker, "waits", topic)
    until(lambda: second.poll(0.1) is None and "waits" in rebalancing_groups(settings, admin))
    close_consumers([first, second])


@pytest.mark.parametrize("wrap", [lambda error: error, KafkaException])
def test_an_error_of_one_broker_is_an_error_of_the_list_of_groups(wrap: Any) -> None:
    error = wrap(KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS))
    listing: Future[Any] = Future()
    listing.set_result(SimpleNamespace(errors=[error], valid=[]))
    admin = SimpleNamespace(list_consumer_groups=lambda **_: listing, poll=lambda _: 0)

    with pytest.raises(ClusterError, match=r"^cannot list the groups in a rebalance on localhost:9092: "):
        rebalancing_groups(ClientSettings.read("localhost:9092"), admin)


def test_a_member_is_stuck_only_while_records_wait(
    broker: Cluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LAG_SECONDS", 1.0)
    members = {group: consumer(broker, group, topic) for group in ("stops", "has-read-all")}
    for each in members.values():
        until(functools.partial(polls, each))

    def commit(group: str, offset: int) -> None:
        place = TopicPartition(topic, 0, offset)
        within("the commit", lambda: members[group].commit(offsets=[place], asynchronous=False))
        members[group].poll(0)

    with Watching(broker.address, has_lag=True, cluster="blue") as watching:
        for number in range(1, 12):
            commit("stops", number)
            commit("has-read-all", 489 + number)
            time.sleep(0.2)
        until(lambda: watching.of("stops", "stuck"))
        (event,) = watching.of("stops", "stuck")
        assert ("blue", None) == (event["cluster"], event["until"])
        assert watching.watch.watcher.conditions.groups["has-read-all"].silent
        assert "blue" == json.loads(to_json(event))["cluster"]
        commit("stops", 20)
        commit("has-read-all", 500)
        until(lambda: len(watching.of("stops", "stuck")) == 2)
        assert [] == watching.of("has-read-all", "stuck")
    close_consumers(list(members.values()))


def test_moved_coordinators_are_reported_when_a_broker_stops(tmp_path: Path) -> None:
    settings = {"offsets_topic_replication_factor": "2", "offsets_topic_num_partitions": "4"}
    with running(RackedCluster, tmp_path, ("a", "b", "c"), **settings) as brokers:
        admin = AdminClient({"bootstrap.servers": brokers.address})
        admin.create_topics([NewTopic("moved", 1, 2)])["moved"].result(60)
        groups = [f"moved-{number}" for number in range(8)]
        for group in groups:
            commit_offset(brokers.address, group, 1, "moved")
        log = OffsetsLog(ClientSettings.read(brokers.address))
        with Watching(brokers.address) as watching:
            until(lambda: set(log.leaders(log.settings.admin()).values()) == {1, 2, 3})
            time.sleep(3)  # the watch asks for the leaders every second
            assert [] == watching.events
            brokers.stop(3)

            until(lambda: any(event["event"] == "coordinator" for event in watching.events))
            moved = [event for event in watching.events if event["event"] == "coordinator"]
            assert {"3"} == {event["previous"] for event in moved}
            assert {event["leader"] for event in moved} <= {"1", "2"}
            assert watching.noticed(" moved from broker 3 to broker ")
