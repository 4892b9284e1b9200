"""Log of a `Simulation`: its records, and what the coordinator and the clients know about each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignor import TopicPartition

Record = tuple[int, int, bytes, bytes | None]
"""Offset, timestamp, key and value."""


class Known(NamedTuple):
    """Member of a group as the coordinator describes it: topics and partitions are decoded."""

    instance: str | None
    topics: frozenset[str]
    partitions: frozenset[TopicPartition]
    subscription: bytes


class TopicState(NamedTuple):
    """Time at which a topic was created, 0 for the topics of the start, and its number of partitions."""

    born: int
    size: int


class Commit(NamedTuple):
    """Accepted commit, or a deleted offset; `member_id` is None for an administrator."""

    group: str
    topic: str
    partition: int
    at: int
    member_id: str | None
    offset: int | None


class Written(NamedTuple):
    """State of a group when the coordinator wrote its record.

    Attributes:
        is_first: False if the generation is written again, because a static member returned.
        began: Time of the first record with this generation.
        members: Members by id; None for a tombstone.
        cause: Cause of the rebalance that led to the generation, with the coordinator's sentence.
    """

    offset: int
    at: int
    group: str
    generation: int
    protocol_type: str
    protocol: str | None
    leader: str | None
    is_first: bool
    began: int
    members: dict[str, Known] | None
    cause: tuple[str, str]


def compacted(log: list[Record], end: int, *, has_tombstones: bool = True) -> list[Record]:
    """Return a log whose first `end` records are compacted: only the last record of each key remains of them."""
    last = {key: offset for offset, _, key, _ in log[:end]}
    kept = [each for each in log[:end] if last[each[2]] == each[0] and (has_tombstones or each[3] is not None)]
    return kept + log[end:]


def rows(snapshots: Mapping[int, Mapping[str, TopicState]]) -> list[dict[str, Any]]:
    """Return the topic metadata of the snapshots of a simulation, as `Replay` reads it."""
    return [
        {"t": at, "topic": topic, "topic_id": f"{topic}{born:021}", "partition": partition, "racks": []}
        for at, topics in snapshots.items()
        for topic, (born, count) in topics.items()
        for partition in range(count)
    ]
