"""Records are encoded, decoded and rejected as by Kafka's own classes; needs Java and Kafka's jars."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignor.offsets import Record, decode_batch, encode_record
from tests.broker.cluster import JARS
from tests.offsets.oracle import RecordOracle, definitions
from tests.offsets.samples import COMMIT, GROUP, changed
from tests.offsets.strategies import VERSIONS, records
from tests.support.fuzz import decoders, encoders, inputs
from tests.support.kafka_program import OracleMissingError
from tests.support.record_layouts import DEFINITIONS, LAYOUTS

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


def json_by_us(key: bytes, value: bytes | None) -> tuple[Any, Any] | str:
    """Return key and value as JSON from `decode_batch`; the status if they cannot be decoded."""
    keys, values = (pa.array([data], pa.binary()) for data in (key, value))
    (row,) = pa.record_batch(decode_batch(keys, values)).to_pylist()
    if row["status"] != "decoded":
        return str(row["status"])
    return json.loads(row["key_json"]), None if row["value_json"] is None else json.loads(row["value_json"])


def assert_encoded_as_by_kafka(oracle: RecordOracle, record: Record) -> None:
    """Check that Kafka encodes a record to the same bytes, and decodes our bytes to the same JSON."""
    written = encode_record(record)
    kafka = oracle.answer_for(record, written)

    assert kafka.made == written == kafka.rewritten
    assert kafka.read == json_by_us(*written)


def assert_decoded_as_by_kafka(oracle: RecordOracle, key: bytes, value: bytes | None) -> bool:
    """Check that Kafka decodes bytes to the same JSON, or also rejects them; return True if they can be decoded."""
    kafka, found = oracle.decoded(key, value), json_by_us(key, value)

    if isinstance(kafka, str):
        assert found == ("unknown_type" if "UnknownRecordTypeException" in kafka else "bad"), kafka
    else:
        assert found == kafka
    return not isinstance(found, str)


@pytest.mark.usefixtures("oracle")
def test_the_definitions_of_records_are_those_of_kafkas_jar() -> None:
    (jar,) = JARS.glob("kafka-group-coordinator-[0-9]*.jar")

    assert definitions(jar) == DEFINITIONS.read_text(encoding="utf-8").splitlines()


@settings(max_examples=1000 if LONG else 25)
@given(data=st.data())
@pytest.mark.parametrize(("number", "version"), VERSIONS)
def test_kafka_encodes_the_same_bytes_and_decodes_ours(
    oracle: RecordOracle, number: int, version: int, data: st.DataObject
) -> None:
    assert_encoded_as_by_kafka(oracle, data.draw(records(number, version)))


@settings(max_examples=1000 if LONG else 50)
@given(data=st.data())
def test_a_tombstone_equals_kafkas(oracle: RecordOracle, data: st.DataObject) -> None:
    record = dataclasses.replace(data.draw(st.sampled_from(VERSIONS).flatmap(lambda of: records(*of))), value=None)

    assert_encoded_as_by_kafka(oracle, record)


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
    return {field.name for field in LAYOUTS[number].value}


@pytest.mark.parametrize("name", encoders())
def test_kafka_decodes_or_rejects_the_same_malformed_records(oracle: RecordOracle, name: str) -> None:
    samples = decoders()[name].samples
    malformed = itertools.islice(inputs(random.Random(name), samples), 20_000 if LONG else 200)

    outcomes = Counter(assert_decoded_as_by_kafka(oracle, *message) for message in malformed)

    assert min(outcomes[True], outcomes[False]) >= 10


COMMIT_4 = changed(dataclasses.replace(COMMIT, version=4), ("value", "topicId"), "_____________________w")


@pytest.mark.parametrize(
    ("record", "wrong"),
    [
        (GROUP, lambda data: data[:-1] + b"!"),
        (GROUP, lambda data: b"\0\2" + data[2:]),
        (GROUP, lambda data: data + b"\0"),
        (COMMIT_4, lambda data: data[:-19] + b"\0"),
        (COMMIT_4, lambda data: data.replace(b"\2m", b"\0\1m")),
    ],
    ids=["a byte", "version", "an additional byte", "no tagged field", "length not compact"],
)
def test_a_wrong_encoder_is_detected(
    oracle: RecordOracle, record: Record, wrong: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_encoded_as_by_kafka(oracle, record)

    key, value = encode_record(record)
    monkeypatch.setitem(globals(), "encode_record", lambda _: (key, wrong(value or b"")))

    with pytest.raises((AssertionError, KeyError)):
        assert_encoded_as_by_kafka(oracle, record)


@pytest.mark.parametrize(
    ("wrong", "detected"),
    [("bad", {"valid", "unknown"}), ("unknown_type", {"valid", "bad"}), (({}, {}), {"valid", "bad", "unknown"})],
    ids=["rejects", "every type is unknown", "rejects nothing"],
)
def test_a_wrong_decoder_is_detected(
    oracle: RecordOracle, wrong: object, detected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    key, value = encode_record(GROUP)
    messages = {"valid": (key, value), "bad": (key, b""), "unknown": (b"\0\x63", value)}
    assert ["valid"] == [name for name, message in messages.items() if assert_decoded_as_by_kafka(oracle, *message)]

    monkeypatch.setitem(globals(), "json_by_us", lambda *_: wrong)

    for name, message in messages.items():
        with pytest.raises(AssertionError) if name in detected else contextlib.nullcontext():
            assert_decoded_as_by_kafka(oracle, *message)
