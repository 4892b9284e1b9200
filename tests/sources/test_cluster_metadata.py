"""Records of `__cluster_metadata` are read as Kafka's own classes read and write them."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from assignor import _core
from assignor.errors import IllegalArgumentError, WrongTypeError
from tests.sources.metadata_records import (
    EVERY_VERSION,
    KINDS,
    MetadataOracle,
    every_version,
    expected_row,
    random_id,
    random_record,
    read,
    read_one,
)
from tests.support.kafka_program import OracleMissingError
from tests.support.mutation import mutated

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = 40

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"


@pytest.fixture(scope="module")
def oracle() -> Iterator[MetadataOracle]:
    try:
        started = MetadataOracle()
    except OracleMissingError as error:
        pytest.skip(str(error))
    with started:
        yield started


def test_each_version_that_kafka_writes_is_read() -> None:
    seen = Counter[int]()
    for kind, version, data, value in every_version():
        seen[kind] += 1
        assert expected_row(kind, data) == read_one(value), (kind, version)
    assert seen == {kind: each.newest + 1 for kind, each in KINDS.items()}


@pytest.mark.broker
def test_random_records_are_read_as_kafka_wrote_them(oracle: MetadataOracle) -> None:
    rng = random.Random(40)
    found = {}
    for kind, each in KINDS.items():
        for version in range(each.newest + 1):
            for _ in range(SAMPLES * (25 if LONG else 1)):
                data = random_record(rng, kind, version)
                value = oracle.encoded(kind, version, data)
                assert expected_row(kind, data) == read_one(value), (kind, version, data)
                if kind != 17 or data.get("fenced"):
                    found[kind, version] = {"type": kind, "version": version, "data": data, "bytes": value.hex()}
    if os.environ.get("ASSIGNOR_RECORD"):
        lines = [json.dumps(each, ensure_ascii=False) for each in found.values()]
        EVERY_VERSION.write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.broker
def test_the_newest_versions_are_those_of_kafka(oracle: MetadataOracle) -> None:
    newest = oracle.newest()

    assert {kind: newest[kind] for kind in KINDS} == {kind: each.newest for kind, each in KINDS.items()}
    assert max(newest) == 28
    for kind in newest.keys() - KINDS.keys():
        assert read_one(bytes([1, kind, newest[kind]])) is None


@pytest.mark.broker
def test_bytes_that_are_read_are_those_that_kafka_reads(oracle: MetadataOracle) -> None:
    """Kafka also reads the fields that are skipped here, so it may reject more, but nothing that is rejected here."""
    rng = random.Random(41)
    outcomes = Counter[str]()
    samples = list(every_version())
    for _ in range(20_000 if LONG else 800):
        value = mutated(rng, rng.choice(samples)[3])
        row, kafka = read_one(value), oracle.decoded(value)
        if row is None:
            continue
        outcomes[row["change"]] += 1
        if row["change"] not in {"unreadable", "newer"} and "data" in kafka:
            assert expected_row(kafka["type"], kafka["data"]) == row
        elif row["change"] == "unreadable":
            assert "error" in kafka, (value.hex(), row)
    assert outcomes["unreadable"] > 100
    assert outcomes["partition_changed"] > 5


def test_frame_version_0_of_kafka_2_8_has_fixed_lengths() -> None:
    topic = bytes(range(16))
    name = "AAECAwQFBgcICQoLDA0ODw"
    ids = b"\0\0\0\2\0\0\0\1\0\0\0\2"
    partition = b"\0\3\0" + b"\0\0\0\7" + topic + ids + ids + b"\xff\xff\xff\xff" * 2 + b"\0\0\0\2" + b"\0\0\0\5" * 2
    broker = b"\0\0\0" + b"\0\0\0\1" + topic + bytes(7) + b"\5" + bytes(4) + bytes(4) + b"\0\2r1"
    changed = b"\0\5\0" + b"\0\0\0\7" + topic + b"\1\1\4\xff\xff\xff\xff"

    assert read_one(b"\0\2\0\0\3abc" + topic) == {"change": "topic", "topic": "abc", "topic_id": name}
    assert read_one(partition) == {
        "change": "partition",
        "topic_id": name,
        "partition": 7,
        "replicas": [1, 2],
        "isr": [1, 2],
        "leader": 2,
    }
    assert read_one(broker) == {
        "change": "broker",
        "broker": 1,
        "broker_epoch": 5,
        "rack": "r1",
        "is_fenced": True,
    }
    assert read_one(changed) == {"change": "partition_changed", "topic_id": name, "partition": 7, "leader": -1}


def test_rows_have_the_offsets_and_timestamps_of_their_records() -> None:
    values = {kind: value for kind, _, _, value in every_version()}
    found = read(values[2], bytes([1, 20, 0]), values[9], None)

    assert [(row["offset"], row["timestamp"], row["change"]) for row in found] == [
        (0, 1_000, "topic"),
        (2, 1_002, "topic_removed"),
        (3, 1_003, "unreadable"),
    ]


@pytest.mark.parametrize(
    ("value", "change", "reason"),
    [
        (b"\2\2\0", "newer", "frame version 2, type 2, version 0"),
        (b"\1\x1d\0", "newer", "frame version 1, type 29, version 0"),
        (b"\1\2\1", "newer", "frame version 1, type 2, version 1"),
        (b"\1\2\0\4ab", "unreadable", "3 bytes are needed and 2 remain at offset 3 while reading TopicRecord.name"),
        (b"\1\2", "unreadable", "1 bytes are needed and 0 remain at offset 2 while reading version"),
        (b"\1\xff\xff\xff\xff\x0f", "unreadable", "-1 is negative at offset 1 while reading type"),
        (b"\1\x18\0\0!", "unreadable", "1 bytes follow the last field at offset 4 while reading EndTransactionRecord"),
        (b"", "unreadable", "1 bytes are needed and 0 remain at offset 0 while reading frameVersion"),
    ],
)
def test_records_that_cannot_be_read_say_why(value: bytes, change: str, reason: str) -> None:
    assert read_one(value) == {"change": change, "reason": reason}


def test_a_count_reserves_no_memory() -> None:
    huge = b"\xff\xff\xff\xff\x07"
    row = read_one(b"\1\3\0" + bytes(20) + huge + bytes(8))

    assert row is not None
    assert "do not fit in the 8 that remain" in row["reason"]


def test_columns_of_other_types_or_lengths_are_rejected() -> None:
    numbers, values = pa.array([1], pa.int64()), pa.array([b""], pa.binary())

    with pytest.raises(WrongTypeError, match="offsets must be an Arrow array of int64 without nulls"):
        _core.read_cluster_metadata(pa.array([None], pa.int64()), numbers, values)
    with pytest.raises(WrongTypeError, match="timestamps must be an Arrow array of int64"):
        _core.read_cluster_metadata(numbers, pa.array([1], pa.int32()), values)
    with pytest.raises(WrongTypeError, match="values must be of binary"):
        _core.read_cluster_metadata(numbers, numbers, pa.array(["a"]))
    with pytest.raises(IllegalArgumentError, match="offsets has 1 rows, timestamps 1 and values 2"):
        _core.read_cluster_metadata(numbers, numbers, pa.array([b"", b""], pa.binary()))


def test_a_topic_id_is_in_kafkas_text_form() -> None:
    wanted = random_id(random.Random(1))
    (value,) = (value for kind, _, _, value in every_version() if kind == 9)
    data = next(data for kind, _, data, _ in every_version() if kind == 9)

    assert len(wanted) == 22
    assert read_one(value) == {"change": "topic_removed", "topic_id": data["topicId"]}
