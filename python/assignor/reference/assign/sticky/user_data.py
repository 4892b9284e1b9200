"""User data of Kafka's sticky assignors: the partitions that a member owned, and their generation.

As in Kafka, bytes that cannot be decoded are not an error: they mean no partitions and the generation `NONE`.
"""

from __future__ import annotations

from assignor.errors import WireError
from assignor.model import TopicPartition
from assignor.reference.bytes import Reader

NONE = -1
"""Generation of a member that reports no generation."""


def decode(data: bytes) -> tuple[list[TopicPartition], int]:
    """Return the owned partitions and the generation in user data of `StickyAssignor`.

    Version 0 ends before the generation. Bytes after the last field are ignored.

    Example:
        >>> decode(bytes.fromhex("00000001 0001 74 00000002 00000003 00000000 00000007"))
        ([TopicPartition(topic='t', partition=3), TopicPartition(topic='t', partition=0)], 7)
        >>> decode(b"garbage")
        ([], -1)
    """
    reader = Reader(data)
    partitions = []
    try:
        for _ in range(reader.count(6, "topics")):
            topic = reader.string("topic")
            ids = [reader.integer("i", "partition") for _ in range(reader.count(4, "partitions"))]
            partitions += [TopicPartition(topic, id) for id in ids]
    except WireError:
        return [], NONE
    return partitions, _generation(reader)


def cooperative_generation(data: bytes) -> int:
    """Return the generation in user data of `CooperativeStickyAssignor`.

    Example:
        >>> cooperative_generation(bytes.fromhex("00000007")), cooperative_generation(b"")
        (7, -1)
    """
    return _generation(Reader(data))


def _generation(reader: Reader) -> int:
    try:
        return reader.integer("i", "generation")
    except WireError:
        return NONE
