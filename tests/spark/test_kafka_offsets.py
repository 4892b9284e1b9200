"""Data source `kafka_offsets` over librdkafka's mock broker: the records of the log, in batches and as a stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Producer

from assignor.errors import ClusterError, IllegalArgumentError, MissingDependencyError
from assignor.spark import schemas
from assignor.spark.kafka_offsets import (
    HAS_LIMITS,
    NAME,
    KafkaOffsets,
    OffsetRange,
    Settings,
    admitted,
    log_bounds,
    read_range,
)
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOPIC = "offsets-copy"
COUNT = 3_000
PARTITIONS = 4

GROUP_ID: dict[str, Any] = {"kafka.group.id": "g"}

Row = tuple[str, int, int, int, bytes | None, bytes | None]


def rows_of(first: int, count: int) -> list[Row]:
    """Return records of the mock broker's topic, with the offsets that they get."""
    found: list[Row] = []
    for number in range(first, first + count):
        key = None if number % 11 == 0 else b"k%d" % number
        value = None if number % 7 == 0 else b"v" * (number % 50)
        found.append(("eu", number % PARTITIONS, number // PARTITIONS, 1_000 + number, key, value))
    return found


def produce(producer: Producer, rows: list[Row]) -> None:
    """Write records to their partitions."""
    for _, partition, _, timestamp, key, value in rows:
        producer.produce(TOPIC, value, key, partition, timestamp=timestamp)
    assert 0 == producer.flush(30)


@pytest.fixture(scope="module")
def mock() -> Iterator[tuple[Producer, str]]:
    """Return a producer that holds a mock broker, and the broker's address. The topic has `COUNT` records."""
    producer = Producer({"test.mock.num.brokers": 1, "linger.ms": 5})
    produce(producer, rows_of(0, COUNT))
    (broker,) = producer.list_topics(timeout=30).brokers.values()
    yield producer, f"{broker.host}:{broker.port}"
    producer.flush(5)


def settings(address: str, **options: str) -> Settings:
    return Settings.read({"kafka.bootstrap.servers": address, "topic": TOPIC, "cluster": "eu", **options})


def test_a_range_has_its_records_and_no_others(mock: tuple[Producer, str]) -> None:
    _, address = mock
    given = settings(address)

    assert dict.fromkeys(range(PARTITIONS), (0, COUNT // PARTITIONS)) == log_bounds(given)
    for start, end in ((0, 750), (5, 8), (749, 750)):
        (batch,) = read_range(given, OffsetRange(2, start, end))
        expected = [row for row in rows_of(0, COUNT) if row[1] == 2 and start <= row[2] < end]
        assert expected == [tuple(row.values()) for row in batch.to_pylist()]


def test_a_batch_has_all_records(spark: SparkSession, mock: tuple[Producer, str]) -> None:
    from assignor.spark.sources import kafka_offsets

    _, address = mock
    frame = kafka_offsets(
        spark, address, cluster="eu", topic=TOPIC, endingOffsets='{"0": 9999, "3": 7}', startingOffsets='{"1": 9}'
    )

    found = sorted(tuple(row) for row in frame.collect())
    wanted = [row for row in rows_of(0, COUNT) if (row[1] != 3 or row[2] < 7) and (row[1] != 1 or row[2] >= 9)]
    assert sorted(wanted) == found


def test_a_stream_continues_from_its_checkpoint_in_bounded_batches(
    spark: SparkSession, mock: tuple[Producer, str], tmp_path: Path
) -> None:
    from assignor.spark.sources import kafka_offsets

    producer, address = mock
    limit = {"maxOffsetsPerTrigger": 1_000} if HAS_LIMITS else {}

    def run() -> list[int]:
        stream = kafka_offsets(spark, address, stream=True, cluster="eu", topic=TOPIC, partitions="0,2-3", **limit)
        writer = stream.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(availableNow=True).start(str(tmp_path / "out"))
        assert query.awaitTermination(120)
        return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]

    assert ([1_000, 1_000, 250] if HAS_LIMITS else [2_250]) == run()
    produce(producer, rows_of(COUNT, 20))
    assert [15] == run()

    found = sorted(tuple(row) for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert sorted(row for row in rows_of(0, COUNT + 20) if row[1] != 1) == found


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"groups": "a"}, f"{NAME} has no option groups; its options are cluster, topic"),
        ({"kafka.group.id": "a"}, f"{NAME} sets group.id itself; remove the option kafka.group.id"),
        ({"kafka.bootstrap.servers": ""}, f"{NAME} needs the option kafka.bootstrap.servers"),
        ({"isolation": "committed"}, "isolation must be read_committed or read_uncommitted, not 'committed'"),
        ({"partitions": "1-"}, "partitions must be ids and ranges such as '0,4-6', not '1-'"),
        ({"startingOffsets": '{"0": -2}'}, 'startingOffsets must be earliest or JSON such as {"0": 17}'),
        ({"endingOffsets": "earliest"}, "endingOffsets must be latest or JSON"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger must be a positive integer, not '0'"),
    ],
)
def test_invalid_options_are_errors_before_any_job(options: dict[str, str], error: str) -> None:
    with pytest.raises(IllegalArgumentError) as raised:
        Settings.read({"kafka.bootstrap.servers": "127.0.0.1:1", **options})
    assert error in str(raised.value)


def test_a_limit_of_a_stream_is_an_error_where_spark_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assignor.spark.kafka_offsets.HAS_LIMITS", False)
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "maxOffsetsPerTrigger": "10"}

    with pytest.raises(IllegalArgumentError, match=r"maxOffsetsPerTrigger needs Spark 4\.2 or newer, and this is \d"):
        KafkaOffsets(options).streamReader(schemas.CLUSTER_RECORDS)


