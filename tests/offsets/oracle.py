"""Kafka's own decoder and encoder of `__consumer_offsets` records, in a Java process."""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

from assignor.offsets import Record
from tests.support.kafka_program import KafkaProgram

Written = tuple[bytes, bytes | None]


class Kafka(NamedTuple):
    """Kafka's answer for a record.

    `made` are the key and value that Kafka encodes, and `versions` the value encoded at each version. `read` is the
    JSON of the given bytes, and `rewritten` their content as Kafka encodes it.
    """

    made: Written
    versions: list[bytes]
    read: tuple[Any, Any]
    rewritten: Written


class RecordOracle(KafkaProgram):
    """Kafka's own GroupCoordinatorRecordSerde and JSON converters.

    Raises:
        OracleMissingError: Java, its compiler or Kafka's jars are missing.
    """

    def __init__(self) -> None:
        super().__init__("org.apache.kafka.coordinator.group.RecordOracle")

    def answer_for(self, record: Record, written: Written) -> Kafka:
        """Let Kafka encode a record, and decode the given bytes of it."""
        question = {
            "type": record.type,
            "version": record.version,
            "key": as_json(record.key),
            "value": as_json(record.value),
            "bytes": [None if data is None else data.hex() for data in written],
        }
        answer = self.ask(question)
        made, rewritten = (_written(answer[name]) for name in ("made", "rewritten"))
        key, value = answer["read"]
        return Kafka(made, [bytes.fromhex(data) for data in answer["versions"]], (key, value), rewritten)


def as_json(value: Any) -> Any:
    """Return a value in the form of Kafka's JSON."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {name: as_json(content) for name, content in value.items()}
    if isinstance(value, list):
        return [as_json(content) for content in value]
    return value


def _written(answer: list[str | None]) -> Written:
    key, value = answer
    assert key is not None
    return bytes.fromhex(key), None if value is None else bytes.fromhex(value)
