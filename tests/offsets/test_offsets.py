"""Decoding of `__consumer_offsets` records, compared with Kafka's own classes and between the engines."""

from __future__ import annotations

import base64
import functools
import gzip
import json
import random
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignor import errors
from assignor.offsets import decode_batch, decode_record
from assignor.reference.offsets.schema import TYPES
from tests.support.mutation import mutated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor._engine import Engine
    from assignor.offsets import Record

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
RECORDING = pq.read_table(ROOT / "data" / "fleet_webshop" / "records.parquet")
RECORDED = list(zip(RECORDING["key"].to_pylist(), RECORDING["value"].to_pylist(), strict=True))
COLUMNS = {
    "type": pa.int32(),
    "type_name": pa.string(),
    "group_id": pa.string(),
    "tombstone": pa.bool_(),
    "version": pa.int32(),
    "status": pa.string(),
    "key_json": pa.string(),
    "value_json": pa.string(),
    "consumer_protocol_json": pa.string(),
    "error": pa.string(),
}
COMMIT_KEY = b"\0\1\0\1g\0\1t\0\0\0\3"
GROUP_KEY = b"\0\2\0\1g"
NULL = b"\xff\xff\xff\xff"
KEY_VALUE = {"key": "k", "value": "v"}

KafkaAnswer = dict[str, Any]


def json_lines(path: Path) -> list[KafkaAnswer]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@functools.cache  # not read when tests are collected: it is 16,729 lines
def answers() -> list[KafkaAnswer]:
    """Return Kafka's decoding of each record of the recorded fleet."""
    return json_lines(DATA / "fleet_webshop" / "decoded.jsonl.gz")


EVERY_VERSION = [
    (bytes.fromhex(answer["keyHex"]), None if answer["valueHex"] is None else bytes.fromhex(answer["valueHex"]), answer)
    for answer in json_lines(DATA / "records_every_version.jsonl.gz")
]


def as_json(value: Any) -> Any:
    """Return a decoded value in the form of JSON."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: as_json(content) for name, content in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(content) for content in value]
    return value


def record_json(record: Record) -> KafkaAnswer:
    """Return a record in the form of Kafka's answers, with None for missing values."""
    return {
        "type": record.type,
        "typeName": record.name,
        "key": as_json(record.key),
        "valueVersion": record.version,
        "value": as_json(record.value),
        "consumerProtocol": as_json(record.consumer_protocol),
    }


def row_json(row: dict[str, Any]) -> KafkaAnswer:
    """Return a row of a batch in the form of Kafka's answers, with None for missing values."""
    texts = {name: row[f"{name}_json"] for name in ("key", "value", "consumer_protocol")}
    parsed = {name: None if text is None else json.loads(text) for name, text in texts.items()}
    return {
        "type": row["type"],
        "typeName": row["type_name"],
        "key": parsed["key"],
        "valueVersion": row["version"],
        "value": parsed["value"],
        "consumerProtocol": parsed["consumer_protocol"],
    }


def assert_equals_kafka(ours: KafkaAnswer, kafka: KafkaAnswer) -> None:
    """Compare all fields, except the texts of errors and the tolerant reader's additions."""
    expected = {name: kafka.get(name) for name in ours}
    pairs = zip(ours["consumerProtocol"] or [], kafka.get("consumerProtocol") or [], strict=True)
    members = []
    for member, theirs in pairs:
        refused = [name for name in ("subscriptionError", "assignmentError") if name in theirs]
        assert all(member[name] for name in refused), member
        left_out = (
            {"subscriptionVersion", "subscriptionTolerated", "subscription"}
            if "subscriptionError" in refused
            else set()
        )
        members.append(
            {name: value for name, value in member.items() if name not in left_out} | {n: theirs[n] for n in refused}
        )
    if ours["consumerProtocol"] is not None:
        ours = ours | {"consumerProtocol": members}
    assert ours == expected


