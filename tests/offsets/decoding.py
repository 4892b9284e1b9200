"""Recorded and generated records with the answers of Kafka's classes, and their decoding."""

from __future__ import annotations

import base64
import functools
import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from assignor.offsets import decode_batch

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    """Return a decoded value in the form of Kafka's JSON."""
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
        failed = [name for name in ("subscriptionError", "assignmentError") if name in theirs]
        assert all(member[name] for name in failed), member
        left_out = (
            {"subscriptionVersion", "subscriptionTolerated", "subscription"} if "subscriptionError" in failed else set()
        )
        members.append(
            {name: value for name, value in member.items() if name not in left_out} | {n: theirs[n] for n in failed}
        )
    if ours["consumerProtocol"] is not None:
        ours = ours | {"consumerProtocol": members}
    assert ours == expected


def batch(
    records: Iterable[tuple[bytes | None, bytes | None]], kind: pa.DataType | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a decoded batch."""
    keys, values = zip(*records, strict=True)
    columns = [pa.array(column, kind or pa.binary()) for column in (keys, values)]
    read = pa.record_batch(decode_batch(*columns))
    read.validate(full=True)
    return list(read.to_pylist())


def first_undecodable() -> int:
    """Return the index of the first recorded record with a subscription that Kafka cannot parse."""
    members = (answer.get("consumerProtocol", ()) for answer in answers())
    return next(i for i, them in enumerate(members) if any("subscriptionError" in member for member in them))
