"""Decoder and encoder of ConsumerProtocol messages: subscription and assignment of a member."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from assignor.errors import WireError
from assignor.ordering import java_order
from assignor.reference.bytes import Reader, write_bytes, write_count, write_string
from assignor.validation import check_name, read_entries, read_int, read_names, wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Assignment",
    "Subscription",
    "decode_assignment",
    "decode_subscription",
    "encode_assignment",
    "encode_subscription",
]

NEWEST_VERSION = 3
"""Newest version whose fields are known; newer versions are read and written as this one."""

TopicPartitions = tuple[str, list[int]]
"""Partitions of one topic, in wire order. A message may contain a topic more than once."""


class Subscription(NamedTuple):
    """Subscription of a member, as encoded.

    `version` is the version in the header. `tolerated` is the version of the body if it is older than the header's, so
    that only the tolerant reader can read it; else None.
    """

    version: int
    topics: list[str]
    user_data: bytes | None
    owned_partitions: list[TopicPartitions]
    generation_id: int
    rack_id: str | None
    tolerated: int | None


class Assignment(NamedTuple):
    """Assignment of a member, as encoded."""

    version: int
    assigned_partitions: list[TopicPartitions]
    user_data: bytes | None


def decode_subscription(data: bytes, tolerant: bool) -> Subscription:
    """Decode a subscription; with `tolerant`, the body may be of an older version than the header."""
    reader = Reader(data)
    version = read_version(reader)
    topics = [reader.string(f"topics[{i}]") for i in range(reader.count(2, "topics"))]
    user_data = reader.nullable_bytes("user_data")
    owned: list[TopicPartitions] = []
    generation = -1
    rack = None
    tolerated = None
    for body in range(1, min(version, NEWEST_VERSION) + 1):
        if tolerant and reader.remaining == 0:
            tolerated = body - 1
            break
        if body == 1:
            owned = read_partitions(reader, "owned_partitions")
        elif body == 2:
            generation = reader.integer("i", "generation")
        else:
            rack = reader.nullable_string("rack")
    return Subscription(version, topics, user_data, owned, generation, rack, tolerated)


def decode_assignment(data: bytes) -> Assignment:
    """Decode an assignment; all versions have the same body."""
    reader = Reader(data)
    version = read_version(reader)
    partitions = read_partitions(reader, "partitions")
    return Assignment(version, partitions, reader.nullable_bytes("user_data"))


def read_version(reader: Reader) -> int:
    """Read the version in the header."""
    version = reader.integer("h", "version")
    if version < 0:
        raise WireError(f"version {version} is negative", 0, "version")
    return version


def read_partitions(reader: Reader, field: str) -> list[TopicPartitions]:
    """Read an array of topics with their partition ids; each entry of the array has at least six bytes."""
    entries = []
    for index in range(reader.count(6, field)):
        topic = reader.string(f"{field}[{index}].topic")
        count = reader.count(4, f"{field}[{index}].partitions")
        entries.append((topic, [reader.integer("i", field) for _ in range(count)]))
    return entries


def encode_subscription(
    version: int,
    topics: Iterable[str],
    user_data: bytes | None,
    owned_partitions: Iterable[tuple[str, int]],
    generation_id: int,
    rack_id: str | None,
) -> bytes:
    """Encode a subscription as Kafka's `serializeSubscription` does.

    Topics are sorted in Java's order. Owned partitions are sorted by topic and id, and grouped by topic. Fields newer
    than the version are left out.
    """
    names = sorted(read_names(topics, "subscription"), key=java_order)
    owned = parse_partitions(owned_partitions, "subscription", "owned_partitions")
    owned.sort(key=lambda partition: (java_order(partition[0]), partition[1]))
    version = encoding_version(version)
    data = struct.pack(">h", version) + write_count(len(names), "topics")
    data += b"".join(write_string(name, f"topics[{index}]") for index, name in enumerate(names))
    data += write_bytes(user_data, "user_data")
    if version >= 1:
        data += write_partitions(owned, "owned_partitions")
    if version >= 2:
        data += struct.pack(">i", generation_id)
    if version >= 3:
        data += write_string(rack_id, "rack")
    return data


def encode_assignment(version: int, assigned_partitions: Iterable[tuple[str, int]], user_data: bytes | None) -> bytes:
    """Encode an assignment as Kafka's `serializeAssignment` does: grouped by topic, in order of first appearance."""
    partitions = parse_partitions(assigned_partitions, "assignment", "partitions")
    head = struct.pack(">h", encoding_version(version))
    return head + write_partitions(partitions, "partitions") + write_bytes(user_data, "user_data")


def encoding_version(version: int) -> int:
    """Return the version to encode: `NEWEST_VERSION` if the given version is newer."""
    if version < 0:
        raise WireError(f"version {version} is negative", None, "version")
    return min(version, NEWEST_VERSION)


def write_partitions(partitions: list[tuple[str, int]], field: str) -> bytes:
    """Encode an array of topics, in the order of first appearance, with their partition ids."""
    topics: dict[str, list[int]] = {}
    for topic, id in partitions:
        topics.setdefault(topic, []).append(id)
    data = write_count(len(topics), field)
    for index, (topic, ids) in enumerate(topics.items()):
        data += write_string(topic, f"{field}[{index}].topic")
        data += write_count(len(ids), f"{field}[{index}].partitions") + struct.pack(f">{len(ids)}i", *ids)
    return data


def parse_partitions(partitions: object, owner: str, field: str) -> list[tuple[str, int]]:
    """Parse an iterable of partitions, in its order; errors name `owner` and `field`."""
    entries = read_entries(partitions, f"{owner}: {field}", "an iterable of (topic, partition)")
    return [parse_partition(entry, owner) for entry in entries]


def parse_partition(entry: object, owner: str) -> tuple[str, int]:
    """Parse a (topic, partition id) tuple; the id is any int32."""
    if not isinstance(entry, tuple) or len(entry) != 2:
        raise wrong_type(f"{owner}: a partition", "a (topic, partition) tuple", entry)
    topic, id = entry
    return check_name(topic, f"{owner}: a topic"), read_int(id, f"{owner}: a partition id", bits=32)
