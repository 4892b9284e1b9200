"""Encoding of `__consumer_offsets` records: recorded ones, all types and versions, and hand-written ones."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignor.offsets import Record, decode_record, encode_record
from tests.offsets.decoding import EVERY_VERSION, RECORDED
from tests.offsets.samples import COMMIT, CURRENT, GROUP, MEMBER, METADATA, changed, encoded_parts
from tests.offsets.strategies import VERSIONS, records

if TYPE_CHECKING:
    pass

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"
EPOCHS = ("value", "assignedPartitions", 0, "assignmentEpochs")


def test_recorded_records_encode_to_the_same_bytes() -> None:
    tombstones = 0
    for key, value in RECORDED:
        record = decode_record(key, value)
        assert record.status == "decoded"  # all are of known types and valid
        assert (key, value) == encode_record(record)
        tombstones += value is None
    assert (16_729, 60) == (len(RECORDED), tombstones)


def test_records_of_all_versions_round_trip() -> None:
    # Unknown tagged fields, invalid UTF-8 and bytes after the end are lost.
    same = 0
    readable = [(key, value) for key, value, answer in EVERY_VERSION if "error" not in answer]
    for key, value in readable:
        record = decode_record(key, value)
        written = encode_record(record)
        assert encoded_parts(record) == encoded_parts(decode_record(*written))
        same += written == (key, value)
    assert 0.5 < same / len(readable) < 1


@settings(max_examples=1000 if LONG else 30)
@given(data=st.data())
@pytest.mark.parametrize(("number", "version"), VERSIONS)
def test_drawn_records_round_trip(number: int, version: int, data: st.DataObject) -> None:
    record = data.draw(records(number, version))

    written = encode_record(record)

    assert encoded_parts(record) == encoded_parts(decode_record(*written))


def test_all_types_and_versions_are_encoded() -> None:
    assert 30 == len(VERSIONS)


@pytest.mark.parametrize(
    ("record", "key", "value"),
    [
        (COMMIT, "0001 000167 000174 00000003", "0003 0000000000000005 ffffffff 00016d 0000000000000007"),
        (
            changed(dataclasses.replace(COMMIT, version=4), ("value", "topicId"), "_____________________w"),
            "0001 000167 000174 00000003",
            "0004 0000000000000005 ffffffff 026d 0000000000000007 01 00 10 " + "ff" * 16,
        ),
        (
            GROUP,
            "0002 000167",
            "0003 0008636f6e73756d6572 00000001 000572616e6765 00016d 0000000000000009 00000001"
            "00016d ffff 000163 000a2f3132372e302e302e31 0000ea60 0000afc8 0000000173 00000000",
        ),
        (
            changed(GROUP, ("value", "members"), ()),
            "0002 000167",
            "0003 0008636f6e73756d6572 00000001 000572616e6765 00016d 0000000000000009 00000000",
        ),
        (
            changed(CURRENT, ("value", "assignedPartitions", 0, "assignmentEpochs"), None),
            "0008 000167 00016d",
            "0000 00000002 00000001 00 02 00000000000000000000000000000001 03 00000000 00000002 01 00 01 00 01 00",
        ),
        (dataclasses.replace(GROUP, value=None), "0002 000167", None),
        (Record(16, None, {"groupId": "", "regularExpression": "a.*"}), "0010 0000 0003612e2a", None),
    ],
    ids=["commit", "commit with topic id", "group", "empty group", "null epochs", "tombstone", "no value"],
)
def test_an_encoded_record_equals_kafkas(record: Record, key: str, value: str | None) -> None:
    expected = bytes.fromhex(key), None if value is None else bytes.fromhex(value)

    assert expected == encode_record(record)


@pytest.mark.parametrize(
    ("record", "path", "default"),
    [
        (dataclasses.replace(COMMIT, version=4), ("topicId",), "A" * 22),
        (CURRENT, ("assignedPartitions", 0, "assignmentEpochs"), []),
        (METADATA, ("classicMemberMetadata",), {"sessionTimeoutMs": 0, "supportedProtocols": []}),
    ],
    ids=["uuid", "array", "structure"],
)
def test_a_tagged_field_at_its_default_is_left_out(record: Record, path: tuple[str, ...], default: Any) -> None:
    given = changed(record, ("value", *path), default)

    assert encode_record(record) == encode_record(given)


def test_null_is_not_the_default_of_a_nullable_field() -> None:
    written = encode_record(changed(METADATA, ("value", "classicMemberMetadata"), None))

    assert encode_record(METADATA) != written
    read = decode_record(*written).value
    assert read is not None
    assert read["classicMemberMetadata"] is None


def test_a_field_that_the_version_lacks_is_left_out() -> None:
    sizes = [len(encode_record(dataclasses.replace(GROUP, version=v))[1] or b"") for v in range(4)]

    assert [sizes[0], sizes[0] + 4, sizes[1] + 8, sizes[2] + 2] == sizes


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (changed(COMMIT, ("value", "offset"), np.int64(5)), "an integer of numpy"),
        (changed(GROUP, ("value", "members", 0, "subscription"), bytearray(b"s")), "a bytearray"),
        (changed(GROUP, ("value", "members", 0, "subscription"), memoryview(b"-s-")[1:2]), "a memoryview"),
        (changed(GROUP, ("value", "members"), (MEMBER,)), "a tuple"),
        (dataclasses.replace(GROUP, name=None, consumer_protocol=({},)), "fields that are not encoded"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_equivalent_types_encode_to_the_same_bytes(record: Record, kind: str) -> None:
    plain = {1: COMMIT, 2: GROUP}[record.type]

    assert encode_record(plain) == encode_record(record), kind
