"""Segments that a real broker wrote: the engine reads the records that the broker's own class reads from the files."""

from __future__ import annotations

import random
import shutil
import struct
import threading
import time
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.broker.cluster import Cluster
from tests.broker.running import running
from tests.sources.segment_rows import SegmentProgram, read
from tests.support.kafka_program import OracleMissingError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

pytestmark = pytest.mark.broker

CODECS = ("uncompressed", "gzip", "snappy", "lz4", "zstd")

SETTINGS = {"log.cleaner.backoff.ms": "100", "log.initial.task.delay.ms": "0", "log.cleaner.threads": "1"}
"""Compaction starts without a delay."""

COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "1800000"}

DELETE_HORIZON = 1 << 6
"""Attribute of a batch that has a delete horizon."""

PREALLOCATED = {"preallocate": "true", "segment.bytes": "4194304"}

LATER = 45 * 60_000
"""Time in milliseconds after which a new segment begins; a broker refuses records that are an hour ahead."""


class Written:
    """Topics of a broker, and the files that they have become.

    Args:
        broker: A running broker, which is killed while a producer writes.
        folder: Folder of its data.
    """

    def __init__(self, broker: Cluster, folder: Path) -> None:
        self._broker, self._folder = broker, folder
        self._admin = AdminClient({"bootstrap.servers": broker.address})
        self._write_each_codec()
        self._write_transactions()
        self._compact()
        self._kill_while_writing()
        self.paths = {str(path.relative_to(folder)): path for path in sorted(folder.glob("*/*.log"))}

    def topic(self, name: str) -> list[Path]:
        """Return the files of the only partition of a topic."""
        return [path for each, path in self.paths.items() if each.startswith(f"{name}-0/")]

    def _create(self, name: str, settings: Mapping[str, str]) -> str:
        self._admin.create_topics([NewTopic(name, 1, config=dict(settings))])[name].result(30)
        return name

    def _producer(self, **settings: object) -> Producer:
        return Producer({"bootstrap.servers": self._broker.address, "linger.ms": 20, **settings})

    def _write_each_codec(self) -> None:
        """Write to topics that the broker compresses, and with producers that compress."""
        for codec in CODECS:
            plain = self._producer()
            name = self._create(f"broker-{codec}", {"compression.type": codec})
            write(plain, name, 100, has_headers=True)
            compressing = self._producer(**{"compression.type": codec.replace("uncompressed", "none")})
            write(compressing, self._create(f"client-{codec}", {"message.timestamp.type": "LogAppendTime"}), 100)

    def _write_transactions(self) -> None:
        name = self._create("transactions", {})
        producer = self._producer(**{"transactional.id": "t"})
        producer.init_transactions(30)
        for end in (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction):
            producer.begin_transaction()
            write(producer, name, 5)
            end(30)

    def _compact(self) -> None:
        """Write keys again and again, tombstones and transactions, and wait until the broker has compacted the log."""
        name = self._create("compacted", COMPACTED)
        transactional = self._producer(**{"transactional.id": "c"})
        transactional.init_transactions(30)
        for end in (transactional.commit_transaction, transactional.abort_transaction):
            transactional.begin_transaction()
            write(transactional, name, 10, at=1)
            end(30)
        write(self._producer(**{"enable.idempotence": True}), name, 10, at=2)
        producer = self._producer()
        for key in range(5):
            producer.produce(name, None, f"key-{key}", timestamp=int(time.time() * 1000))
        write(producer, name, 10, at=4, first=5)
        # The active segment is not compacted; a record that is a day later begins a new one.
        write(producer, name, 1, at=LATER)
        deadline = time.monotonic() + 30
        first = self._folder / f"{name}-0" / f"{0:020}.log"
        while not is_compacted(first) and time.monotonic() < deadline:
            time.sleep(0.05)

    def _kill_while_writing(self) -> None:
        """Kill the broker while it appends to two files; one file is preallocated."""
        names = [self._create("killed", {}), self._create("preallocated", PREALLOCATED)]
        is_over, is_written = threading.Event(), threading.Event()
        written: list[object] = []

        def delivered(_: object, message: object) -> None:
            written.append(message)
            if len(written) == 400:
                is_written.set()

        def produce() -> None:
            producer = self._producer(**{"linger.ms": 1, "message.timeout.ms": 1_000, "log_level": 0})
            while not is_over.is_set():
                for name in names:
                    producer.produce(name, b"v" * 500, callback=delivered)
                producer.poll(0)
                time.sleep(0.0005)
            producer.purge()

        thread = threading.Thread(target=produce, daemon=True)
        thread.start()
        assert is_written.wait(60)
        self._broker.kill()
        is_over.set()
        thread.join(60)


def write(
    producer: Producer, topic: str, count: int, *, at: int = 0, first: int = 0, has_headers: bool = False
) -> None:
    """Write records with keys from a number on, in a few batches; their time is `at` milliseconds after now."""
    headers: list[tuple[str, str | bytes | None]] = [("h", b"1"), ("null", None)] if has_headers else []
    for number in range(first, first + count):
        value = f"{topic} value {number} at {at} ".encode() * 5
        producer.produce(topic, value, f"key-{number}", timestamp=int(time.time() * 1000) + at, headers=headers)
        if number % 25 == 24:
            producer.flush(30)
    assert producer.flush(30) == 0


