"""Messages of Kafka Streams and Kafka Connect: random fields, Kafka's own classes, and the fields of a decoded message.

`python -m tests.wire.applications` asks Kafka's classes for the bytes of random fields of each version and writes them
to `tests/data/application_messages.jsonl.gz`.
"""

from __future__ import annotations

import gzip
import json
import random
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from assignor.wire import (
    ConnectAssignment,
    ConnectSubscription,
    StreamsAssignment,
    StreamsSubscription,
    decode_connect_assignment,
    decode_connect_subscription,
    decode_streams_assignment,
    decode_streams_subscription,
)
from tests.support import assignor_oracle
from tests.support.kafka_program import KafkaProgram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Json = Any
Fields = dict[str, Any]

FROZEN = Path(__file__).parents[1] / "data" / "application_messages.jsonl.gz"
"""Messages of each kind and version, as `kind`, `fields` that Kafka's class decodes, and `bytes` that it encodes."""

LATEST_OFFSET = -2
UNKNOWN_OFFSET = -3
NO_REBALANCE = 2**63 - 1
NAMES = ("t", "orders", "", "a.b-c_d", "é€", "\U0001f600", "null\0", "x" * 200)


class Kind(NamedTuple):
    """Kind of message.

    Attributes:
        decode: The decoder.
        versions: The versions that Kafka's class encodes.
        draw: Function that draws the fields of a version.
        fields: Function that returns the fields of a decoded message, as `ApplicationOracle` writes them.
    """

    decode: Callable[..., Any]
    versions: range
    draw: Callable[[random.Random, int], Fields]
    fields: Callable[[Any], Fields]


class ApplicationOracle(KafkaProgram):
    """Kafka's own classes for messages of Streams and Connect.

    Raises:
        OracleMissingError: Java, its compiler or Kafka's jars are missing.
    """

    def __init__(self) -> None:
        super().__init__("applications.ApplicationOracle", assignor_oracle.install)

    def encode(self, kind: str, fields: Fields) -> bytes:
        """Return the bytes of fields."""
        return bytes.fromhex(self.ask({"kind": kind, "fields": fields})["bytes"])

    def decode(self, kind: str, data: bytes) -> Fields | None:
        """Return the fields in the order of `normal`, or None if Kafka's class rejects the bytes."""
        answer = self.ask({"kind": kind, "bytes": data.hex()})
        return None if "error" in answer else normal(answer["fields"])


def normal(fields: Fields) -> Fields:
    """Return fields with an order for what Kafka keeps in hash tables."""
    ordered = dict(fields)
    if "latest" in fields and "process" in fields:
        ordered |= {name: sort(fields[name]) for name in ("active", "standby", "sums")}
    elif "hosts" in fields:
        for name in ("standby", "hosts", "standby_hosts"):
            ordered[name] = sort([key, sort(partitions)] for key, partitions in fields[name])
    return ordered


def sort(values: Iterable[Json]) -> list[Json]:
    """Return distinct JSON values in the order of their text."""
    return [json.loads(text) for text in sorted({json.dumps(value) for value in values})]


# ---- fields of decoded messages


def streams_subscription_fields(found: StreamsSubscription) -> Fields:
    """Return the fields of a subscription, with the last sum of a task that repeats."""
    active, standby = list(found.previous_active), list(found.previous_standby)
    if found.version < 7:
        sums = dict.fromkeys(active, LATEST_OFFSET) | dict.fromkeys(standby, UNKNOWN_OFFSET)
    else:
        sums = dict(found.offset_sums)
        if len(sums) < len(found.offset_sums):
            active = [task for task, total in sums.items() if total == LATEST_OFFSET]
            standby = [task for task, total in sums.items() if total != LATEST_OFFSET]
    return {
        "version": found.version,
        "latest": -1 if found.latest_supported_version is None else found.latest_supported_version,
        "process": str(found.process_id),
        "active": sort(active),
        "standby": sort(standby),
        "sums": sort([task, total] for task, total in sums.items()),
        "endpoint": found.user_endpoint,
        "error": found.error_code,
        "unique": found.unique_field,
        "tags": [list(tag) for tag in found.client_tags],
    }


def streams_assignment_fields(found: StreamsAssignment) -> Fields:
    """Return the fields of an assignment, with the last partitions of a task or host that repeats."""
    return normal(
        {
            "version": found.version,
            "latest": -1 if found.latest_supported_version is None else found.latest_supported_version,
            "active": [list(task) for task in found.active_tasks],
            "standby": list(dict(found.standby_tasks).items()),
            "hosts": list(dict(found.partitions_by_host).items()),
            "standby_hosts": list(dict(found.standby_partitions_by_host).items()),
            "error": found.error_code,
            "next": NO_REBALANCE if found.next_rebalance_ms is None else found.next_rebalance_ms,
        }
    )


def connect_subscription_fields(found: ConnectSubscription) -> Fields:
    """Return the fields of the state of a worker."""
    return {
        "version": found.version,
        "url": found.url,
        "offset": found.config_offset,
        "owned": None if found.owned is None else connect_assignment_fields(found.owned),
    }


def connect_assignment_fields(found: ConnectAssignment) -> Fields:
    """Return the fields of the assignment of a worker."""
    return {
        "version": found.version,
        "error": found.error,
        "leader": found.leader,
        "leader_url": found.leader_url,
        "offset": found.config_offset,
        "connectors": list(found.connectors),
        "tasks": [list(task) for task in found.tasks],
        "revoked_connectors": list(found.revoked_connectors),
        "revoked_tasks": [list(task) for task in found.revoked_tasks],
        "delay": found.delay_ms,
    }


