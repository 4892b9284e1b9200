"""Decoding of invalid, unknown and arbitrary records of `__consumer_offsets`, and of batches."""

from __future__ import annotations

import itertools
import json
import random
import re
import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import errors
from assignor.offsets import decode_batch, decode_record
from tests.offsets.decoding import (
    COMMIT_KEY,
    GROUP_KEY,
    KEY_VALUE,
    NULL,
    RECORDED,
    batch,
    record_json,
    row_json,
)
from tests.support.fuzz import decoders, encoders, inputs

# ---- invalid records


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (9, "SHARE_GROUP_PARTITION_METADATA"),
        (18, "STREAMS_GROUP_PARTITION_METADATA"),
        (24, "STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS"),
        (25, None),
        (-1, None),
    ],
)
def test_a_record_of_an_unknown_type_has_that_status(number: int, name: str | None) -> None:
    key = struct.pack(">h", number) + b"\0\1g"
    record = decode_record(key, b"\0\0whatever")
    assert (record.type, record.name, record.status) == (number, name, "unknown_type")
    assert (record.key, record.version, record.value, record.group) == ({}, None, None, None)
    (row,) = batch([(key, None)])
    assert (row["type"], row["type_name"], row["status"], row["tombstone"]) == (number, name, "unknown_type", True)
    assert row["key_json"] is row["error"] is None


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (None, b"", "null is not allowed at offset 0 while reading key"),
        (b"", None, "2 bytes are needed and 0 remain at offset 0 while reading key.type"),
        (b"\0\2\0\5g", None, "5 bytes are needed and 1 remain at offset 2 while reading key.group"),
        (GROUP_KEY, b"", "2 bytes are needed and 0 remain at offset 0 while reading value.version"),
        (
            GROUP_KEY,
            b"\0\5",
            "unknown version 5 (the newest known version is 4) at offset 0 while reading value.version",
        ),
        (GROUP_KEY, b"\xff\xfe", "version -2 is negative at offset 0 while reading value.version"),
        (
            GROUP_KEY,
            b"\0\4\1\0\0\0\1\0\0" + b"\0" * 8 + b"\xff\xff\xff\xff\x0f",
            "null is not allowed at offset 17 while reading value.members",
        ),
        (
            GROUP_KEY,
            b"\0\4\1\0\0\0\1\0\0" + b"\0" * 8 + b"\xff\xff\xff\xff\x07",
            "2147483646 elements of at least 15 bytes do not fit in the 0 that remain at offset 17"
            " while reading value.members",
        ),
        (
            COMMIT_KEY,
            b"\0\4" + b"\0" * 12 + b"\1" + b"\0" * 8 + b"\1\7\xff\xff\xff\xff\x0f",
            "a size of -1 is negative at offset 25 while reading value.taggedFields",
        ),
        (
            COMMIT_KEY,
            b"\0\4" + b"\0" * 12 + b"\x80\x80\x80\x80\x80\0",
            "an unsigned varint is longer than five bytes at offset 14 while reading value.metadata",
        ),
        (
            COMMIT_KEY,
            b"\0\4" + b"\0" * 12 + b"\x81\x80\x02",
            "a string of 32768 bytes is longer than 32767 at offset 14 while reading value.metadata",
        ),
    ],
)
def test_errors_have_the_offset_and_the_field(key: bytes | None, value: bytes | None, message: str) -> None:
    with pytest.raises(errors.WireError) as caught:
        decode_record(key, value)
    assert str(caught.value) == message


def test_values_that_are_not_bytes_are_rejected() -> None:
    with pytest.raises(errors.WrongTypeError, match="key must be bytes, not str"):
        decode_record("g", None)  # type: ignore[arg-type]  # deliberately wrong type
    with pytest.raises(errors.WrongTypeError, match="value must be bytes, not int"):
        decode_record(GROUP_KEY, 1)  # type: ignore[arg-type]  # deliberately wrong type


EPOCH, CONFIGS = 0, 1
"""Tags of the fields of a streams group."""

FIVE, LIST = b"\0\0\0\5", b"\2\2k\2v\0"
BOTH = {"validatedTopologyEpoch": 5, "lastAssignmentConfigs": [KEY_VALUE]}


