"""Records of `__cluster_metadata`: random fields as Kafka's JSON, Kafka's own encoder, and the expected rows."""

from __future__ import annotations

import base64
import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from assignor import _core
from tests.support.kafka_program import KafkaProgram

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from assignor.columns import ArrowArray

EVERY_VERSION = Path(__file__).parents[1] / "data" / "cluster_metadata_records.jsonl"
"""A record of each type and version, as `type`, `version`, `data` and `bytes`, written by Kafka's serde."""

Row = dict[str, Any]


class Kind(NamedTuple):
    """Type of record that is read.

    Attributes:
        name: Kafka's name.
        newest: The newest version.
    """

    name: str
    newest: int


KINDS = {
    0: Kind("RegisterBrokerRecord", 4),
    1: Kind("UnregisterBrokerRecord", 0),
    2: Kind("TopicRecord", 0),
    3: Kind("PartitionRecord", 2),
    5: Kind("PartitionChangeRecord", 2),
    7: Kind("FenceBrokerRecord", 0),
    8: Kind("UnfenceBrokerRecord", 0),
    9: Kind("RemoveTopicRecord", 0),
    17: Kind("BrokerRegistrationChangeRecord", 3),
    23: Kind("BeginTransactionRecord", 0),
    24: Kind("EndTransactionRecord", 0),
    25: Kind("AbortTransactionRecord", 0),
}


class MetadataOracle(KafkaProgram):
    """Kafka's own MetadataRecordSerde and JSON converters.

    Raises:
        OracleMissingError: Java, its compiler or Kafka's jars are missing.
    """

    def __init__(self) -> None:
        super().__init__("metadata.MetadataOracle")

    def encoded(self, kind: int, version: int, data: Row) -> bytes:
        """Return the bytes that Kafka writes for a record."""
        return bytes.fromhex(self.ask({"type": kind, "version": version, "data": data})["bytes"])

    def decoded(self, value: bytes) -> dict[str, Any]:
        """Return the type, version and data that Kafka reads, or the error."""
        answer: dict[str, Any] = self.ask({"bytes": value.hex()})
        return answer

    def newest(self) -> dict[int, int]:
        """Return the newest version of each type."""
        return {int(kind): version for kind, version in self.ask({}).items()}


def read(*values: bytes | None) -> list[Row]:
    """Read the values of records with the offsets 0, 1, ..., and the timestamps 1,000, 1,001, ..."""
    offsets, timestamps = range(len(values)), range(1_000, 1_000 + len(values))
    columns: list[ArrowArray] = [
        pa.array(offsets, pa.int64()),
        pa.array(timestamps, pa.int64()),
        pa.array(values, pa.binary()),
    ]
    found: list[Row] = pa.record_batch(_core.read_cluster_metadata(*columns)).to_pylist()
    return found


def read_one(value: bytes | None) -> Row | None:
    """Read a value; return the columns of its row that are not null, without offset and timestamp; None if no row."""
    rows = read(value)
    if not rows:
        return None
    (row,) = rows
    assert (row.pop("offset"), row.pop("timestamp")) == (0, 1_000)
    return {name: content for name, content in row.items() if content is not None}


def every_version() -> Iterator[tuple[int, int, Row, bytes]]:
    """Yield type, version, data and bytes of a record of each type and version."""
    for line in EVERY_VERSION.read_text(encoding="utf-8").splitlines():
        answer = json.loads(line)
        yield answer["type"], answer["version"], answer["data"], bytes.fromhex(answer["bytes"])


def random_id(rng: random.Random) -> str:
    """Return a uuid in Kafka's text form."""
    return base64.urlsafe_b64encode(uuid.UUID(int=rng.getrandbits(128)).bytes).decode().rstrip("=")


