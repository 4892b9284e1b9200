"""ConsumerProtocol bytes: what a member subscribes to and what its leader assigned to it."""

from __future__ import annotations

from typing import NamedTuple

from assignor.errors import WireError
from assignor.reference.bytes import Reader

__all__ = ["Assignment", "Subscription", "decode_assignment", "decode_subscription"]

NEWEST_VERSION = 3
"""The newest version whose fields are known; a newer message is read as this one."""

TopicPartitions = tuple[str, list[int]]
"""Partitions of one topic, in wire order. A topic may come more than once in one message."""


class Subscription(NamedTuple):
    """A member's subscription, as the bytes have it.

    `version` is the header's; `tolerated` the version whose body it really was, where only the tolerant reader could
    read it.
    """

    version: int
    topics: list[str]
    user_data: bytes | None
    owned_partitions: list[TopicPartitions]
    generation_id: int
    rack_id: str | None
    tolerated: int | None


class Assignment(NamedTuple):
    """A member's part of an assignment, as the bytes have it."""

    version: int
    assigned_partitions: list[TopicPartitions]
    user_data: bytes | None


def decode_subscription(data: bytes, tolerant: bool) -> Subscription:
    """Read a subscription; with `tolerant` also one whose body is older than its header says."""
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
    """Read an assignment. Every version has the same body."""
    reader = Reader(data)
    version = read_version(reader)
    partitions = read_partitions(reader, "partitions")
    return Assignment(version, partitions, reader.nullable_bytes("user_data"))


def read_version(reader: Reader) -> int:
    """The header."""
    version = reader.integer("h", "version")
    if version < 0:
        raise WireError(f"version {version} is negative", 0, "version")
    return version


def read_partitions(reader: Reader, field: str) -> list[TopicPartitions]:
    """An array of topics with their partition ids: at least six bytes each."""
    entries = []
    for index in range(reader.count(6, field)):
        topic = reader.string(f"{field}[{index}].topic")
        count = reader.count(4, f"{field}[{index}].partitions")
        entries.append((topic, [reader.integer("i", field) for _ in range(count)]))
    return entries
