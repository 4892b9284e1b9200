"""Kafka's own decoder and encoder of `__consumer_offsets` records, in a Java process."""

from __future__ import annotations

import json
import re
import zipfile
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.offsets import Record
from tests.offsets.decoding import as_json
from tests.support.kafka_program import KafkaProgram

if TYPE_CHECKING:
    from pathlib import Path

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

    def decoded(self, key: bytes, value: bytes | None) -> tuple[Any, Any] | str:
        """Return the JSON of a record's key and value; the exception if Kafka cannot decode them."""
        answer = self.ask({"bytes": [key.hex(), None if value is None else value.hex()]})
        return answer["error"] if "error" in answer else tuple(answer["read"])


def _written(answer: list[str | None]) -> Written:
    key, value = answer
    assert key is not None
    return bytes.fromhex(key), None if value is None else bytes.fromhex(value)


def definitions(jar: Path) -> list[str]:
    """Return the definitions of messages in a jar of Kafka as lines of JSON, without comments."""
    with zipfile.ZipFile(jar) as archive:
        names = sorted(name for name in archive.namelist() if re.fullmatch(r"common/message/\w+\.json", name))
        texts = [archive.read(name).decode() for name in names]
    found = [
        json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE), object_hook=_without_about) for text in texts
    ]
    return [json.dumps(each) for each in found if each["type"].startswith("coordinator-")]


def _without_about(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: content for name, content in fields.items() if name != "about"}
