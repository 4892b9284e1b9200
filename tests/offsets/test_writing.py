"""Encoding of `__consumer_offsets` records: recorded ones, and drawn ones of all types and versions."""

from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignor.offsets import Record, decode_record, encode_record
from tests.offsets.decoding import RECORDED
from tests.offsets.samples import COMMIT, CURRENT, GROUP, MEMBER, METADATA, changed, encoded_parts
from tests.offsets.strategies import VERSIONS, records
from tests.support.record_bytes import write_record

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"


def test_recorded_records_encode_to_the_same_bytes() -> None:
    tombstones = 0
    for key, value in RECORDED:
        record = decode_record(key, value)
        assert record.status == "decoded"  # all are of known types and valid
        assert (key, value) == encode_record(record)
        tombstones += value is None
    assert (16_729, 60) == (len(RECORDED), tombstones)


@settings(max_examples=1000 if LONG else 30)
@given(data=st.data())
@pytest.mark.parametrize(("number", "version"), VERSIONS)
def test_drawn_records_follow_kafkas_definitions(number: int, version: int, data: st.DataObject) -> None:
    record = data.draw(records(number, version))

    written = encode_record(record)

    assert encoded_parts(record) == encoded_parts(decode_record(*written))
    assert write_record(number, record.key, record.value, version) == written


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
