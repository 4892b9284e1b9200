"""Decoding of `__consumer_offsets` records, compared with Kafka's own classes."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from assignor import errors
from assignor.offsets import decode_batch, decode_record
from tests.offsets.decoding import (
    COLUMNS,
    EVERY_VERSION,
    GROUP_KEY,
    NULL,
    RECORDED,
    RECORDING,
    answers,
    assert_equals_kafka,
    batch,
    first_undecodable,
    record_json,
    row_json,
)
from tests.offsets.strategies import VERSIONS

# ---- records of a real cluster


def test_batches_of_all_recorded_records_equal_kafka() -> None:
    read = pa.record_batch(decode_batch(RECORDING["key"].combine_chunks(), RECORDING["value"].combine_chunks()))
    read.validate(full=True)
    assert dict(zip(read.schema.names, read.schema.types, strict=True)) == COLUMNS
    assert read.num_rows == len(answers()) == 16_729
    for row, answer in zip(read.to_pylist(), answers(), strict=True):
        assert_equals_kafka(row_json(row), answer)
        assert row["tombstone"] == (answer["value"] is None)
        assert row["group_id"] == answer["key"].get("group", answer["key"].get("groupId"))
        assert (row["status"], row["error"]) == ("decoded", None)


def test_all_recorded_records_one_by_one_equal_kafka() -> None:
    for (key, value), answer in zip(RECORDED, answers(), strict=True):
        record = decode_record(key, value)
        assert record.status == "decoded"
        assert_equals_kafka(record_json(record), answer)


# ---- all versions


def test_all_types_and_versions_equal_kafka() -> None:
    rows = batch((key, value) for key, value, _ in EVERY_VERSION)
    seen = set()
    for row, (key, value, answer) in zip(rows, EVERY_VERSION, strict=True):
        if "UnknownRecordTypeException" in answer.get("error", ""):
            assert decode_record(key, value).status == row["status"] == "unknown_type"
        elif "error" in answer:
            assert row["status"] == "bad"
            with pytest.raises(errors.WireError) as caught:
                decode_record(key, value)
            assert row["error"] == str(caught.value)
        else:
            record = decode_record(key, value)
            assert_equals_kafka(record_json(record), answer)
            assert_equals_kafka(row_json(row), answer)
            seen.add((record.type, record.version))
    assert set(VERSIONS) <= seen


def test_blobs_of_members_may_be_empty_or_invalid_and_are_decoded_only_for_consumers() -> None:
    def group(protocol_type: bytes) -> bytes:
        head = b"\0\0" + struct.pack(">h", len(protocol_type)) + protocol_type
        member = b"\0\1m\0\1c\0\1h\0\0\0\1" + b"\0\0\0\0" + b"\0\0\0\1?"
        return head + b"\0\0\0\1" + NULL + b"\0\0\0\1" + member

    record = decode_record(GROUP_KEY, group(b"consumer"))
    error = "2 bytes are needed and 1 remain at offset 0 while reading version"
    assert record.consumer_protocol == ({"memberId": "m", "subscription": None, "assignmentError": error},)
    assert decode_record(GROUP_KEY, group(b"connect")).consumer_protocol is None


def test_a_member_has_the_tolerated_subscription_in_addition_to_the_error() -> None:
    index = first_undecodable()
    protocol = decode_record(*RECORDED[index]).consumer_protocol
    assert protocol is not None
    member = next(member for member in protocol if "subscriptionError" in member)
    assert member["subscriptionVersion"] == 1
    assert member["subscriptionTolerated"] == 0
    assert member["subscription"] == {"topics": ["legacy_bridge"], "userData": b""}
