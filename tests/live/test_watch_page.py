"""`assignor watch --page` on a real broker: members, rebalances and lag of a group."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor.cli import main
from tests.page.page_content import content
from tests.support.consumer_closing import close_consumers
from tests.support.time_limit import within

if TYPE_CHECKING:
    from pathlib import Path

    from tests.broker.cluster import Cluster

pytestmark = pytest.mark.broker


def test_the_page_of_a_watch_shows_a_live_group(broker: Cluster, tmp_path: Path) -> None:
    settings: Any = {"bootstrap.servers": broker.address}
    admin = AdminClient(settings)
    admin.create_topics([NewTopic("page.orders", 3)])["page.orders"].result(60)
    producer = Producer(settings)
    for number in range(9):
        producer.produce("page.orders", b"x", partition=number % 3)
    assert 0 == producer.flush(60)
    given = {"group.id": "page", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer(settings | given)
    consumer.subscribe(["page.orders"])
    try:
        end = time.monotonic() + 60
        while (message := consumer.poll(1)) is None or message.error():
            assert time.monotonic() < end, "no record within 60 s"
        within("the commit", lambda: consumer.commit(message=message, asynchronous=False))
        words = ["--bootstrap-server", broker.address, "--group", "page", "--from", "earliest", "--for", "3"]
        code = main(["watch", *words, "--page", str(tmp_path / "page.html")])
    finally:
        close_consumers([consumer])

    assert code == 0
    data = content(tmp_path / "page.html")["datasets"]
    assert [("page", "consumer_subscribed")] == [(row["group"], row["cause"]) for row in data["rebalances"]]
    assert [("page", 3)] == [(row["group"], row["partitions"]) for row in data["members"]]
    assert [("page.orders", 2, 2)] == [(row["topic"], row["lag"], row["not_known"]) for row in data["lag_of_topics"]]