@pytest.mark.parametrize(
    ("sections", "fields"),
    [
        ([(EPOCH, FIVE), (CONFIGS, LIST)], BOTH),
        ([(CONFIGS, LIST), (EPOCH, FIVE)], BOTH),
        ([(EPOCH, FIVE), (CONFIGS, LIST), (EPOCH, NULL)], {"lastAssignmentConfigs": [KEY_VALUE]}),
        ([(CONFIGS, LIST), (9, b"x"), (CONFIGS, b"\0"), (EPOCH, NULL)], {"lastAssignmentConfigs": None}),
        ([(CONFIGS, LIST), (CONFIGS, b"\1")], {}),
    ],
    ids=["in order", "out of order", "a default replaces", "a null replaces", "an empty list replaces"],
)
def test_the_last_of_repeated_tagged_fields_counts(sections: list[tuple[int, bytes]], fields: dict[str, Any]) -> None:
    tagged = b"".join(bytes([tag, len(content)]) + content for tag, content in sections)
    value = b"\0\0" + struct.pack(">iq", 1, 2) + bytes([len(sections)]) + tagged

    record = decode_record(b"\0\x11\0\1g", value)

    assert list(({"epoch": 1, "metadataHash": 2} | fields).items()) == list((record.value or {}).items())


# ---- batches


def test_a_bad_record_is_a_row() -> None:
    good, no_key, short_key, bad_value, unknown = batch(
        [(GROUP_KEY, None), (None, b""), (b"\0\2\0\5g", None), (COMMIT_KEY, b"\0\7"), (b"\x7f\xff", b"")]
    )
    assert good["status"] == "decoded"
    assert (no_key["type"], no_key["status"], no_key["tombstone"]) == (None, "bad", False)
    assert (short_key["type"], short_key["type_name"], short_key["group_id"]) == (2, "GROUP_METADATA", None)
    assert (bad_value["type"], bad_value["group_id"], bad_value["status"]) == (1, "g", "bad")
    assert json.loads(bad_value["key_json"]) == {"group": "g", "topic": "t", "partition": 3}
    assert bad_value["value_json"] is None
    error = "unknown version 7 (the newest known version is 4) at offset 0 while reading value.version"
    assert bad_value["error"] == error
    assert unknown["status"] == "unknown_type"


def test_binary_columns_large_binary_columns_and_slices_give_the_same_rows() -> None:
    records = RECORDED[:50]
    narrow = batch(records)
    assert batch(records, pa.large_binary()) == narrow
    keys, values = (pa.array(column, pa.binary()) for column in zip(*records, strict=True))
    assert pa.record_batch(decode_batch(keys[20:30], values[20:30])).to_pylist() == narrow[20:30]
    assert pa.record_batch(decode_batch(keys[:0], values[:0])).num_rows == 0


def test_columns_that_do_not_fit_are_rejected() -> None:
    binary = pa.array([b"a", b"b"], pa.binary())
    with pytest.raises(errors.IllegalArgumentError, match="keys has 2 rows, and values has 1"):
        decode_batch(binary, binary[:1])
    with pytest.raises(errors.WrongTypeError, match="column values must be of binary, not Utf8"):
        decode_batch(binary, pa.array(["a", "b"]))
    with pytest.raises(errors.WrongTypeError, match="keys must be an Arrow array, not list"):
        decode_batch([b"a", b"b"], binary)  # type: ignore[arg-type]  # deliberately wrong type


# ---- arbitrary bytes


@given(st.sampled_from(sorted(encoders())), st.randoms(use_true_random=False))
def test_any_record_is_decoded_or_has_the_error_of_a_batch(name: str, rng: random.Random) -> None:
    records = list(itertools.islice(inputs(rng, decoders()[name].samples), 10))
    for record, row in zip(records, batch(records), strict=True):
        if row["status"] == "bad":
            with pytest.raises(errors.WireError, match=f"^{re.escape(row['error'])}$"):
                decode_record(*record)
            continue
        found = decode_record(*record)
        assert (row["status"], row["error"]) == (found.status, None)
        if found.status == "decoded":
            assert row_json(row) == record_json(found)
