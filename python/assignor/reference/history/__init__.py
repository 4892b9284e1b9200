"""Summary of a group's history, as a row with the columns of `assignor.spark.schemas.HISTORY`.

It has counts, and the generations or epochs. Each generation or epoch is compared with the answer of its assignor, if
that assignor is one of Kafka's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.reference.history.busiest_minute import BusiestMinute
from assignor.reference.history.compare import compare, compare_target
from assignor.reference.history.metadata import Metadata, MetadataSnapshot
from assignor.reference.replay import LogRecord, owned, replay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.reference.history.compare import Comparison
    from assignor.reference.replay import Generation, History, RecordedMember

__all__ = ["Metadata", "MetadataSnapshot", "busiest_minute", "replay_group"]

RANGE = ("classic", "range")
"""Assignor that the columns range, range_equal, range_different and range_unknown are about."""


def replay_group(records: Iterable[LogRecord], metadata: Metadata) -> dict[str, Any]:
    """Replay one group and summarize its history."""
    return summarize(replay(records), metadata)


def summarize(history: History, metadata: Metadata) -> dict[str, Any]:
    """Summarize a history and compare its generations."""
    partitions = owned(history.members)
    loads = [count for count in map(load, history.members) if count is not None]
    before = [None, *history.generations]
    comparisons = [
        comparison_of(generation, last, metadata) for generation, last in zip(history.generations, before, strict=False)
    ]
    outcomes = [comparison.outcome for comparison in comparisons if comparison]
    of_range = [comparison.outcome for comparison in comparisons if comparison and comparison[:2] == RANGE]
    return {
        "kind": history.kind,
        "state": history.state,
        "protocol": history.protocol,
        "generation": history.generation,
        "topics": len({topic for topic, _ in partitions}),
        "partitions": len(partitions),
        "unowned": unowned(history, metadata),
        "idle_members": loads.count(0),
        "least_loaded": min(loads, default=None),
        "most_loaded": max(loads, default=None),
        "committed_offsets": history.committed_offsets,
        "bad_records": history.bad_records,
        "rebalances": rebalances(history.generations),
        "busiest_minute": busiest_minute(history.generations),
        "range_equal": of_range.count("equal"),
        "range_different": of_range.count("different"),
        "range_unknown": of_range.count("unknown"),
        "assignments_equal": outcomes.count("equal"),
        "assignments_different": outcomes.count("different"),
        "assignments_unknown": outcomes.count("unknown"),
        "generations": [
            generation_row(generation, comparison)
            for generation, comparison in zip(history.generations, comparisons, strict=True)
        ],
        "members": [member_row(member) for member in history.members],
        "assignment": [span for member in history.members for span in owned_spans(member, metadata)],
    }


def comparison_of(generation: Generation, before: Generation | None, metadata: Metadata) -> Comparison | None:
    """Compare a generation or epoch with the answer of its assignor; `before` is the group record before it."""
    if generation.target is not None:
        return compare_target(generation.target, metadata)
    if not generation.protocol or not generation.parsed_members:
        return None
    # A record that repeats a generation also repeats its assignment, which was computed for the earlier record. Only
    # range is compared again.
    if generation.protocol != "range" and before is not None and before.generation == generation.generation:
        return None
    return compare(generation.protocol, generation.parsed_members, generation.leader, generation.timestamp, metadata)


def generation_row(generation: Generation, comparison: Comparison | None) -> dict[str, Any]:
    """Return a generation and its comparison as a row."""
    of_range = comparison if comparison and comparison[:2] == RANGE else None
    return {
        "offset": generation.offset,
        "timestamp": generation.timestamp,
        "kind": generation.kind,
        "generation": generation.generation,
        "protocol_type": generation.protocol_type,
        "protocol": generation.protocol,
        "leader": generation.leader,
        "members": generation.members,
        "partitions": generation.partitions,
        "same_members": generation.same_members,
        "range": of_range.outcome if of_range else None,
        "remarks": of_range.remarks if of_range else [],
        "assignor": comparison.assignor if comparison else None,
        "outcome": comparison.outcome if comparison else None,
        "reasons": comparison.remarks if comparison else [],
    }


def member_row(member: RecordedMember) -> dict[str, Any]:
    """Return a member and its number of partitions as a row."""
    return {
        "member_id": member.id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "rack": member.rack,
        "topics": member.topics,
        "pattern": member.pattern,
        "partitions": load(member),
    }


def owned_spans(member: RecordedMember, metadata: Metadata) -> list[dict[str, Any]]:
    """Return a row per span that a member owns, with topic names instead of ids if the metadata has them."""
    found: list[dict[str, Any]] = []
    for topic, ids in (member.partitions or {}).items():
        for place, id in enumerate(ids):
            if place > 0 and ids[place - 1] + 1 == id:
                found[-1]["count"] += 1
            else:
                found.append({"member_id": member.id, "topic": metadata.name(topic), "start": id, "count": 1})
    return found


def rebalances(generations: list[Generation]) -> int:
    """Count the rebalances of a group: the records with another generation or kind than the record before.

    Generation 0 belongs to a new group. A static member that restarts causes another record of the same generation.
    """
    numbers = [(found.kind, found.generation) for found in generations]
    before = [None, *numbers]
    return sum(now[1] > 0 and now != last for now, last in zip(numbers, before, strict=False))


def busiest_minute(generations: list[Generation]) -> int:
    """Return the highest number of rebalances with unchanged membership within a minute.

    Only generations of the classic protocol count.
    """
    busiest = BusiestMinute()
    for found in generations:
        if found.kind == "classic" and found.same_members:
            busiest.add(found.timestamp)
    return busiest.most


def load(member: RecordedMember) -> int | None:
    """Count the partitions of a member; None if its assignment cannot be read."""
    return None if member.partitions is None else sum(map(len, member.partitions.values()))


def unowned(history: History, metadata: Metadata) -> int | None:
    """Count the partitions of subscribed topics without an owner; None if the records are not sufficient."""
    if not metadata.snapshots or not history.members or history.kind not in ("classic", "consumer"):
        return None
    if any(member.topics is None or member.pattern or member.partitions is None for member in history.members):
        return None
    wanted = {topic for member in history.members for topic in member.topics or []}
    exist = {
        (topic, partition.partition)
        for topic, partitions in metadata.snapshots[-1].topics.items()
        for partition in partitions
        if topic in wanted
    }
    return len(exist - {(metadata.name(topic), id) for topic, id in owned(history.members)})
