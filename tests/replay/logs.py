"""Hand-written logs of groups, and their replay.

A log is a list of events. `at` sets the time of an event; by default, events have the times 0 s, 1 s, 2 s and so on.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assignor import _core
from tests.support.record_bytes import LogRecord, assignment, subscription, write_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Row = dict[str, Any]

RECORD = pa.schema([("offset", pa.int64()), ("timestamp", pa.int64()), ("key", pa.binary()), ("value", pa.binary())])
TOPICS = pa.schema(
    [
        ("t", pa.int64()),
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("racks", pa.list_(pa.string())),
    ]
)


# ---- events of a group


@dataclass(frozen=True)
class Event:
    """Record, and its time if the test needs one."""

    key: bytes | None
    value: bytes | None
    time: int | None = None

    def at(self, time: int) -> Event:
        """Return the event with a time."""
        return replace(self, time=time)


def event(number: int, key: Mapping[str, Any], value: Mapping[str, Any] | None, version: int | None = None) -> Event:
    return Event(*write_record(number, key, value, version))


def commit(topic: str, partition: int, *, offset: int | None = 7) -> Event:
    """Return a committed offset, or its tombstone if `offset` is None."""
    value = None if offset is None else {"offset": offset}
    return event(1, {"group": "g", "topic": topic, "partition": partition}, value)


def classic(
    generation: int,
    *members: Mapping[str, Any],
    protocol: str | None = "range",
    protocol_type: str = "consumer",
) -> Event:
    """Return a generation of a classic group; without members it has no protocol."""
    leader = members[0]["memberId"] if members else None
    value = {"protocolType": protocol_type, "generation": generation, "leader": leader, "members": members}
    return event(2, {"group": "g"}, {**value, "protocol": protocol if members else None}, version=3)


def classic_gone() -> Event:
    return event(2, {"group": "g"}, None)


def member(
    member_id: str,
    wants: bytes | Sequence[str] = (),
    gets: bytes | Mapping[str, Sequence[int]] | None = None,
    *,
    instance: str | None = None,
    rack: str | None = None,
) -> Row:
    """Return a member of a classic group with its topics and partitions, or with encoded ones."""
    return {
        "memberId": member_id,
        "groupInstanceId": instance,
        "clientId": f"client-{member_id}",
        "clientHost": "/10.0.0.1",
        "subscription": wants if isinstance(wants, bytes) else subscription(*wants, rack=rack),
        "assignment": gets if isinstance(gets, bytes) else assignment(*(gets or {}).items()),
    }


@dataclass(frozen=True)
class Protocol:
    """Protocol with epochs, by its record types."""

    group: int
    member: int
    target: int
    current: int
    topology: int = -1

    def epoch(self, epoch: int | None, **fields: Any) -> Event:
        """Return the group record, or its tombstone if `epoch` is None."""
        return event(self.group, {"groupId": "g"}, None if epoch is None else {"epoch": epoch, **fields})

    def joins(self, member_id: str, **fields: Any) -> Event:
        """Return the record of a member that joins or changes."""
        return event(self.member, self._key(member_id), {"clientId": "c", "clientHost": "/h", **fields})

    def leaves(self, member_id: str) -> tuple[Event, Event]:
        """Return the tombstones of a member."""
        return event(self.current, self._key(member_id), None), event(self.member, self._key(member_id), None)

    def target_epoch(self, epoch: int | None) -> Event:
        """Return the record of the epoch of the target assignment, or its tombstone if `epoch` is None."""
        return event(self.target, {"groupId": "g"}, None if epoch is None else {"assignmentEpoch": epoch})

    def target_of(self, member_id: str, has: Mapping[str, Sequence[int]] | None, **standby: Sequence[int]) -> Event:
        """Return the target of a member, or its tombstone if `has` is None; `standby` are tasks of a streams group."""
        name = "activeTasks" if self is STREAMS else "topicPartitions"
        value = None if has is None else {name: [self._owned(*pair) for pair in has.items()]}
        if value is not None and standby:
            value["standbyTasks"] = [self._owned(*pair) for pair in standby.items()]
        return event(self.target + 1, self._key(member_id), value)

    def has(
        self, member_id: str, epoch: int, state: int, has: Mapping[str, Sequence[int]], **revoking: Sequence[int]
    ) -> Event:
        """Return the current assignment of a member, and the partitions that it still has to give up."""
        names = ("activeTasks", "activeTasksPendingRevocation")
        if self is not STREAMS:
            names = ("assignedPartitions", "partitionsPendingRevocation")
        value: Row = {"memberEpoch": epoch, "state": state, names[0]: [self._owned(*pair) for pair in has.items()]}
        if revoking:
            value[names[1]] = [self._owned(*pair) for pair in revoking.items()]
        return event(self.current, self._key(member_id), value)

    def streams_topology(
        self, epoch: int, subtopologies: Mapping[str, Sequence[str]], *, stateful: Sequence[str] = (), pattern: str = ""
    ) -> Event:
        """Return a streams topology: source topics by subtopology; a name that begins with = is a repartition topic.

        The subtopologies in `stateful` have a changelog topic; all have the pattern, if there is one.
        """
        entries: list[Row] = []
        for name, topics in subtopologies.items():
            internal = [{"name": topic[1:]} for topic in topics if topic.startswith("=")]
            sources = [topic for topic in topics if not topic.startswith("=")]
            entries.append({"subtopologyId": name, "sourceTopics": sources, "repartitionSourceTopics": internal})
            entries[-1]["stateChangelogTopics"] = [{"name": f"{name}-changelog"}] if name in stateful else []
            entries[-1]["sourceTopicRegex"] = [pattern] if pattern else []
        return event(self.topology, {"groupId": "g"}, {"epoch": epoch, "subtopologies": entries})

    def _key(self, member_id: str) -> Row:
        return {"groupId": "g", "memberId": member_id}

    def _owned(self, name: str, ids: Sequence[int]) -> Row:
        if self is STREAMS:
            return {"subtopologyId": name, "partitions": ids}
        return {"topicId": topic_id(name), "partitions": ids}


CONSUMER = Protocol(group=3, member=5, target=6, current=8)
SHARE = Protocol(group=11, member=10, target=12, current=14)
STREAMS = Protocol(group=17, member=19, target=20, current=22, topology=23)


def topic_id(topic: str) -> str:
    """Return a topic id made from the name."""
    return base64.urlsafe_b64encode(topic.encode().ljust(16, b"\0")).decode().rstrip("=")


def metadata(snapshots: Mapping[int, Mapping[str, int | Sequence[Sequence[str]]]]) -> list[Row]:
    """Return topic metadata: per time and topic, the number of partitions or the racks of each."""
    return [
        {"t": time, "topic": topic, "topic_id": topic_id(topic), "partition": partition, "racks": list(racks)}
        for time, topics in snapshots.items()
        for topic, partitions in topics.items()
        for partition, racks in enumerate([()] * partitions if isinstance(partitions, int) else partitions)
    ]


def log(events: Iterable[Event]) -> list[LogRecord]:
    """Return the records of a log, with offsets from 100."""
    return [
        LogRecord(100 + place, 1_000 * place if event.time is None else event.time, event.key, event.value)
        for place, event in enumerate(events)
    ]


# ---- replay


def replay_all(
    logs: Sequence[Sequence[LogRecord]], topics: Sequence[Row] = (), broker_version: tuple[int, int, int] | None = None
) -> list[Row]:
    """Return the history of the group of each log, with the columns of `assignor.spark.schemas.HISTORY`."""
    metadata = pa.RecordBatch.from_pylist(list(topics), schema=TOPICS)
    replays = ((_core.Replay(metadata, broker_version=broker_version), records) for records in logs)
    return [history for replay, records in replays for history in histories(replay, records)]


def histories(replay: _core.Replay, records: Sequence[LogRecord], limit: int = 2**31 - 1) -> list[Row]:
    """Return the histories of the groups of a log."""
    batch = pa.RecordBatch.from_pylist([record._asdict() for record in records], schema=RECORD)
    found: list[Row] = []
    for batch_or_end in (batch, None):
        *_, (_, ended) = replay.push_groups(batch_or_end, limit=limit)
        pa.array(ended).validate(full=True)
        found += pa.array(ended).to_pylist()
    return found


def replayed(*events: Event, topics: Sequence[Row] = (), broker_version: tuple[int, int, int] | None = None) -> Row:
    """Return the history of one log."""
    (history,) = replay_all([log(events)], topics, broker_version)
    return history


def comparisons(history: Row) -> list[tuple[str | None, list[str]]]:
    """Return the outcome and the remarks of the comparison of each generation with range."""
    return [(generation["range"], generation["remarks"]) for generation in history["generations"]]


def outcomes(history: Row) -> list[tuple[str | None, str | None]]:
    """Return the assignor and the outcome of the comparison of each generation or epoch."""
    return [(generation["assignor"], generation["outcome"]) for generation in history["generations"]]


def assigned(history: Row) -> dict[str, dict[str, list[int]]]:
    """Return the partitions of each member by topic, without members whose assignment cannot be parsed."""
    found: dict[str, dict[str, list[int]]] = {
        member["member_id"]: {} for member in history["members"] if member["partitions"] is not None
    }
    for span in history["assignment"]:
        ids = found[span["member_id"]].setdefault(span["topic"], [])
        ids.extend(range(span["start"], span["start"] + span["count"]))
    return found