def test_missing_topics_partitions_and_brokers_are_errors(mock: tuple[Producer, str]) -> None:
    _, address = mock
    with pytest.raises(IllegalArgumentError, match=f"topic {TOPIC} has 4 partitions and no partition 7"):
        log_bounds(settings(address, partitions="0-1,7"))
    with pytest.raises(ClusterError, match=r"^cannot list the topics: no answer from 127.0.0.1:1 within 1 s: "):
        log_bounds(settings("127.0.0.1:1", timeoutSeconds="1"))
    with pytest.raises(
        ClusterError, match=rf"^cannot read topic {TOPIC}, offsets 0 to 8 of partition 3: no answer from"
    ):
        list(read_range(settings("127.0.0.1:1", timeoutSeconds="1"), OffsetRange(3, 0, 9)))


@pytest.mark.parametrize(
    ("starts", "ends", "limit", "expected"),
    [
        ({0: 0, 1: 0}, {0: 10, 1: 5}, 15, {0: 10, 1: 5}),
        ({0: 0, 1: 0}, {0: 10, 1: 5}, 3, {0: 2, 1: 1}),
        ({0: 4, 1: 0}, {0: 5, 1: 100}, 2, {0: 4, 1: 2}),
        ({0: 7}, {0: 9, 2: 1}, 2, {0: 8, 2: 1}),
        ({0: 1, 1: 1, 2: 1}, {0: 2, 1: 2, 2: 2}, 2, {0: 2, 1: 2, 2: 1}),
    ],
)
def test_the_limit_of_a_micro_batch_is_divided_among_partitions_by_lag(
    starts: dict[int, int], ends: dict[int, int], limit: int, expected: dict[int, int]
) -> None:
    assert expected == admitted(starts, ends, limit)


def test_every_admitted_micro_batch_makes_progress() -> None:
    starts, ends = {0: 0, 1: 0, 2: 5}, {0: 1, 1: 1_000, 2: 5}
    steps = 0
    while starts != ends:
        after = admitted(starts, ends, 7)
        assert 1 <= sum(after.values()) - sum(starts.values()) <= 7
        assert all(starts[id] <= after[id] <= ends[id] for id in ends)
        starts, steps = after, steps + 1
    assert 143 == steps


def test_spark_without_the_connector_says_what_to_do(spark: SparkSession) -> None:
    from assignor.spark.sources import kafka_connector

    with pytest.raises(MissingDependencyError) as raised:
        kafka_connector(spark, "127.0.0.1:1", partitions=2)

    package = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark.version}"
    assert f"spark.jars.packages={package}" in str(raised.value)
    assert "assignor.spark.sources.kafka_offsets" in str(raised.value)
    with pytest.raises(IllegalArgumentError, match=r"option kafka\.group\.id is not allowed"):
        kafka_connector(spark, "127.0.0.1:1", partitions=1, isolation="read_committed", **GROUP_ID)
    with pytest.raises(IllegalArgumentError, match="isolation must be read_committed or read_uncommitted, not 'any'"):
        kafka_connector(spark, "127.0.0.1:1", isolation="any")  # type: ignore[arg-type]  # deliberately unknown


def test_a_recording_is_read_without_aborted_records(spark: SparkSession) -> None:
    from assignor.cluster import Recording
    from assignor.spark import schemas
    from assignor.spark.sources import recording_records

    aborted = set(Recording.open(RECORDING).aborted)
    frames = [recording_records(spark, RECORDING), recording_records(spark, RECORDING, isolation="read_uncommitted")]
    committed, every = ({tuple(row) for row in frame.select("partition", "offset").collect()} for frame in frames)

    assert aborted
    assert every - committed == aborted
    assert [schemas.RECORDS.fieldNames()] * 2 == [frame.columns for frame in frames]
