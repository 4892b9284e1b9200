"""Costs of rebalances against the clocks of real consumers, which agree within the cadence of the commits."""

from __future__ import annotations

import base64
import itertools
import threading
import time
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from assignor.costs import rebalance_costs
from assignor.replay import Replay
from assignor.replay.complete_costs import with_costs
from assignor.spark.kafka_offsets import OffsetRange, Settings, log_bounds, read_range
from tests.broker.admin import Admin

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from tests.broker.cluster import Cluster

pytestmark = pytest.mark.broker

Found = TypeVar("Found")

PARTITIONS = 4
CADENCE = 0.1
"""Seconds between two commits of a consumer."""
SLOW = 1.5
"""Seconds that a consumer takes to give up partitions."""
PROTOCOLS: dict[str, dict[str, Any]] = {
    "eager": {"partition.assignment.strategy": "range", "session.timeout.ms": 6_000, "heartbeat.interval.ms": 200},
    "cooperative": {
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 200,
    },
    "consumer": {"group.protocol": "consumer"},
}


class Clocked:
    """Consumer in a thread that notes when it reads each partition, by its own clock, and what it gives up and gets."""

    def __init__(self, address: str, group: str, settings: dict[str, Any]) -> None:
        self.read: dict[int, list[float]] = {}
        self.revoked: list[int] = []
        self.assigned: list[int] = []
        self.is_slow = False
        self._ended = threading.Event()
        common = {"bootstrap.servers": address, "group.id": group, "enable.auto.commit": False}
        self._consumer = Consumer({**common, "auto.offset.reset": "earliest", **settings})
        self._consumer.subscribe([group], on_assign=self._on_assign, on_revoke=self._on_revoke)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(30)

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.assigned += [each.partition for each in partitions]

    def _on_revoke(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.revoked += [each.partition for each in partitions]
        if self.is_slow:
            time.sleep(SLOW)

    def _run(self) -> None:
        committed = time.monotonic()
        while not self._ended.is_set():
            message = self._consumer.poll(0.02)
            now = time.monotonic()
            if message is not None and not message.error():
                self.read.setdefault(message.partition() or 0, []).append(now)
            if now - committed >= CADENCE and self.read:
                committed = now
                self._consumer.commit(asynchronous=True)
        self._consumer.close()


class Producing:
    """Producer in a thread that writes a record to each partition every 20 ms."""

    def __init__(self, address: str, topic: str) -> None:
        self._ended = threading.Event()
        self._producer = Producer({"bootstrap.servers": address, "linger.ms": 0})
        self._topic = topic
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(30)

    def _run(self) -> None:
        while not self._ended.wait(0.02):
            for id in range(PARTITIONS):
                self._producer.produce(self._topic, b"1", partition=id)
            self._producer.poll(0)
        self._producer.flush(10)


def events_of(address: str, group: str, id: UUID) -> list[dict[str, Any]]:
    """Return the events of a group from the log of the broker."""
    topic_id = base64.urlsafe_b64encode(id.bytes).decode().rstrip("=")
    row = {"t": 0, "topic": group, "topic_id": topic_id, "racks": []}
    rows = [{**row, "partition": partition} for partition in range(PARTITIONS)]
    replay = Replay(rows, is_compared=False)
    settings = Settings.read({"kafka.bootstrap.servers": address})
    events = []
    for partition, (start, end) in log_bounds(settings).items():
        for batch in read_range(settings, OffsetRange(partition, start, end)):
            for row in batch.to_pylist():
                events += replay.push((row["offset"], row["timestamp"], row["key"], row["value"]), str(partition))
    return [event for event in [*events, *replay.finish()] if event["group"] == group]


def complete_costs(events: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Return the rebalances that paused partitions; none while they are fewer partitions than a count."""
    found = [event for event in with_costs(events) if event["event"] == "rebalance" and event["paused"]]
    return found if sum(event["paused"] for event in found) >= count else []


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_log_shows_what_the_clocks_of_the_consumers_say(broker: Cluster, protocol: str) -> None:
    group = f"costs-{protocol}"
    with broker.connect() as connection:
        id = Admin(connection).create_topics({group: PARTITIONS})[group]
        Admin(connection).await_coordinator(group)
    settings = PROTOCOLS[protocol]
    with Producing(broker.address, group), Clocked(broker.address, group, settings) as first:
        _until(lambda: len(first.read) == PARTITIONS)
        time.sleep(1.5)
        revoked, assigned = len(first.revoked), len(first.assigned)
        first.is_slow = True
        joined = time.monotonic()
        with Clocked(broker.address, group, settings) as second:
            _until(lambda: len(second.read) == PARTITIONS // 2)
            first.is_slow = False
            count = PARTITIONS if protocol == "eager" else PARTITIONS // 2
            # The new owner commits a cadence after its first records, and later on a loaded machine.
            costs = _until(lambda: complete_costs(events_of(broker.address, group, id), count))
            reads = [dict(each.read) for each in (first, second)]
    taken = first.revoked[revoked : revoked + count]
    gaps = [_gap([at for read in reads for at in read.get(id, ())], joined) for id in taken]

    assert len(gaps) == sum(event["paused"] for event in costs), costs
    [total] = rebalance_costs(costs).groups.to_pylist()
    shown = total["lost_ms"] / 1_000
    assert sum(gaps) > SLOW * len(gaps) * 0.9
    # A commit says what was read before it: up to one cadence earlier, and a poll and a round trip later.
    assert abs(shown - sum(gaps)) <= len(gaps) * 3 * CADENCE, (shown, gaps, assigned)


def _gap(times: list[float], since: float) -> float:
    """Return the longest time between two reads that ends after a time."""
    ordered = sorted(times)
    return max(after - before for before, after in itertools.pairwise(ordered) if after > since)


def _until(condition: Callable[[], Found]) -> Found:
    """Wait for a value that is true, and return it."""
    end = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found
