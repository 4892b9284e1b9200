"""Encoded records equal those of Kafka's own classes; needs Java and Kafka's jars."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignor.offsets import Record, decode_batch, encode_record
from tests.offsets.oracle import RecordOracle, Written
from tests.offsets.strategies import VERSIONS, records
from tests.support.kafka_program import OracleMissingError
from tests.support.record_layouts import TYPES

pytestmark = pytest.mark.broker

LONG = os.environ.get("ASSIGNOR_PROFILE") == "long"

LACKED: dict[str, Any] = {"leaderEpoch": -1, "expireTimestamp": -1, "currentStateTimestamp": -1}
LACKED_BY_MEMBERS: dict[str, Any] = {"groupInstanceId": None, "rebalanceTimeout": -1}
"""Fields that some versions lack, with the default that Kafka's decoder gives them at these versions."""


@pytest.fixture(scope="module")
def oracle() -> Iterator[RecordOracle]:
    try:
        started = RecordOracle()
    except OracleMissingError as error:
        pytest.skip(str(error))
    with started:
        yield started


def json_by_us(written: Written) -> tuple[Any, Any]:
    """Return key and value as JSON from `decode_batch`."""
    keys, values = (pa.array([data], pa.binary()) for data in written)
    (row,) = pa.record_batch(decode_batch(keys, values)).to_pylist()
    assert row["error"] is None
    return json.loads(row["key_json"]), None if row["value_json"] is None else json.loads(row["value_json"])


@settings(max_examples=1000 if LONG else 25)
@given(data=st.data())
@pytest.mark.parametrize(("number", "version"), VERSIONS)
def test_kafka_encodes_the_same_bytes_and_decodes_ours(
    oracle: RecordOracle, number: int, version: int, data: st.DataObject
) -> None:
    record = data.draw(records(number, version))

    written = encode_record(record)
    kafka = oracle.answer_for(record, written)

    assert kafka.made == written
    assert kafka.rewritten == written
    assert kafka.read == json_by_us(written)


@settings(max_examples=1000 if LONG else 50)
@given(data=st.data())
def test_a_tombstone_equals_kafkas(oracle: RecordOracle, data: st.DataObject) -> None:
    record = dataclasses.replace(data.draw(st.sampled_from(VERSIONS).flatmap(lambda of: records(*of))), value=None)

    written = encode_record(record)
    kafka = oracle.answer_for(record, written)
    assert (written, written) == (kafka.made, kafka.rewritten)
    assert (record.key, None) == kafka.read


@settings(max_examples=1000 if LONG else 50)
@given(data=st.data())
def test_fields_that_a_version_lacks_are_left_out_as_in_kafka(oracle: RecordOracle, data: st.DataObject) -> None:
    number = data.draw(st.sampled_from([1, 2]))
    newest = max(version for other, version in VERSIONS if other == number)
    record = data.draw(st.integers(0, newest).flatmap(lambda version: records(number, version)))
    kafka = oracle.answer_for(record, encode_record(record))
    assert record.value is not None
    lacked = {name: LACKED[name] for name in LACKED if name in fields_of(number)}
    value = lacked | record.value
    if number == 2:
        value["members"] = [LACKED_BY_MEMBERS | member for member in value["members"]]
    for version, expected in enumerate(kafka.versions):
        other = dataclasses.replace(record, version=version, value=value)
        assert expected == encode_record(other)[1]


def fields_of(number: int) -> set[str]:
    layout = TYPES[number].layout
    assert layout
    return {field.name for field in layout.value}


def test_a_wrong_byte_is_detected(oracle: RecordOracle) -> None:
    record = Record(3, "CONSUMER_GROUP_METADATA", {"groupId": "g"}, 0, {"epoch": 7})
    key, value = encode_record(record)
    assert value is not None
    wrong = value[:-2] + b"\x08\0"
    kafka = oracle.answer_for(record, (key, wrong))

    assert (key, value) == kafka.made
    assert (key, wrong) == kafka.rewritten
    assert ({"groupId": "g"}, {"epoch": 8}) == kafka.read
