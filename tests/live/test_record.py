"""Recorder on a real broker: it records all, continues after any interruption, and changes nothing on the cluster."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import random
import re
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from assignor.cli import main
from assignor.cluster import Recording, recorder
from assignor.cluster.connection import CONSUMER, ClientSettings
from assignor.cluster.log import READ_COMMITTED, READ_UNCOMMITTED, LogReader, OffsetsLog
from assignor.cluster.properties import parse_properties, to_librdkafka
from assignor.cluster.recorder import record
from assignor.offsets import decode_record
from tests.support.recorded_fleet import RECORDING
from tests.support.shell_examples import examples
from tests.support.time_limit import within

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.broker.cluster import Cluster

pytestmark = pytest.mark.broker

Place = tuple[int, int]

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "record-a-cluster.md"
_numbers = itertools.count()


class Commits:
    """Group whose offsets are committed, in and outside of transactions."""

    def __init__(self, broker: Cluster) -> None:
        number = next(_numbers)
        self.group, self.topic = f"recorded-{number}", f"recorded-topic-{number}"
        self._address = broker.address
        self.admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
        self.admin.create_topics([NewTopic(self.topic, 1)])[self.topic].result(30)

    def plain(self, offsets: range) -> None:
        """Commit offsets one by one."""
        with self._consumer() as consumer:
            for offset in offsets:
                places = [TopicPartition(self.topic, 0, offset)]
                commit = functools.partial(consumer.commit, offsets=places, asynchronous=False)
                within(f"the commit of {places}", commit)

    @contextlib.contextmanager
    def transaction(self, offset: int) -> Iterator[Producer]:
        """Commit an offset in a transaction, which the `with` block then commits or aborts."""
        producer = Producer({"bootstrap.servers": self._address, "transactional.id": f"{self.group}-{offset}"})
        producer.init_transactions(30)
        producer.begin_transaction()
        with self._consumer() as consumer:
            position = [TopicPartition(self.topic, 0, offset)]
            producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), 30)
        yield producer

    @contextlib.contextmanager
    def _consumer(self) -> Iterator[Consumer]:
        consumer = Consumer({"bootstrap.servers": self._address, "group.id": self.group})
        try:
            yield consumer
        finally:
            within(f"closing the consumer of {self.group}", consumer.close)


def rows(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ds.dataset(folder / "records.parquet").to_table().to_pylist()
    return found


def places(folder: Path) -> list[Place]:
    return [(row["partition"], row["offset"]) for row in rows(folder)]


def in_log(address: str, isolation: str) -> list[Place]:
    """Return the place of each record of the log, read by a consumer of the test's own."""
    given = {"bootstrap.servers": address, "group.id": "unused", "isolation.level": isolation}
    consumer = Consumer({**given, "enable.auto.commit": False, "enable.partition.eof": True})
    found: list[Place] = []
    left = {0, 1}
    consumer.assign([TopicPartition("__consumer_offsets", id, 0) for id in left])
    end = time.monotonic() + 60
    while left:
        assert time.monotonic() < end, f"partitions {left} of the log were not read within 60 s"
        for message in consumer.consume(1_000, 0.05):  # returns after 0.05 s, or earlier with 1,000 messages
            if message.error():
                left.discard(message.partition() or 0)
            else:
                found.append((message.partition() or 0, message.offset() or 0))
    within("closing the reader of the log", consumer.close)
    return found


def masked(lines: list[str]) -> list[str]:
    """Return lines with `0` for each number."""
    return [re.sub(r"\d[\d,]*", "0", line) for line in lines]


def command(address: str, folder: Path, *options: str) -> list[str]:
    return [*("record", "--bootstrap-server", address, "--out", str(folder)), *options]


