"""Records whose decoded or replayed form is much larger than they are: `decode` and `replay` answer in pieces."""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor.offsets import decode_batch
from assignor.spark.slices import SLICE_BYTES, record_slices
from tests.replay.logs import member
from tests.support.record_bytes import write_record
from tests.support.synthetic_log import RECORDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TOPIC = "t" * 240
PARTITIONS = 20_000


@functools.cache
def wide_group(name: str) -> tuple[bytes, bytes | None]:
    """Return the record of a group with one member and many partitions that are not consecutive."""
    only = member("m" * 36, [TOPIC], {TOPIC: range(0, 2 * PARTITIONS, 2)})
    value = {"protocolType": "consumer", "generation": 1, "leader": only["memberId"], "members": [only]}
    return write_record(2, {"group": name}, {**value, "protocol": "range"}, version=3)


def table(*pairs: tuple[bytes | None, bytes | None]) -> pa.Table:
    """Return records with these keys and values."""
    rows: list[dict[str, Any]] = [
        {"partition": 0, "offset": place, "timestamp": 1_000 + place, "key": key, "value": value}
        for place, (key, value) in enumerate(pairs)
    ]
    return pa.Table.from_pylist(rows, schema=RECORDS)


def test_slices_hold_all_records_in_order_and_at_most_the_limit() -> None:
    sizes = [3, 0, 4, 1, 9, 0, 0, 5, 2]
    records = table(*((b"k" if size else None, b"v" * (size - 1) if size else None) for size in sizes))
    (batch,) = records.combine_chunks().to_batches()
    for limit in (1, 5, 8, 100):
        found = list(record_slices(batch, limit))
        lengths = [sum(sizes[row["offset"]] for row in part.to_pylist()) for part in found]

        assert list(range(len(sizes))) == [row["offset"] for part in found for row in part.to_pylist()]
        assert all(
            length <= limit or 1 == sum(row["key"] is not None for row in part.to_pylist())
            for length, part in zip(lengths, found, strict=True)
        )
        assert all(before + after > limit for before, after in itertools.pairwise(lengths)), "too many slices"
    assert 1 == len(found)
    assert [] == list(record_slices(batch.slice(0, 0)))
    assert [4, 5] == [row["offset"] for part in record_slices(batch.slice(4, 2), 9) for row in part.to_pylist()]


def test_the_pieces_of_an_answer_are_bounded() -> None:
    from assignor.cluster.metadata import TopicsByCluster
    from assignor.spark.decoding import decoded_columns
    from assignor.spark.replaying import histories

    # A batch of 30 wide groups has 2.5 MB, and its histories would have 180 MB in one piece.
    count = 30
    (batch,) = table(*(wide_group(f"group-{i:02}") for i in range(count))).combine_chunks().to_batches()
    groups = pa.array([f"group-{i:02}" for i in range(count)])
    batch = batch.append_column("group_id", groups).append_column("aborted", pa.array([False] * count))

    largest, found = 0, []
    for piece in histories([batch], TopicsByCluster(None)):
        largest = max(largest, piece.nbytes)
        found += piece["group_id"].to_pylist()
    decoded = list(decoded_columns(iter([(batch["key"], batch["value"])])))

    assert groups.to_pylist() == found
    assert 60 * SLICE_BYTES < largest < 140 * SLICE_BYTES
    assert count == sum(map(len, decoded))
    assert max(piece.nbytes for piece in decoded) < 5 * SLICE_BYTES < sum(piece.nbytes for piece in decoded)


def test_large_records_are_decoded_and_replayed_in_spark(spark: SparkSession) -> None:
    from assignor.spark import decode, replay

    names = [f"group-{i}" for i in range(3)]
    pairs = [wide_group(name) for name in names]
    records = table(*pairs, (None, None), (b"\0", b"x"))
    frame = spark.createDataFrame(records).repartition(1)

    decoded = decode(frame)
    seen = decoded.selectExpr("offset", "status", "length(consumer_protocol_json) as length").collect()
    keys, values = (pa.array(column) for column in zip(*pairs, strict=True))
    expected = [len(text.as_py()) for text in pa.record_batch(decode_batch(keys, values))["consumer_protocol_json"]]
    assert [("decoded", length) for length in expected] + [("bad", None)] * 2 == [
        (row["status"], row["length"]) for row in sorted(seen, key=lambda row: int(row["offset"]))
    ]

    rows = replay(decoded).selectExpr("group_id", "size(assignment) as spans", "size(generations) as past").collect()
    assert [(name, PARTITIONS, 1) for name in names] == sorted(map(tuple, rows))
