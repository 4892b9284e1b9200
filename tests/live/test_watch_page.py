"""`assignor watch --page` and `--serve` on a real broker: members, rebalances and lag of a group."""

from __future__ import annotations

import threading
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor.cli import main
from tests.broker.cluster import free_ports
from tests.page.page_content import content
from tests.support.consumer_closing import close_consumers
from tests.support.time_limit import within

if TYPE_CHECKING:
    from pathlib import Path

    from tests.broker.cluster import Cluster

pytestmark = pytest.mark.broker


def fetch_until(url: str, text: str, found: list[str]) -> None:
    """Add the first answer with a text to a list."""
    end = time.monotonic() + 60
    while not found and time.monotonic() < end:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                body = answer.read().decode()
        except urllib.error.URLError:  # not served yet
            body = ""
        found += [body] if text in body else []
        time.sleep(0.2)


def test_the_page_of_a_watch_shows_a_live_group(
    broker: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
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
        (port,) = free_ports(1)
        page: list[str] = []
        fetching = threading.Thread(target=fetch_until, args=(f"http://127.0.0.1:{port}/", "consumer_subscribed", page))
        fetching.start()
        words = ["--bootstrap-server", broker.address, "--group", "page", "--from", "earliest", "--for", "12"]
        served = ["--metrics", str(port), "--serve", "--page", str(tmp_path / "page.html"), "--topic", "page.*"]
        code = main(["watch", *words, *served])
        fetching.join()
        other = ["--page", str(tmp_path / "other.html"), "--topic", "!page.orders"]
        assert 0 == main(["watch", *words[:4], "--for", "0", *other])
    finally:
        close_consumers([consumer])

    assert code == 0
    data = content(tmp_path / "page.html")["datasets"]
    assert [("page", "consumer_subscribed")] == [(row["group"], row["cause"]) for row in data["rebalances"]]
    assert [("page", 3)] == [(row["group"], row["partitions"]) for row in data["members"]]
    lags = [(row["topic"], row["lag"], row["not_known"]) for row in data["lag_of_topics"]]
    assert [("page.orders", 2, 2)] == lags
    assert not content(tmp_path / "other.html")["datasets"].get("lag_of_topics")
    assert [True] == ["<h1>Consumer groups of" in text for text in page], "the page that is served"
    first, second, *_ = capfd.readouterr().err.splitlines()
    assert first.endswith(f"  assignor: metrics: http://127.0.0.1:{port}/metrics")
    assert second.endswith(f"  assignor: page: http://127.0.0.1:{port}/")