def test_a_recording_has_all_records_and_the_aborted_ones(broker: Cluster, tmp_path: Path) -> None:
    commits = Commits(broker)
    commits.plain(range(5))
    for offset, is_aborted in ((5, False), (6, True), (7, False)):
        with commits.transaction(offset) as producer:
            (producer.abort_transaction if is_aborted else producer.commit_transaction)(30)
    every, committed = (in_log(broker.address, level) for level in (READ_UNCOMMITTED, READ_COMMITTED))
    groups = {group.group_id for group in commits.admin.list_consumer_groups().result(60).valid}

    assert 0 == main(command(broker.address, tmp_path, "--until-end"))

    assert sorted(every) == sorted(places(tmp_path))
    aborted = Recording.open(tmp_path).aborted
    assert set(every) - set(committed) == set(aborted)
    decoded = [(row, decode_record(row["key"], row["value"])) for row in rows(tmp_path)]
    own = {
        record.value["offset"]: (row["partition"], row["offset"]) in aborted
        for row, record in decoded
        if record.type == 1 and record.key["group"] == commits.group and record.value
    }
    assert {**dict.fromkeys(range(6), False), 6: True, 7: False} == own
    assert in_log(broker.address, READ_UNCOMMITTED) == every, "recording writes nothing to the log"
    assert groups == {group.group_id for group in commits.admin.list_consumer_groups().result(60).valid}
    assert CONSUMER["group.id"] not in groups


def test_topics_and_end_offsets_are_those_of_the_cluster(broker: Cluster, tmp_path: Path) -> None:
    commits = Commits(broker)
    producer = Producer({"bootstrap.servers": broker.address})
    for _ in range(7):
        producer.produce(commits.topic, b"v")
    producer.flush(30)
    commits.plain(range(1))

    record(ClientSettings.read(broker.address), tmp_path, until_end=True)

    topics = [row for row in Recording.open(tmp_path).topics().to_pylist() if row["topic"] == commits.topic]
    ends = ds.dataset(tmp_path / "end_offsets.parquet").to_table().to_pylist()
    assert {(0, (None,))} == {(row["partition"], tuple(row["racks"])) for row in topics}
    assert 22 == len(topics[0]["topic_id"])
    assert {(0, 7, 0)} == {
        (row["partition"], row["end_offset"], row["start_offset"]) for row in ends if row["topic"] == commits.topic
    }
    assert 2 == len({row["at"] for row in ends}), "one snapshot at the start, one at the end"


