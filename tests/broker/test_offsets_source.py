"""Data source `kafka_offsets` with a real broker: what it reads, and that it only reads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor import _core
from assignor.offsets import decode_record
from assignor.spark.kafka_offsets import OffsetRange, Settings, log_bounds, read_range

if TYPE_CHECKING:
    from tests.broker.cluster import Cluster

pytestmark = pytest.mark.broker

TOPIC, GROUP = "source-topic", "source-group"

READER = "assignor-reader"
"""Group id in the configuration of the reader, which a consumer of librdkafka must have."""


def committed(settings: Settings) -> list[int]:
    """Return the offsets that the group committed, in the order of the log."""
    found = []
    for partition, (start, end) in log_bounds(settings).items():
        for batch in read_range(settings, OffsetRange(partition, start, end)):
            assert [settings.cluster] * batch.num_rows == batch["cluster"].to_pylist()
            for row in batch.to_pylist():
                record = decode_record(row["key"], row["value"])
                if record.type == 1 and record.key["group"] == GROUP and record.value:
                    found.append(record.value["offset"])
                    assert record.value["commitTimestamp"] <= row["timestamp"]
    return found


def groups_since(settings: Settings, before: dict[int, tuple[int, int]]) -> set[str]:
    """Return the groups with records after the ends of the partitions; other tests may use the broker meanwhile."""
    found = set()
    for partition, (_, end) in log_bounds(settings).items():
        for batch in read_range(settings, OffsetRange(partition, before[partition][1], end)):
            found |= set(pa.array(_core.record_groups(batch["key"])).to_pylist())
    return found


def commit_in_transaction(broker: Cluster, offset: int, *, abort: bool) -> None:
    """Commit an offset of the group in a transaction, or abort it."""
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": f"source-{offset}"})
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": GROUP})
    try:
        producer.init_transactions(30)
        producer.begin_transaction()
        position = [TopicPartition(TOPIC, 0, offset)]
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), 30)
        (producer.abort_transaction if abort else producer.commit_transaction)(30)
    finally:
        consumer.close()


def await_ends_of_transactions(committed: Settings, every: Settings) -> None:
    """Wait until the log has the ends of the transactions, which a broker writes after it has answered the producer."""
    end = time.monotonic() + 60
    while log_bounds(committed) != log_bounds(every):
        assert time.monotonic() < end, "a transaction is still open"


def test_committed_or_all_records_are_read_without_a_trace(broker: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(30)
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": GROUP})
    consumer.commit(offsets=[TopicPartition(TOPIC, 0, 5)], asynchronous=False)
    consumer.close()
    commit_in_transaction(broker, 6, abort=False)
    commit_in_transaction(broker, 7, abort=True)

    options = {"kafka.bootstrap.servers": broker.address, "cluster": "test"}
    every = Settings.read({**options, "isolation": "read_uncommitted"})
    await_ends_of_transactions(Settings.read(options), every)
    before = log_bounds(every)
    assert [5, 6] == committed(Settings.read(options))
    assert [5, 6, 7] == committed(every)

    assert not {GROUP, READER} & groups_since(every, before), "reading writes nothing to the log"
    groups = {group.group_id for group in admin.list_consumer_groups().result().valid}
    assert GROUP in groups
    assert READER not in groups