def is_compacted(path: Path) -> bool:
    """Return True if a file has few of the records that were written; the broker replaces the file."""
    try:
        return len(read(path)[0].rows) <= 20
    except FileNotFoundError:
        return False


def batch_headers(path: Path) -> list[tuple[int, int]]:
    """Return the attributes and the number of records in the header of each batch."""
    data, found, at = path.read_bytes(), [], 0
    while at < len(data):
        size, attributes, count = struct.unpack_from(">8xi9xh34xi", data, at)
        found.append((attributes, count))
        at += 12 + size
    return found


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    folder = tmp_path_factory.mktemp("kafka")
    with running(Cluster, folder, SETTINGS) as broker:
        yield Written(broker, folder / "data")


@pytest.fixture(scope="module")
def kafka() -> Iterator[SegmentProgram]:
    try:
        program = SegmentProgram()
    except OracleMissingError as error:
        pytest.skip(str(error))
    with program:
        yield program


def test_every_segment_of_a_broker_is_read_as_the_broker_reads_it(
    written: Written, kafka: SegmentProgram, tmp_path: Path
) -> None:
    compared = 0
    for name, path in written.paths.items():
        found, end = read(path)
        assert () == end.damage, name
        assert end.read_bytes + end.tail_bytes == path.stat().st_size
        # Kafka's class fails at zeros, and ends before a torn batch.
        kept = tmp_path / "segment.log"
        shutil.copyfile(path, kept)
        if end.tail == "zeros":
            with kept.open("r+b") as file:
                file.truncate(end.read_bytes)
        assert kafka.read(kept) == found, name
        compared += len(found.rows)
    assert compared > 1_400
    assert any(name.startswith("__cluster_metadata-0/") for name in written.paths)


@pytest.mark.parametrize("codec", CODECS)
def test_a_topic_of_each_codec_has_all_records(written: Written, codec: str) -> None:
    for name in (f"broker-{codec}", f"client-{codec}"):
        (path,) = written.topic(name)
        found, _ = read(path)
        assert [f"key-{number}".encode().hex() for number in range(100)] == [row.key for row in found.rows]
        assert set(range(100)) == {row.offset for row in found.rows}
        # The last batch is the largest; lz4 and snappy leave the first of equal values as it is.
        assert (path.read_bytes().count(b"value") == 500) == (codec == "uncompressed")


def test_transactions_have_their_producer_and_markers(written: Written) -> None:
    (path,) = written.topic("transactions")
    found, _ = read(path)
    assert [None] * 5 + [1] + [None] * 5 + [0] + [None] * 5 + [1] == [row.control for row in found.rows]
    assert {True} == {row.is_transactional for row in found.rows}
    assert 1 == len({row.producer_id for row in found.rows} - {-1})


def test_a_compacted_log_keeps_its_end_offset(written: Written) -> None:
    segments = [read(path) for path in written.topic("compacted")]
    first, _ = segments[0]
    offsets = [row.offset for row in first.rows if row.control is None]
    assert len(segments) > 1
    assert 15 == len(offsets) < first.rows[-1].offset
    assert first.end_offset == segments[1][0].rows[0].offset
    # Kafka keeps an empty batch for the last sequence number of a producer.
    attributes, counts = zip(*batch_headers(written.topic("compacted")[0]), strict=True)
    assert 0 in counts
    assert (len(counts), sum(counts)) == (first.batches, len(first.rows))
    # The time of a tombstone counts from the horizon after which Kafka removes it.
    assert any(each & DELETE_HORIZON for each in attributes)


def test_a_killed_broker_leaves_a_tail(written: Written) -> None:
    for name in ("killed", "preallocated"):
        found, end = read(written.topic(name)[-1])
        assert len(found.rows) > 100
        assert list(range(len(found.rows))) == [row.offset for row in found.rows]
        assert (end.tail == "zeros") == (name == "preallocated")


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize("appended", [None, 777])
@pytest.mark.parametrize("magic", [0, 1])
def test_old_formats_are_read_as_kafka_reads_them(
    kafka: SegmentProgram, tmp_path: Path, magic: int, appended: int | None, codec: str
) -> None:
    path = tmp_path / "old.log"
    batches = [
        [
            (
                base + 2 * number,
                1_000 + number,
                None if number % 3 else f"{number:04x}",
                None if number % 5 == 4 else "ab" * number,
            )
            for number in range(40)
        ]
        for base in (10, 200)
    ]
    kafka.write(path, magic, codec, batches, appended)
    expected = kafka.read(path)
    found, end = read(path)
    assert expected == found
    assert ((), "") == (end.damage, end.tail)
    assert [row[0] for batch in batches for row in batch] == [row.offset for row in found.rows]
    times = {-1} if magic == 0 else {appended or 1_000 + number for number in range(40)} - {None}
    assert times == {row.timestamp for row in found.rows}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_batches_of_many_compressed_blocks_are_read_as_kafka_reads_them(
    kafka: SegmentProgram, tmp_path: Path, codec: str
) -> None:
    draw, path = random.Random(11), tmp_path / "large.log"
    words = [draw.randbytes(draw.randrange(1, 12)).hex() for _ in range(300)]
    values = ["".join(draw.choices(words, k=40)) for _ in range(2_000)]
    batches = [[(base + number, 1_000, None, value) for number, value in enumerate(values)] for base in (0, 5_000)]
    kafka.write(path, 2, codec, batches)
    expected = kafka.read(path)
    found, _ = read(path)
    assert expected == found
    assert 2 * values == [row.value for row in found.rows]
