"""Recordings whose groups, members, clients, hosts and topics have any name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from assignor.cluster.records import SCHEMA
from assignor.lag import TIMED_END_OFFSETS
from tests.replay.logs import TOPICS, event, member

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]


def record(offset: int, content: Any, *, at: int | None = None) -> Row:
    """Return the row of a record."""
    time = 1_000 * (offset + 1) if at is None else at
    return {"partition": 0, "offset": offset, "timestamp": time, "key": content.key, "value": content.value}


def generation(group: str, number: int, *members: Row, protocol: str = "range") -> Any:
    """Return a generation of a classic group."""
    leader = members[0]["memberId"] if members else None
    value = {"protocolType": "consumer", "generation": number, "leader": leader, "members": members}
    return event(2, {"group": group}, {**value, "protocol": protocol if members else None}, version=3)


def commit(group: str, topic: str, offset: int | None, metadata: str = "") -> Any:
    """Return a committed offset of partition 0, or its tombstone."""
    value = None if offset is None else {"offset": offset, "metadata": metadata}
    return event(1, {"group": group, "topic": topic, "partition": 0}, value)


def rows_with_names(name: str) -> tuple[list[Row], list[Row], list[Row]]:
    """Return records, topics and end offsets in which groups, members, clients, hosts and topics have a name."""
    other = f"{name}2"

    def one(id: str, topics: dict[str, list[int]]) -> Row:
        found = member(id, [name, other], topics, rack=name)
        return {**found, "clientId": name, "clientHost": f"/{name}"}

    contents = [
        generation(name, 1, one(name, {name: [0]}), one(other, {other: [0]})),
        commit(name, name, 5, name),
        generation(name, 2, one(name, {name: [0], other: [0]})),
        commit(name, name, 2, name),
        generation(name, 3, one(f"{name}3", {name: [0, 7]}), protocol=name),
        commit(name, other, 9, name),
        commit(name, other, None),
        generation(other, 1, one(other, {other: [0]})),
        event(2, {"group": other}, None),
        event(2, {"group": f"{name}4"}, None),
        generation(f"{name}5", 1, one(f"{name}5", {name: [0], "unknown": [1]})),
    ]
    records = [record(offset, content) for offset, content in enumerate(contents)]
    topics = [
        {"t": 0, "topic": topic, "topic_id": name, "partition": id, "racks": [name]}
        for topic in (name, other)
        for id in (0, 1)
    ]
    ends = [
        {"at": at, "topic": topic, "partition": 0, "end_offset": at // 100, "start_offset": 0}
        for at in (2_000, 6_000, 12_000)
        for topic in (name, other)
    ]
    return records, topics, ends


def write(folder: Path, records: list[Row], topics: list[Row], ends: list[Row]) -> Path:
    """Write a recording."""
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(records, SCHEMA), folder / "records.parquet")
    pq.write_table(pa.Table.from_pylist(topics, TOPICS), folder / "topics.parquet")
    pq.write_table(pa.Table.from_pylist(ends, TIMED_END_OFFSETS), folder / "end_offsets.parquet")
    return folder
