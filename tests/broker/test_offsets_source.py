"""Sources of `__consumer_offsets` with a real broker: what they read, and that they only read."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor import _core
from assignor.offsets import decode_record
from assignor.spark import schemas
from assignor.spark.kafka_offsets import OffsetRange, Settings, log_bounds, read_range
from tests.broker import connector_program
from tests.spark import programs
from tests.support import maven_jars
from tests.support.time_limit import within

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.broker.cluster import Cluster

pytestmark = pytest.mark.broker

TOPIC, GROUP = "source-topic", "source-group"

READER = "assignor-reader"
"""Group id in the configuration of the reader, which a consumer of librdkafka must have."""


def committed(settings: Settings) -> list[int]:
    """Return the offsets that the group committed, in the order of the log."""
    rows = []
    for partition, (start, end) in log_bounds(settings).items():
        for batch in read_range(settings, OffsetRange(partition, start, end)):
            assert [settings.cluster] * batch.num_rows == batch["cluster"].to_pylist()
            rows += batch.to_pylist()
    return commits(rows)


def commits(rows: Iterable[dict[str, Any]]) -> list[int]:
    """Return the offsets of the group's commits among records."""
    found = []
    for row in rows:
        record = decode_record(row["key"], row["value"])
        if record.type == 1 and record.key["group"] == GROUP and record.value:
            found.append(record.value["offset"])
            assert record.value["commitTimestamp"] <= row["timestamp"]
    return found


def groups_since(settings: Settings, before: dict[int, tuple[int, int]]) -> set[str]:
    """Return the groups with records written since `before`, the earlier bounds of the log, also by other tests."""
    found = set()
    for partition, (_, end) in log_bounds(settings).items():
        for batch in read_range(settings, OffsetRange(partition, before[partition][1], end)):
            found |= set(pa.array(_core.record_groups(batch["key"])).to_pylist())
    return found


def commit_in_transaction(broker: Cluster, offset: int, *, abort: bool) -> None:
    """Commit an offset of the group in a transaction; commit or abort the transaction."""
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": f"source-{offset}"})
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": GROUP})
    try:
        producer.init_transactions(30)
        producer.begin_transaction()
        position = [TopicPartition(TOPIC, 0, offset)]
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), 30)
        (producer.abort_transaction if abort else producer.commit_transaction)(30)
    finally:
        within("closing a consumer", consumer.close)


def await_ends_of_transactions(committed: Settings, every: Settings) -> None:
    """Wait until the log has the ends of the transactions, which a broker writes after it has answered the producer."""
    end = time.monotonic() + 60
    while log_bounds(committed) != log_bounds(every):
        assert time.monotonic() < end, "a transaction is still open"


@pytest.fixture(scope="module")
def cluster(broker: Cluster) -> Cluster:
    """Return the broker; its log has commits outside of transactions, in a committed and in an aborted transaction."""
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic(TOPIC, 1)])[TOPIC].result(30)
    consumer = Consumer({"bootstrap.servers": broker.address, "group.id": GROUP})
    within("a commit", lambda: consumer.commit(offsets=[TopicPartition(TOPIC, 0, 5)], asynchronous=False))
    within("closing a consumer", consumer.close)
    commit_in_transaction(broker, 6, abort=False)
    commit_in_transaction(broker, 7, abort=True)
    options = {"kafka.bootstrap.servers": broker.address}
    await_ends_of_transactions(Settings.read(options), Settings.read({**options, "isolation": "read_uncommitted"}))
    return broker


def test_reading_committed_or_all_records_changes_nothing_in_the_cluster(cluster: Cluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.address})
    options = {"kafka.bootstrap.servers": cluster.address, "cluster": "test"}
    every = Settings.read({**options, "isolation": "read_uncommitted"})
    before = log_bounds(every)
    assert [5, 6] == committed(Settings.read(options))
    assert [5, 6, 7] == committed(every)

    assert not {GROUP, READER} & groups_since(every, before), "reading writes nothing to the log"
    groups = {group.group_id for group in admin.list_consumer_groups().result(60).valid}
    assert GROUP in groups
    assert READER not in groups


@pytest.mark.spark
def test_sparks_connector_reads_the_same_records(cluster: Cluster, tmp_path: Path) -> None:
    if tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 2):
        pytest.skip(f"the jars of Spark's Kafka connector are for Spark 4.2 and newer, not {pyspark.__version__}")
    jars = maven_jars.TARGET / "spark-kafka"
    try:
        maven_jars.install(Path(__file__).parents[1] / "spark" / "pom.xml", jars)
    except maven_jars.JarsMissingError as error:
        pytest.skip(f"the jars of Spark's Kafka connector are missing: {error}")

    settings = Settings.read({"kafka.bootstrap.servers": cluster.address, "cluster": "test"})
    bounds = log_bounds(settings)
    arguments = [cluster.address, str(len(bounds)), str(jars), str(tmp_path)]
    ended = programs.run([sys.executable, connector_program.__file__, *arguments], tmp_path)

    def known(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the sorted rows before the ends in `bounds`; other tests may have written later rows meanwhile."""
        found = [row for row in rows if row["offset"] < bounds[row["partition"]][1]]
        return sorted(found, key=lambda row: (row["partition"], row["offset"]))

    assert 0 == ended.returncode, ended.stderr[-3000:]
    batch, every, stream = (
        known(pq.read_table(tmp_path / name).to_pylist()) for name in ("read_committed", "read_uncommitted", "stream")
    )
    assert [5, 6] == commits(batch)
    assert [5, 6, 7] == commits(every)
    assert batch == stream
    ranges = [OffsetRange(id, start, end) for id, (start, end) in bounds.items()]
    ours = [row for each in ranges for found in read_range(settings, each) for row in found.to_pylist()]
    assert ours == batch
    assert schemas.CLUSTER_RECORDS.fieldNames() == list(batch[0])