# ---- random fields


def number(rng: random.Random, bits: int = 32) -> int:
    """Return a small number or an edge of a type."""
    edges = [(1 << bits - 1) - 1, -1 << bits - 1, -1]
    return rng.choice([rng.randrange(12), rng.randrange(12), *edges])


def draw_task(rng: random.Random, version: int) -> list[Json]:
    """Draw a task."""
    topology = rng.choice([None, None, "topology", "é\U0001f600"]) if version >= 10 else None
    return [number(rng), number(rng), topology]


def some(rng: random.Random, draw: Callable[[], Json]) -> list[Json]:
    """Return up to five distinct drawn values."""
    return sort(draw() for _ in range(rng.choice([0, 1, 2, 5])))


def draw_partitions(rng: random.Random) -> list[Json]:
    """Draw partitions."""
    return some(rng, lambda: [rng.choice(NAMES), number(rng)])


def draw_hosts(rng: random.Random) -> list[Json]:
    """Draw hosts with their partitions."""
    hosts = some(rng, lambda: [rng.choice(NAMES), number(rng)])
    return [[host, draw_partitions(rng)] for host in hosts]


def draw_streams_subscription(rng: random.Random, version: int) -> Fields:
    """Draw the fields of the user data of a subscription."""
    tasks = some(rng, lambda: draw_task(rng, version))
    return {
        "version": version,
        "latest": rng.choice([version, 11]) if version >= 3 else -1,
        "process": str(uuid.UUID(int=rng.choice([rng.getrandbits(128), 0, 2**128 - 1]))),
        "sums": [[task, rng.choice([LATEST_OFFSET, -3, 0, number(rng, 64)])] for task in tasks],
        "endpoint": rng.choice([None, "host:8080", *NAMES]),
        "unique": rng.randrange(-128, 128),
        "error": number(rng),
        "tags": [[key, rng.choice(NAMES)] for key in rng.sample(NAMES, rng.randrange(4))],
    }


def draw_streams_assignment(rng: random.Random, version: int) -> Fields:
    """Draw the fields of the user data of an assignment."""
    tasks = some(rng, lambda: draw_task(rng, version))
    return {
        "version": version,
        "latest": rng.choice([version, 11]),
        "active": rng.choices(tasks, k=rng.randrange(8)) if tasks else [],
        "standby": [[task, draw_partitions(rng)] for task in some(rng, lambda: draw_task(rng, version))],
        "hosts": draw_hosts(rng),
        "standby_hosts": draw_hosts(rng),
        "error": number(rng),
        "next": rng.choice([NO_REBALANCE, 0, number(rng, 64)]),
    }


def draw_connect_assignment(rng: random.Random, version: int) -> Fields:
    """Draw the fields of the assignment of a worker."""

    def tasks() -> list[Json]:
        return some(rng, lambda: [rng.choice(NAMES), rng.choice([rng.randrange(12), 2**31 - 1])])

    return {
        "version": version,
        "error": rng.choice([0, 1, number(rng, 16)]),
        "leader": rng.choice(NAMES),
        "leader_url": rng.choice(NAMES),
        "offset": number(rng, 64),
        "connectors": rng.sample(NAMES, rng.randrange(4)),
        "tasks": tasks(),
        "revoked_connectors": rng.sample(NAMES, rng.randrange(4)) if version else [],
        "revoked_tasks": tasks() if version else [],
        "delay": number(rng) if version else 0,
    }


def draw_connect_subscription(rng: random.Random, version: int) -> Fields:
    """Draw the fields of the state of a worker."""
    owned = draw_connect_assignment(rng, version) if version and rng.random() < 0.7 else None
    return {"version": version, "url": rng.choice(NAMES), "offset": number(rng, 64), "owned": owned}


KINDS = {
    "streams_subscription": Kind(
        decode_streams_subscription, range(1, 12), draw_streams_subscription, streams_subscription_fields
    ),
    "streams_assignment": Kind(
        decode_streams_assignment, range(1, 12), draw_streams_assignment, streams_assignment_fields
    ),
    "connect_subscription": Kind(
        decode_connect_subscription, range(3), draw_connect_subscription, connect_subscription_fields
    ),
    "connect_assignment": Kind(decode_connect_assignment, range(3), draw_connect_assignment, connect_assignment_fields),
}
"""Kinds of messages by name, which is also that of the fuzz target."""


def drawn(rng: random.Random, count: int) -> Iterator[tuple[str, Fields]]:
    """Draw a number of fields of each kind and version."""
    for name, kind in KINDS.items():
        for version in kind.versions:
            for _ in range(count):
                yield name, kind.draw(rng, version)


def read_frozen() -> Iterator[tuple[str, bytes, Fields]]:
    """Return the kind, the bytes and the fields of each message in the repository."""
    with gzip.open(FROZEN, "rt", encoding="utf-8") as file:
        for line in file:
            case = json.loads(line)
            yield case["kind"], bytes.fromhex(case["bytes"]), case["fields"]


def main() -> None:
    """Write the messages."""
    rng = random.Random(42)
    with ApplicationOracle() as oracle, gzip.GzipFile(FROZEN, "wb", mtime=0) as file:
        for kind, fields in drawn(rng, 12):
            data = oracle.encode(kind, fields)
            case = {"kind": kind, "bytes": data.hex(), "fields": oracle.decode(kind, data)}
            file.write((json.dumps(case, ensure_ascii=False) + "\n").encode())


if __name__ == "__main__":
    main()
