"""Decoder of the messages of Kafka Connect: what a worker reports, and the connectors and tasks that it gets.

Version 0 is that of the protocol `default`. Versions 1 and 2 have the same layout, whose last fields may be missing;
versions above 2 are read as 2.
"""

from __future__ import annotations

from typing import NamedTuple

from assignor.errors import WireError
from assignor.reference.bytes import Reader

__all__ = ["Assignment", "Subscription", "decode_connect_assignment", "decode_connect_subscription"]

CONNECTOR = -1
"""Task number that stands for the connector itself."""

ConnectorsAndTasks = tuple[list[str], list[tuple[str, int]]]
"""Names of connectors, and tasks as name and number."""


class Assignment(NamedTuple):
    """Assignment of a worker, as encoded."""

    version: int
    error: int
    leader: str
    leader_url: str
    config_offset: int
    assigned: ConnectorsAndTasks
    revoked: ConnectorsAndTasks
    delay_ms: int


class Subscription(NamedTuple):
    """State of a worker when it joins, as encoded."""

    version: int
    url: str
    config_offset: int
    owned: Assignment | None


def decode_connect_subscription(data: bytes) -> Subscription:
    """Decode the state of a worker."""
    reader = Reader(data)
    version = read_version(reader)
    url = reader.string("url")
    config_offset = reader.integer("q", "config_offset")
    owned = reader.nullable_bytes("owned") if version >= 1 and reader.remaining else None
    if owned is None:
        return Subscription(version, url, config_offset, None)
    start = reader.position - len(owned)
    try:
        assignment = read_assignment(Reader(owned), is_incremental=True)
    except WireError as error:
        raise WireError(error.reason, start + (error.offset or 0), f"owned.{error.field}") from None
    return Subscription(version, url, config_offset, assignment)


def decode_connect_assignment(data: bytes) -> Assignment:
    """Decode an assignment."""
    return read_assignment(Reader(data), is_incremental=False)


def read_assignment(reader: Reader, is_incremental: bool) -> Assignment:
    """Read an assignment; one in the state of a worker has the layout of version 1 whatever its version is."""
    version = read_version(reader)
    error = reader.integer("h", "error")
    leader = reader.string("leader")
    leader_url = reader.string("leader_url")
    config_offset = reader.integer("q", "config_offset")
    assigned: ConnectorsAndTasks = ([], [])
    revoked: ConnectorsAndTasks = ([], [])
    delay = 0
    if is_incremental or version >= 1:
        if reader.remaining:
            assigned = read_tasks(reader, "assigned", is_nullable=True)
        if reader.remaining:
            revoked = read_tasks(reader, "revoked", is_nullable=True)
        if reader.remaining:
            delay = reader.integer("i", "delay_ms")
    else:
        assigned = read_tasks(reader, "assigned", is_nullable=False)
    return Assignment(version, error, leader, leader_url, config_offset, assigned, revoked, delay)


def read_version(reader: Reader) -> int:
    """Read the version."""
    start = reader.position
    version = reader.integer("h", "version")
    if version < 0:
        raise WireError(f"version {version} is negative", start, "version")
    return version


def read_tasks(reader: Reader, field: str, is_nullable: bool) -> ConnectorsAndTasks:
    """Read connectors with the numbers of their tasks; null means none where it is allowed."""
    connectors, tasks = list[str](), list[tuple[str, int]]()
    start = reader.position
    if is_nullable and reader.integer("i", field) < 0:
        return connectors, tasks
    reader.position = start
    for index in range(reader.count(6, field)):
        connector = reader.string(f"{field}[{index}].connector")
        name = f"{field}[{index}].tasks"
        for _ in range(reader.count(4, name)):
            number = reader.integer("i", name)
            if number == CONNECTOR:
                connectors.append(connector)
            else:
                tasks.append((connector, number))
    return connectors, tasks