def outcome(key: bytes | None, value: bytes | None, engine: Engine) -> object:
    """Return the record, or all fields of the error."""
    try:
        return decode_record(key, value, engine=engine)
    except errors.WireError as error:
        return error.reason, error.offset, error.field


def assert_engines_agree(key: bytes | None, value: bytes | None) -> object:
    rust = outcome(key, value, "rust")
    assert rust == outcome(key, value, "reference"), (key, value)
    return rust


def batch(
    records: Iterable[tuple[bytes | None, bytes | None]], kind: pa.DataType | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a decoded batch."""
    keys, values = zip(*records, strict=True)
    columns = [pa.array(column, kind or pa.binary()) for column in (keys, values)]
    read = pa.record_batch(decode_batch(*columns))
    read.validate(full=True)
    return list(read.to_pylist())


def first_refused() -> int:
    """Return the index of the first recorded record with a subscription that Kafka cannot parse."""
    members = (answer.get("consumerProtocol", ()) for answer in answers())
    return next(i for i, them in enumerate(members) if any("subscriptionError" in member for member in them))


# ---- records of a real cluster


def test_all_recorded_records_in_batches() -> None:
    read = pa.record_batch(decode_batch(RECORDING["key"].combine_chunks(), RECORDING["value"].combine_chunks()))
    read.validate(full=True)
    assert dict(zip(read.schema.names, read.schema.types, strict=True)) == COLUMNS
    assert read.num_rows == len(answers()) == 16_729
    for row, answer in zip(read.to_pylist(), answers(), strict=True):
        assert_equals_kafka(row_json(row), answer)
        assert row["tombstone"] == (answer["value"] is None)
        assert row["group_id"] == answer["key"].get("group", answer["key"].get("groupId"))
        assert (row["status"], row["error"]) == ("decoded", None)


def test_all_recorded_records_one_by_one() -> None:
    for (key, value), answer in zip(RECORDED, answers(), strict=True):
        record = decode_record(key, value)
        assert record.status == "decoded"
        assert_equals_kafka(record_json(record), answer)


def test_recorded_records_in_the_reference() -> None:
    classic = [index for index, answer in enumerate(answers()) if answer["type"] == 2]
    others = [index for index, answer in enumerate(answers()) if answer["type"] != 2]
    for index in others + random.Random(11).sample(classic, 2_000):
        assert_equals_kafka(record_json(decode_record(*RECORDED[index], engine="reference")), answers()[index])


def test_a_changed_answer_is_detected() -> None:
    index = first_refused()
    ours = record_json(decode_record(*RECORDED[index]))
    for path in (
        ["value", "generation"],
        ["key", "group"],
        ["consumerProtocol", 0, "assignmentVersion"],
        ["valueVersion"],
    ):
        changed = json.loads(json.dumps(answers()[index]))
        inner = changed
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = "changed"
        with pytest.raises(AssertionError):
            assert_equals_kafka(ours, changed)


# ---- all versions


def test_all_types_and_versions_equal_kafka(engine: Engine) -> None:
    seen = set()
    for key, value, answer in EVERY_VERSION:
        if "UnknownRecordTypeException" in answer.get("error", ""):
            assert decode_record(key, value, engine=engine).status == "unknown_type"
        elif "error" in answer:
            with pytest.raises(errors.WireError):
                decode_record(key, value, engine=engine)
        else:
            record = decode_record(key, value, engine=engine)
            assert_equals_kafka(record_json(record), answer)
            seen.add((record.type, record.version))
    layouts = {number: record_type.layout for number, record_type in TYPES.items() if record_type.layout}
    wanted = {(number, version) for number, layout in layouts.items() for version in range(layout.newest + 1)}
    assert wanted <= seen


def test_all_types_and_versions_in_batches() -> None:
    rows = batch((key, value) for key, value, _ in EVERY_VERSION)
    for row, (key, value, answer) in zip(rows, EVERY_VERSION, strict=True):
        if "UnknownRecordTypeException" in answer.get("error", ""):
            assert row["status"] == "unknown_type"
        elif "error" in answer:
            assert row["status"] == "bad"
            with pytest.raises(errors.WireError) as caught:
                decode_record(key, value, engine="reference")
            assert row["error"] == str(caught.value)
        else:
            assert_equals_kafka(row_json(row), answer)


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (b"\0\0" b"\0\0\0\0\0\0\0\5" b"\0\1m" b"\0\0\0\0\0\0\0\7", {}),
        (b"\0\1" b"\0\0\0\0\0\0\0\5" b"\0\1m" b"\0\0\0\0\0\0\0\7" + b"\xff" * 8, {"expireTimestamp": -1}),
        (b"\0\2" b"\0\0\0\0\0\0\0\5" b"\0\1m" b"\0\0\0\0\0\0\0\7", {}),
        (b"\0\3" b"\0\0\0\0\0\0\0\5" b"\xff\xff\xff\xff" b"\0\1m" b"\0\0\0\0\0\0\0\7", {"leaderEpoch": -1}),
        (b"\0\4" b"\0\0\0\0\0\0\0\5" b"\0\0\0\2" b"\2m" b"\0\0\0\0\0\0\0\7" b"\0", {"leaderEpoch": 2}),
        (
            b"\0\4" b"\0\0\0\0\0\0\0\5" b"\0\0\0\2" b"\2m" b"\0\0\0\0\0\0\0\7" b"\2\0\x10" + b"\xff" * 16 + b"\x63\2?!",
            {"leaderEpoch": 2, "topicId": "_____________________w"},
        ),
    ],
)  # fmt: skip
def test_all_versions_of_an_offset_commit(engine: Engine, body: bytes, fields: dict[str, object]) -> None:
    record = decode_record(COMMIT_KEY, body, engine=engine)
    assert record.key == {"group": "g", "topic": "t", "partition": 3}
    assert record.value == {"offset": 5, "metadata": "m", "commitTimestamp": 7} | fields
    assert record.version == body[1]


def test_members_with_empty_blobs_or_another_protocol_type(engine: Engine) -> None:
    def group(protocol_type: bytes) -> bytes:
        head = b"\0\0" + struct.pack(">h", len(protocol_type)) + protocol_type
        member = b"\0\1m\0\1c\0\1h\0\0\0\1" + b"\0\0\0\0" + b"\0\0\0\1?"
        return head + b"\0\0\0\1" + NULL + b"\0\0\0\1" + member

    record = decode_record(GROUP_KEY, group(b"consumer"), engine=engine)
    error = "2 bytes are needed and 1 remain at offset 0 while reading version"
    assert record.consumer_protocol == ({"memberId": "m", "subscription": None, "assignmentError": error},)
    assert decode_record(GROUP_KEY, group(b"connect"), engine=engine).consumer_protocol is None


def test_a_tolerated_subscription_follows_its_error(engine: Engine) -> None:
    index = first_refused()
    protocol = decode_record(*RECORDED[index], engine=engine).consumer_protocol
    assert protocol is not None
    member = next(member for member in protocol if "subscriptionError" in member)
    assert member["subscriptionVersion"] == 1
    assert member["subscriptionTolerated"] == 0
    assert member["subscription"] == {"topics": ["legacy_bridge"], "userData": b""}


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
def test_a_record_of_an_unknown_type_has_that_status(engine: Engine, number: int, name: str | None) -> None:
    key = struct.pack(">h", number) + b"\0\1g"
    record = decode_record(key, b"\0\0whatever", engine=engine)
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
        (GROUP_KEY, b"\0\5", "version 5 is newer than 4, the newest known at offset 0 while reading value.version"),
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
def test_errors_have_the_offset_and_the_field(
    engine: Engine, key: bytes | None, value: bytes | None, message: str
) -> None:
    with pytest.raises(errors.WireError) as caught:
        decode_record(key, value, engine=engine)
    assert str(caught.value) == message


def test_values_that_are_not_bytes_are_refused(engine: Engine) -> None:
    with pytest.raises(errors.WrongTypeError, match="key must be bytes, not str"):
        decode_record("g", None, engine=engine)  # type: ignore[arg-type]  # deliberately wrong type
    with pytest.raises(errors.WrongTypeError, match="value must be bytes, not int"):
        decode_record(GROUP_KEY, 1, engine=engine)  # type: ignore[arg-type]  # deliberately wrong type


def test_a_truncated_record_is_an_error_or_a_record() -> None:
    one_of_each: dict[bytes, tuple[bytes, bytes]] = {}
    for key, value, answer in EVERY_VERSION:
        if value and "error" not in answer:
            one_of_each.setdefault(key[:2] + value[:2], (key, value))
    assert len(one_of_each) == 30
    for key, value in one_of_each.values():
        for cut in range(len(value)):
            refused = assert_engines_agree(key, value[:cut])
            assert isinstance(refused, tuple), (key, value[:cut])
        for cut in range(len(key)):
            assert_engines_agree(key[:cut], None)


def test_bytes_after_the_last_field_are_ignored(engine: Engine) -> None:
    for key, value, answer in EVERY_VERSION:
        if value and "error" not in answer:
            assert decode_record(key + b"!", value + b"!", engine=engine) == decode_record(key, value, engine=engine)


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
def test_the_last_of_repeated_tagged_fields_counts(
    engine: Engine, sections: list[tuple[int, bytes]], fields: dict[str, Any]
) -> None:
    tagged = b"".join(bytes([tag, len(content)]) + content for tag, content in sections)
    value = b"\0\0" + struct.pack(">iq", 1, 2) + bytes([len(sections)]) + tagged

    record = decode_record(b"\0\x11\0\1g", value, engine=engine)

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
    assert bad_value["error"] == "version 7 is newer than 4, the newest known at offset 0 while reading value.version"
    assert unknown["status"] == "unknown_type"


def test_binary_and_large_binary_columns_and_slices() -> None:
    records = RECORDED[:50]
    narrow = batch(records)
    assert batch(records, pa.large_binary()) == narrow
    keys, values = (pa.array(column, pa.binary()) for column in zip(*records, strict=True))
    assert pa.record_batch(decode_batch(keys[20:30], values[20:30])).to_pylist() == narrow[20:30]
    assert pa.record_batch(decode_batch(keys[:0], values[:0])).num_rows == 0


def test_columns_that_do_not_fit_are_refused() -> None:
    binary = pa.array([b"a", b"b"], pa.binary())
    with pytest.raises(errors.IllegalArgumentError, match="keys has 2 rows, and values has 1"):
        decode_batch(binary, binary[:1])
    with pytest.raises(errors.WrongTypeError, match="column values must be of binary, not Utf8"):
        decode_batch(binary, pa.array(["a", "b"]))
    with pytest.raises(errors.WrongTypeError, match="keys must be an Arrow array, not list"):
        decode_batch([b"a", b"b"], binary)  # type: ignore[arg-type]  # deliberately wrong type


# ---- arbitrary bytes

SMALL = [(key, value) for key, value, _ in EVERY_VERSION] + [
    r for r in RECORDED if r[1] is not None and len(r[1]) < 800
][::40]


def mutated_record(rng: random.Random) -> tuple[bytes, bytes | None]:
    """Draw a record with a few bytes changed, removed or added, usually in the value."""
    key, value = rng.choice(SMALL)
    if value is None or rng.random() < 0.1:
        return mutated(rng, key), value
    return key, mutated(rng, value)


@given(
    st.one_of(
        st.builds(mutated_record, st.randoms(use_true_random=False)),
        st.tuples(
            st.builds(
                lambda number, rest: struct.pack(">h", number) + rest, st.integers(-1, 26), st.binary(max_size=12)
            ),
            st.one_of(st.none(), st.binary(max_size=60)),
        ),
    )
)
def test_engines_agree_on_any_record(record: tuple[bytes, bytes | None]) -> None:
    rust = assert_engines_agree(*record)
    (row,) = batch([record])
    assert (row["status"] == "bad") == isinstance(rust, tuple)
