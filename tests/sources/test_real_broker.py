"""Data directories of real brokers: read equal to what a live recording of the same cluster has."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import confluent_kafka
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor.cli import main
from assignor.cluster import Recording
from assignor.lag_time_sums import SUMMED_TIME
from assignor.sources.source import open_source
from tests.broker.admin import Admin
from tests.broker.cluster import Cluster
from tests.broker.groups import Groups
from tests.broker.plugins.racks import RackedCluster
from tests.broker.running import running
from tests.cli.running import run
from tests.support.committed_offsets import commit_offset
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
    """

    live: Path
    data: Path


def rows(folder: Path) -> list[tuple[Any, ...]]:
    """Return the records of a recording, by partition and offset."""
    found = ds.dataset(folder / "records.parquet").to_table().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def last_rows(folder: Path, name: str, time: str) -> list[tuple[Any, ...]]:
    """Return the rows of a table at its last time, without the time, by topic and partition."""
    found = ds.dataset(folder / f"{name}.parquet").to_table()
    last = found.filter(pc.equal(found[time], pc.max(found[time]))).drop_columns(time)
    return sorted(tuple(row.values()) for row in last.to_pylist())


def notes_of(path: Path) -> list[str]:
    """Return the notes on a data directory; a running broker may change it meanwhile."""
    with open_source([path]) as read:
        return list(read.notes)


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


def test_events_equal_those_of_the_live_recording(recorded: Recorded) -> None:
    found = events(recorded.data)

    assert found == events(recorded.live)
    assert len(found) > 50


def test_topics_and_end_offsets_equal_those_of_the_cluster(recorded: Recorded) -> None:
    with open_source([recorded.data]) as read:
        topics, live_topics = (last_rows(folder, "topics", "t") for folder in (read.folder, recorded.live))
        ends, live_ends = (last_rows(folder, "end_offsets", "at") for folder in (read.folder, recorded.live))
    assert [row[:3] for row in topics] == [row[:3] for row in live_topics]
    assert ("orders", 0, 0, 500) in ends
    assert ends == [row for row in live_ends if row[:2] in {each[:2] for each in ends}]


def test_a_report_equals_that_of_the_live_recording(recorded: Recorded, tmp_path: Path) -> None:
    reports = []
    for number, folder in enumerate((recorded.data, recorded.live)):
        ended = run(["report", folder, "--json", "--out", tmp_path / str(number)])
        found = json.loads(ended.out, object_hook=_without_times)
        assert ("one_measurement" in ended.out) == (folder == recorded.data), "a folder has the ends of topics once"
        found.pop("notes", None)
        unknown = found.pop("share_lag_unknown")
        assert (unknown is None) == (folder == recorded.data), "a recording does not have __share_group_state"
        assert (found.pop("brokers") is None) == (folder == recorded.live), "only the controllers' log has them"
        for finding in found["findings"]:
            finding["since"] = None
        reports.append(found)

    assert reports[0] == reports[1]


def _without_times(given: dict[str, Any]) -> dict[str, Any]:
    """Return an object without its time, and without the lag in time, which needs the ends of topics over time."""
    found = {name: value for name, value in given.items() if name not in _MEASURED}
    return {**found, "at": None} if "at" in found else found


_MEASURED = {*SUMMED_TIME.names} - {"records_to_start", "start_reason"}


def test_one_partition_folder_and_one_segment_have_their_part(recorded: Recorded) -> None:
    expected = [row for row in rows(recorded.live) if row[0] == 1]
    folder = recorded.data / "__consumer_offsets-1"
    first, *_ = sorted(folder.glob("*.log"))
    with open_source([folder]) as read:
        assert rows(read.folder) == expected
    with open_source([first]) as read:
        found = rows(read.folder)
        assert found == expected[: len(found)] != []


def test_replicas_of_three_killed_brokers_are_merged(tmp_path: Path) -> None:
    place, live = tmp_path / "cluster", tmp_path / "live"
    place.mkdir()
    factors = {"offsets_topic_replication_factor": "3", "default_replication_factor": "3"}
    with running(RackedCluster, place, ("a", "b", "c"), **factors) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.address, "log_level": 0})
        admin.create_topics([NewTopic("orders", 3, 3)])["orders"].result(30)
        for number in range(20):
            commit_offset(cluster.address, f"group-{number % 3}", number, "orders")
        assert main(["record", str(live), "--bootstrap-server", cluster.address, "--until-end"]) == 0
    with open_source([place]) as read:
        assert rows(read.folder) == rows(live)
        assert not [note for note in read.notes if "replica" in note or "partitions of __consumer" in note]
        assert last_rows(read.folder, "end_offsets", "at") == [("orders", 0, 0, 0)]
    assert events(place) == events(live)
    with open_source([place / "3"]) as read:
        assert rows(read.folder) == rows(live), "one replica has all records"


def test_a_compacted_log_of_a_killed_broker_keeps_the_last_record_of_each_key(tmp_path: Path) -> None:
    live = tmp_path / "live"
    compacting = {
        "log.roll.ms": "500",
        "log.cleaner.backoff.ms": "100",
        "log.cleaner.min.cleanable.ratio": "0.01",
        "offsets.topic.num.partitions": "1",
    }
    with running(Cluster, tmp_path, compacting) as cluster:
        with cluster.connect() as connection:
            Admin(connection).create_topics({"orders": 1})
            Admin(connection).await_coordinators()
        end = time.monotonic() + 60
        while not any("as compaction leaves it" in note for note in notes_of(tmp_path / "data")):
            assert time.monotonic() < end, "the log was not compacted within 60 s"
            for number in range(20):
                commit_offset(cluster.address, "compacted", number, "orders")
        assert main(["record", "--bootstrap-server", cluster.address, "--out", str(live), "--until-end"]) == 0
        cluster.kill()
    with open_source([tmp_path / "data"]) as read:
        found = rows(read.folder)
    assert set(found) <= set(rows(live)), "the cleaner may have gone on after the recording"
    assert {row[3]: row for row in found} == {row[3]: row for row in rows(live)}
