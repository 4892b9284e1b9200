"""Histories as rows: the columns of `assignor.spark.schemas.HISTORY`, with every range generation judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.reference.audit import judge
from assignor.reference.replay import LogRecord, busiest_minute, owned, replay

if TYPE_CHECKING:
    from collections.abc import Iterable

    from assignor.reference.audit import Metadata, Verdict
    from assignor.reference.replay import Generation, History, Member

__all__ = ["replay_group"]


def replay_group(records: Iterable[LogRecord], metadata: Metadata) -> dict[str, Any]:
    """Replay one group and tell its history."""
    return row(replay(records), metadata)


def row(history: History, metadata: Metadata) -> dict[str, Any]:
    """A history with what can be counted in it, and its generations judged."""
    partitions = owned(history.members)
    loads = [load for load in map(load_of, history.members) if load is not None]
    verdicts = [
        judge(generation.joined, generation.timestamp, metadata) if generation.joined else None
        for generation in history.generations
    ]
    outcomes = [verdict.outcome for verdict in verdicts if verdict]
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
        "range_equal": outcomes.count("equal"),
        "range_different": outcomes.count("different"),
        "range_unknown": outcomes.count("unknown"),
        "generations": [
            generation_row(generation, verdict)
            for generation, verdict in zip(history.generations, verdicts, strict=True)
        ],
        "members": [member_row(member) for member in history.members],
        "assignment": [span for member in history.members for span in spans(member, metadata)],
    }


def generation_row(generation: Generation, verdict: Verdict | None) -> dict[str, Any]:
    """A generation and what was found about it."""
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
        "range": verdict.outcome if verdict else None,
        "remarks": verdict.remarks if verdict else [],
    }


def member_row(member: Member) -> dict[str, Any]:
    """A member and how many partitions it has."""
    return {
        "member_id": member.id,
        "group_instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "rack": member.rack,
        "topics": member.topics,
        "pattern": member.pattern,
        "partitions": load_of(member),
    }


def spans(member: Member, metadata: Metadata) -> list[dict[str, Any]]:
    """A row per run of consecutive ids; topic ids become names where the metadata has them."""
    found: list[dict[str, Any]] = []
    for topic, ids in (member.partitions or {}).items():
        for place, id in enumerate(ids):
            if place > 0 and ids[place - 1] + 1 == id:
                found[-1]["count"] += 1
            else:
                name = metadata.names.get(topic, topic)
                found.append({"member_id": member.id, "topic": name, "start": id, "count": 1})
    return found


def rebalances(generations: list[Generation]) -> int:
    """How often a group has rebalanced: records of a generation that the record before was not of.

    Generation 0 is that of a group just made, and a static member that restarts has the generation written again.
    """
    numbers = [(found.kind, found.generation) for found in generations]
    before = [None, *numbers]
    return sum(now[1] > 0 and now != last for now, last in zip(numbers, before, strict=False))


def load_of(member: Member) -> int | None:
    """How many partitions a member has; None where its bytes cannot be read."""
    return None if member.partitions is None else sum(map(len, member.partitions.values()))


def unowned(history: History, metadata: Metadata) -> int | None:
    """How many partitions of the topics that the members subscribe to nobody has; None where that cannot be said."""
    if not metadata.moments or not history.members or history.kind not in ("classic", "consumer"):
        return None
    if any(member.topics is None or member.pattern or member.partitions is None for member in history.members):
        return None
    wanted = {topic for member in history.members for topic in member.topics or []}
    exist = {
        (topic, partition.partition)
        for topic, partitions in metadata.moments[-1].topics.items()
        for partition in partitions
        if topic in wanted
    }
    return len(exist - {(metadata.names.get(topic, topic), id) for topic, id in owned(history.members)})