def test_records_after_an_open_transaction_are_left_to_the_next_run(
    broker: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commits = Commits(broker)
    with commits.transaction(3) as producer:
        found = record(ClientSettings.read(broker.address, timeout=3), tmp_path, until_end=True)
        assert found.is_open
        assert 0 < found.missing
        producer.abort_transaction(30)

    assert 0 == main(command(broker.address, tmp_path, "--until-end"))
    assert sorted(in_log(broker.address, READ_UNCOMMITTED)) == sorted(places(tmp_path))
    committed = in_log(broker.address, READ_COMMITTED)
    assert set(places(tmp_path)) - set(committed) == set(Recording.open(tmp_path).aborted)
    assert "recorded 1 records" in capsys.readouterr().err


def test_small_rounds_and_batches_give_the_same_records(
    broker: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Commits(broker).plain(range(20))
    Commits(broker).plain(range(5))
    monkeypatch.setattr(recorder, "ROUND_RECORDS", 1)
    monkeypatch.setattr(LogReader.poll, "__defaults__", (3,))
    monkeypatch.setattr(recorder, "COMMIT_SECONDS", 0.0)

    record(ClientSettings.read(broker.address, timeout=60), tmp_path, until_end=True)

    found = places(tmp_path)
    assert sorted(in_log(broker.address, READ_UNCOMMITTED)) == sorted(found)
    for id in (0, 1):
        offsets = [offset for partition, offset in found if partition == id]
        assert sorted(offsets) == offsets, "the files are in the order of the log"


def test_a_reader_resumes_partitions_before_it_assigns_them_again(broker: Cluster) -> None:
    for _ in range(2):  # consecutive group ids are on both partitions of the log
        Commits(broker).plain(range(5))
    settings = ClientSettings.read(broker.address, timeout=20)
    log = OffsetsLog(settings, isolation=READ_UNCOMMITTED)
    ends = {id: end for id, (_, end) in log.bounds(settings.admin()).items()}
    present = set(in_log(broker.address, READ_UNCOMMITTED))
    rng = random.Random(1)

    with LogReader(log, **{"auto.offset.reset": "earliest"}) as reader:
        reader._consumer = consumer = Mock(wraps=reader._consumer)
        for _ in range(10):
            starts = {id: rng.randint(0, end) for id, end in ends.items()}
            stops = {id: rng.randint(start, ends[id]) for id, start in starts.items()}
            reader.assign(starts, stops)
            last = [name for name, _, _ in consumer.method_calls[-2:]]
            assert ["resume", "assign"] == last, (
                "librdkafka may drop the records of a partition that is resumed too late"
            )
            found = [place for batch in reader.batches() for place in zip(*batch.to_pydict().values(), strict=True)]
            wanted = {(id, offset) for id, offset in present if starts[id] <= offset < stops[id]}
            assert wanted == {place[:2] for place in found}

    consumer.pause.assert_called()


def test_report_on_a_live_cluster_equals_the_report_on_its_recording(
    broker: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commits = Commits(broker)
    commits.plain(range(3))

    def report(*options: str) -> dict[str, Any]:
        assert 0 == main(["report", *options, "--json"])
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    kept = report("--bootstrap-server", broker.address, "--keep", "kept", "--out", "out")
    assert commits.group in [group["group"] for group in kept["groups"]]
    assert report("kept", "--out", "again") == kept
    assert 0 == main(["report", "--bootstrap-server", broker.address, "--json"])
    printed = capsys.readouterr()
    temporary = json.loads(printed.out)
    assert re.search(r"^assignor: recorded \d+ records, \d+ of aborted transactions$", printed.err, re.MULTILINE)
    assert [group["group"] for group in kept["groups"]] == [group["group"] for group in temporary["groups"]]
    assert {"kept", "out", "again", "assignor-report"} == {path.name for path in tmp_path.iterdir()}
    assert 2 == main(["report", "kept", "--bootstrap-server", broker.address])
    assert (
        "either the PATH of a recording or of a broker's data directory, or --bootstrap-server"
        in capsys.readouterr().err
    )


def test_the_commands_of_the_page_run(
    broker: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    commits = Commits(broker)
    commits.group = "billing"
    for offset in (3, 1):  # an offset that goes back is an event
        commits.plain(range(offset, offset + 1))
    printed = {}
    for example in examples(PAGE.read_text(encoding="utf-8")):
        program, *words = shlex.split(example.command.replace("broker-1:9092", broker.address))
        assert "assignor" == program
        assert 0 == main(words)
        found = capsys.readouterr()
        printed[words[0]] = found.out
        if example.output:
            assert masked(example.output) == masked(found.err.splitlines())

    assert {"record", "report", "replay"} == printed.keys()
    assert "billing" in printed["report"]
    assert "billing" in printed["replay"]


def test_the_settings_and_options_of_the_page_exist(capsys: pytest.CaptureFixture[str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (properties,) = re.findall(r"^```properties\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    with pytest.raises(SystemExit):
        main(["record", "--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}

    assert "SCRAM-SHA-512" == to_librdkafka(parse_properties(properties.encode()))["sasl.mechanisms"]
    assert known == set(re.findall(r"^\| `(--[a-z-]+)", page, re.MULTILINE))


def test_a_topic_with_a_copy_of_the_log_can_be_recorded(broker: Cluster, tmp_path: Path) -> None:
    fleet = pq.read_table(RECORDING / "records.parquet", columns=["key", "value"]).slice(0, 500).to_pylist()
    admin = AdminClient({"bootstrap.servers": broker.address})
    admin.create_topics([NewTopic("copied-log", 1)])["copied-log"].result(30)
    producer = Producer({"bootstrap.servers": broker.address})
    for row in fleet:
        producer.produce("copied-log", row["value"], row["key"])
    assert 0 == producer.flush(60)

    found = record(ClientSettings.read(broker.address), tmp_path / "out", until_end=True, topic="copied-log")

    assert (500, 0, 0) == (found.records, found.aborted, found.missing)
    assert fleet == [{name: row[name] for name in ("key", "value")} for row in rows(tmp_path / "out")]
