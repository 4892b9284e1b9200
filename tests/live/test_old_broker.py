"""Commands on a live broker of Kafka 3.7: they read what it has, and `describe` equals the Admin client."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor.cli import main
from assignor.lag import GROUP_LAG
from tests.broker.cluster import OLD, Cluster
from tests.broker.running import running
from tests.support.time_limit import within

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.broker, pytest.mark.long]

GROUP, TOPIC = "old-group", "old-topic"


@pytest.fixture(scope="module")
def old_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running(Cluster, tmp_path_factory.mktemp("kafka"), release=OLD) as cluster:
        yield cluster


@contextmanager
def member(address: str) -> Iterator[None]:
    """Create the topic, and keep a consumer with both partitions in the group."""
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(TOPIC, 2)])[TOPIC].result(30)
    consumer = Consumer({"bootstrap.servers": address, "group.id": GROUP, "enable.auto.commit": False})
    consumer.subscribe([TOPIC])
    end = time.monotonic() + 30
    while len(consumer.assignment()) < 2 and time.monotonic() < end:
        consumer.poll(0.05)
    assert 2 == len(consumer.assignment())
    places = [TopicPartition(TOPIC, 1, 0)]
    within("the commit", lambda: consumer.commit(offsets=places, asynchronous=False))
    is_over = threading.Event()

    def poll() -> None:
        while not is_over.is_set():
            consumer.poll(0.1)

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        within("polling the consumer", thread.join)
        within("closing the consumer", consumer.close)


def test_each_command_reads_a_classic_group(
    old_broker: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    address = ("--bootstrap-server", old_broker.address)

    def output(*arguments: str) -> str:
        assert 0 == main(list(arguments))
        return capsys.readouterr().out

    with member(old_broker.address):
        described: dict[str, Any] = json.loads(output("describe", *address, "--json"))
        admin = AdminClient({"bootstrap.servers": old_broker.address})
        expected = admin.describe_consumer_groups([GROUP])[GROUP].result(30)
        committed = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP)])[GROUP].result(30)
        recording = str(tmp_path / "recording")
        output("record", *address, "--out", recording, "--until-end")
        reports = [
            json.loads(output("report", *given, "--out", str(tmp_path / "report"), "--json"))["groups"]
            for given in ((recording,), address)
        ]
        watched = output("watch", *address, "--from", "earliest", "--for", "1", "--json")

    assert [] == described["problems"]
    (group,) = described["groups"]
    assert (GROUP, "classic", "Stable", "range") == tuple(group[key] for key in ("group", "kind", "state", "protocol"))
    (one,) = expected.members
    assert [(one.member_id, one.client_id)] == [(each["member"], each["client_id"]) for each in group["members"]]
    owned = {(place.topic, place.partition): one.member_id for place in one.assignment.topic_partitions}
    assert owned == {(each["topic"], each["partition"]): each["member"] for each in group["partitions"]}
    offsets = {(place.topic, place.partition): place.offset for place in committed.topic_partitions}
    assert offsets == {
        (each["topic"], each["partition"]): each["committed"]
        for each in group["partitions"]
        if each["committed"] is not None
    }
    for (found,) in reports:
        assert (GROUP, "classic", "Stable", 1) == tuple(found[key] for key in ("group", "kind", "state", "members"))
        # A recording and a description have other earlier offsets, so their lag in time differs.
        records = set(GROUP_LAG.names) - {"group_id"}
        assert {name: group["lag"][name] for name in records} == {name: found["lag"][name] for name in records}
    assert {"member", "rebalance", "generation"} <= {json.loads(line)["event"] for line in watched.splitlines()}
