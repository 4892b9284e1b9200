"""Data directories of real brokers: read equal to what a live recording of the same cluster has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import confluent_kafka
import pyarrow.dataset as ds
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from assignor.cli import main
from assignor.cluster import Recording
from assignor.sources.source import open_source
from tests.broker.cluster import Cluster
from tests.broker.groups import Groups
from tests.broker.running import running
from tests.cli.running import run
from tests.support.time_limit import within

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.broker

SMALL_SEGMENTS = {"log.roll.ms": "1500", "log.cleaner.enable": "false"}
"""Settings with which the log has several segments that nothing changes."""


class Recorded(NamedTuple):
    """A live recording of a cluster, and a copy of its data directories of the same time.

    Attributes:
        live: Folder of the recording.
        data: Folder with the data directories.
        producing: Address and groups, while the cluster runs.
    """

    live: Path
    data: Path


def rows(folder: Path) -> list[tuple[Any, ...]]:
    """Return the records of a recording, by partition and offset."""
    found = ds.dataset(folder / "records.parquet").to_table().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def events(*paths: object) -> list[str]:
    """Return the events that `replay --json` prints."""
    ended = run(["replay", *paths, "--json"])
    assert ended.code == 0, ended.err
    return ended.out.splitlines()


def commit_in_transactions(address: str, group: str) -> None:
    """Commit offsets 5, 6 and 7 of a topic in transactions. The second one is aborted."""
    for offset in (5, 6, 7):
        producer = Producer({"bootstrap.servers": address, "transactional.id": f"{group}-{offset}"})
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("quiet", b"record", partition=0)
        consumer = confluent_kafka.Consumer({"bootstrap.servers": address, "group.id": group})
        position = [TopicPartition("quiet", 0, offset)]
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), 30)
        (producer.abort_transaction if offset == 6 else producer.commit_transaction)(30)
        within("closing a consumer", consumer.close)


def produce(address: str) -> None:
    """Produce 3,000 records to the topic orders, and delete the first ones of a partition."""
    producer = Producer({"bootstrap.servers": address, "linger.ms": 0, "batch.num.messages": 7})
    for number in range(3_000):
        producer.produce("orders", b"%d" % number, partition=number % 6)
    assert producer.flush(30) == 0
    admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
    future = admin.delete_records([TopicPartition("orders", 1, 100)])
    next(iter(future.values())).result(30)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Record a broker with groups of all kinds, and copy its data directory after it was stopped."""
    place = tmp_path_factory.mktemp("kafka")
    with running(Cluster, place, SMALL_SEGMENTS) as cluster:
        groups = Groups(cluster)
        try:
            groups.start()
            produce(cluster.address)
            commit_in_transactions(cluster.address, "in-transactions")
        finally:
            groups.end()
        live = place / "live"
        assert main(["record", "--bootstrap-server", cluster.address, "--out", str(live), "--until-end"]) == 0
        cluster.stop()
    return Recorded(live, place / "data")


def test_records_equal_those_of_the_live_recording(recorded: Recorded) -> None:
    with open_source([recorded.data]) as read:
        assert rows(read.folder) == rows(recorded.live)
        assert set(read.aborted) == set(Recording.open(recorded.live).aborted) != set()
        assert len(list((recorded.data / "__consumer_offsets-0").glob("*.log"))) > 1