def random_record(rng: random.Random, kind: int, version: int) -> Row:
    """Return random fields of a record as Kafka's JSON."""

    def brokers() -> list[int]:
        return [rng.randrange(-1, 2**31) for _ in range(rng.randrange(4))]

    def ids() -> list[str]:
        return [random_id(rng) for _ in range(rng.randrange(3))]

    def text() -> str:
        return "".join(rng.choice("abz.é🐦_") for _ in range(rng.randrange(200)))

    broker = {"brokerId": rng.randrange(2**31), "brokerEpoch": rng.randrange(2**63)}

    def some(**fields: Any) -> Row:
        """Choose some of the tagged fields; the others keep their default."""
        return {name: content for name, content in fields.items() if rng.random() < 0.6}

    match kind:
        case 0:
            ports = [
                {"name": text(), "host": text(), "port": rng.randrange(2**16), "securityProtocol": rng.randrange(4)}
                for _ in range(rng.randrange(3))
            ]
            features = [
                {"name": f"{number}", "minSupportedVersion": 0, "maxSupportedVersion": rng.randrange(30)}
                for number in range(rng.randrange(4))
            ]
            for number, each in enumerate(ports):  # the names are keys
                each["name"] = f"{number}{each['name']}"
            return {
                **broker,
                **({"isMigratingZkBroker": rng.random() < 0.5} if version >= 2 else {}),
                "incarnationId": random_id(rng),
                "endPoints": ports,
                "features": features,
                "rack": rng.choice([None, "", text()]),
                "fenced": rng.random() < 0.5,
                **({"inControlledShutdown": rng.random() < 0.5} if version >= 1 else {}),
                **(some(logDirs=ids()) if version >= 3 else {}),
                **(some(cordonedLogDirs=rng.choice([None, ids()])) if version >= 4 else {}),
            }
        case 1:
            return broker
        case 2:
            return {"name": text(), "topicId": random_id(rng)}
        case 3:
            return {
                "partitionId": rng.randrange(2**31),
                "topicId": random_id(rng),
                "replicas": brokers(),
                "isr": brokers(),
                "removingReplicas": brokers(),
                "addingReplicas": brokers(),
                "leader": rng.randrange(-1, 2**31),
                "leaderEpoch": rng.randrange(2**31),
                "partitionEpoch": rng.randrange(2**31),
                **some(leaderRecoveryState=1),
                **({"directories": ids()} if version >= 1 else {}),
                **(some(eligibleLeaderReplicas=brokers(), lastKnownElr=brokers()) if version >= 2 else {}),
            }
        case 5:
            return {
                "partitionId": rng.randrange(2**31),
                "topicId": random_id(rng),
                **some(isr=brokers(), leader=rng.choice([-2, -1, rng.randrange(2**31)]), replicas=brokers()),
                **some(removingReplicas=brokers(), addingReplicas=brokers(), leaderRecoveryState=1),
                **(some(directories=ids()) if version >= 1 else {}),
                **(some(eligibleLeaderReplicas=brokers(), lastKnownElr=brokers()) if version >= 2 else {}),
            }
        case 7 | 8:
            return {"id": broker["brokerId"], "epoch": broker["brokerEpoch"]}
        case 9:
            return {"topicId": random_id(rng)}
        case 17:
            return {
                **broker,
                **some(fenced=rng.choice([-1, 0, 1])),
                **(some(inControlledShutdown=1) if version >= 1 else {}),
                **(some(logDirs=ids()) if version >= 2 else {}),
                **(some(cordonedLogDirs=rng.choice([None, ids()])) if version >= 3 else {}),
            }
        case 23:
            return some(name=text())
        case 25:
            return some(reason=text())
        case _:
            return {}


def expected_row(kind: int, data: Row) -> Row | None:
    """Return the row that a record must have, as `read_one` returns it."""
    partition = {
        "topic_id": data.get("topicId"),
        "partition": data.get("partitionId"),
        "replicas": data.get("replicas"),
        "isr": data.get("isr"),
    }
    leader = data.get("leader", -2)
    broker = {
        "broker": data.get("brokerId", data.get("id")),
        "broker_epoch": data.get("brokerEpoch", data.get("epoch")),
    }
    match kind:
        case 0:
            row = {"change": "broker", **broker, "rack": data["rack"], "is_fenced": data["fenced"]}
        case 1:
            row = {"change": "broker_removed", **broker}
        case 2:
            row = {"change": "topic", "topic": data["name"], "topic_id": data["topicId"]}
        case 3:
            row = {"change": "partition", **partition, "leader": leader}
        case 5:
            row = {"change": "partition_changed", **partition, "leader": None if leader == -2 else leader}
        case 7 | 8:
            row = {"change": "fencing", **broker, "is_fenced": kind == 7}
        case 9:
            row = {"change": "topic_removed", "topic_id": data["topicId"]}
        case 17:
            fenced = data.get("fenced", 0)
            if not fenced:
                return None
            row = {"change": "fencing", **broker, "is_fenced": fenced > 0}
        case 23 | 24 | 25:
            row = {"change": {23: "transaction_began", 24: "transaction_ended", 25: "transaction_aborted"}[kind]}
        case _:
            return None
    return {name: content for name, content in row.items() if content is not None}
