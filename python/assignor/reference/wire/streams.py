"""Decoder of the user data of Kafka Streams on the classic protocol: what a member reports, and its tasks.

Versions 1 to 11 are known. Each version of the subscription appends or replaces fields; from version 7 on it has the
sum of the offsets of each task instead of lists of tasks. Strings in an assignment are those of Java's `DataOutput`.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from assignor.errors import WireError
from assignor.reference.bytes import Reader, java_string

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Assignment", "Subscription", "decode_streams_assignment", "decode_streams_subscription"]

NEWEST_VERSION = 11
"""Newest known version."""

LATEST_OFFSET = -2
"""Offset sum of a task that the member ran."""

NO_REBALANCE = 2**63 - 1
"""Time that stands for no next rebalance."""

Element = TypeVar("Element")

Task = tuple[int, int, str | None]
"""Subtopology, partition, and the name of the topology."""

Partition = tuple[str, int]

PartitionsByHost = list[tuple[tuple[str, int], list[Partition]]]
"""Host and port, and partitions."""


class Subscription(NamedTuple):
    """User data of a subscription, as encoded."""

    version: int
    latest_supported_version: int | None
    process_id: bytes
    previous_active: list[Task]
    previous_standby: list[Task]
    offset_sums: list[tuple[Task, int]]
    user_endpoint: str | None
    unique_field: int
    error_code: int
    client_tags: list[tuple[str, str]]


class Assignment(NamedTuple):
    """User data of an assignment, as encoded."""

    version: int
    latest_supported_version: int | None
    active_tasks: list[Task]
    standby_tasks: list[tuple[Task, list[Partition]]]
    partitions_by_host: PartitionsByHost
    standby_partitions_by_host: PartitionsByHost
    error_code: int
    next_rebalance_ms: int | None


def decode_streams_subscription(user_data: bytes) -> Subscription:
    """Decode the user data of a subscription."""
    reader = Reader(user_data)
    version = read_version(reader)
    latest = read_latest_version(reader, version)
    if latest is not None and latest < version:
        reason = f"version {version} exceeds the newest version of the member, {latest}"
        raise WireError(reason, 4, "latest_supported_version")
    process_id = reader.take(16, "process_id")
    active, standby, sums = list[Task](), list[Task](), list[tuple[Task, int]]()
    endpoint, unique, error, tags = b"", 0, 0, list[tuple[str, str]]()
    if version <= 6:
        active = read_list(reader, 8, "previous_active", lambda field: read_task(reader, 1, field))
        standby = read_list(reader, 8, "previous_standby", lambda field: read_task(reader, 1, field))
    if version >= 2:
        endpoint = read_bytes(reader, "user_endpoint")
    if version >= 10:
        sums = read_list(reader, 18, "offset_sums", lambda field: read_task_sum(reader, field))
    elif version >= 7:
        groups = read_list(reader, 8, "offset_sums", lambda field: read_subtopology_sums(reader, field))
        sums = [each for group in groups for each in group]
    active += [task for task, total in sums if total == LATEST_OFFSET]
    standby += [task for task, total in sums if total != LATEST_OFFSET]
    if version >= 8:
        unique = reader.integer("b", "unique_field")
    if version >= 9:
        error = reader.integer("i", "error_code")
    if version >= 11:
        tags = read_list(reader, 8, "client_tags", lambda field: read_tag(reader, field))
    address = java_string(endpoint) if endpoint else None
    return Subscription(version, latest, process_id, active, standby, sums, address, unique, error, tags)


def decode_streams_assignment(user_data: bytes) -> Assignment:
    """Decode the user data of an assignment."""
    reader = Reader(user_data)
    version = read_version(reader)
    latest = read_latest_version(reader, version)
    active = read_list(reader, 8, "active_tasks", lambda field: read_task(reader, version, field))
    standby = read_list(
        reader, 12, "standby_tasks", lambda field: (read_task(reader, version, field), read_partitions(reader, field))
    )
    hosts, standby_hosts = PartitionsByHost(), PartitionsByHost()
    if version >= 5:
        topics = dict(read_list(reader, 6, "topics", lambda field: read_topic(reader, field)))
        hosts = read_hosts(reader, "partitions_by_host", lambda field: read_numbered(reader, topics, field))
        if version >= 6:
            standby_hosts = read_hosts(
                reader, "standby_partitions_by_host", lambda field: read_numbered(reader, topics, field)
            )
    elif version >= 2:
        hosts = read_hosts(reader, "partitions_by_host", lambda field: read_partitions(reader, field))
    error = reader.integer("i", "error_code") if version >= 4 else 0
    next_rebalance = reader.integer("q", "next_rebalance_ms") if version >= 7 else NO_REBALANCE
    next_time = None if next_rebalance == NO_REBALANCE else next_rebalance
    return Assignment(version, latest, active, standby, hosts, standby_hosts, error, next_time)


def read_version(reader: Reader) -> int:
    """Read the version."""
    version = reader.integer("i", "version")
    if not 1 <= version <= NEWEST_VERSION:
        raise WireError(f"user data version {version} is not known", 0, "version")
    return version


def read_latest_version(reader: Reader, version: int) -> int | None:
    """Read the newest version that is known to the member, or to all members in an assignment."""
    return reader.integer("i", "latest_supported_version") if version >= 3 else None


def read_list(reader: Reader, least: int, field: str, read: Callable[[str], Element]) -> list[Element]:
    """Read an array whose elements have at least `least` bytes; `read` gets the path of the element."""
    return [read(f"{field}[{index}]") for index in range(reader.count(least, field))]


def read_bytes(reader: Reader, field: str) -> bytes:
    """Read a byte array that cannot be null."""
    start = reader.position
    data = reader.nullable_bytes(field)
    if data is None:
        raise WireError("null is not allowed", start, field)
    return data


def read_tag(reader: Reader, field: str) -> tuple[str, str]:
    """Read the key and the value of a tag."""
    return java_string(read_bytes(reader, f"{field}.key")), java_string(read_bytes(reader, f"{field}.value"))


def read_task(reader: Reader, version: int, field: str) -> Task:
    """Read the id of a task; since version 10 the name of its topology follows in UTF-16."""
    subtopology = reader.integer("i", f"{field}.subtopology")
    partition = reader.integer("i", f"{field}.partition")
    start = reader.position
    length = reader.integer("i", f"{field}.topology") if version >= 10 else 0
    if 2 * length > reader.remaining:
        reason = f"{length} characters of 2 bytes do not fit in the {reader.remaining} that remain"
        raise WireError(reason, start, f"{field}.topology")
    topology = reader.take(2 * length, f"{field}.topology") if length > 0 else b""
    return subtopology, partition, utf16_text(topology) or None


def read_task_sum(reader: Reader, field: str) -> tuple[Task, int]:
    """Read a task with its offset sum."""
    subtopology = reader.integer("i", f"{field}.subtopology")
    partition, total = read_partition_sum(reader, field)
    topology = reader.nullable_string(f"{field}.topology") or None  # Kafka takes an empty name as none
    return (subtopology, partition, topology), total


def read_subtopology_sums(reader: Reader, field: str) -> list[tuple[Task, int]]:
    """Read a subtopology with the offset sums of its partitions."""
    subtopology = reader.integer("i", f"{field}.subtopology")
    sums = read_list(reader, 12, f"{field}.partitions", lambda name: read_partition_sum(reader, name))
    return [((subtopology, partition, None), total) for partition, total in sums]


def read_partition_sum(reader: Reader, field: str) -> tuple[int, int]:
    """Read a partition with its offset sum."""
    return reader.integer("i", f"{field}.partition"), reader.integer("q", f"{field}.offset_sum")


def read_modified_utf8(reader: Reader, field: str) -> str:
    """Read text as Java's `DataInput.readUTF` does: UTF-16 units of one to three bytes."""
    start = reader.position
    data = reader.take(reader.integer("H", field), field)
    units, position = [], 0
    while position < len(data):
        first, second, third = (*data[position : position + 3], 0, 0)[:3]
        if first < 0x80:
            units.append(first)
            position += 1
        elif first & 0xE0 == 0xC0 and second & 0xC0 == 0x80:
            units.append((first & 0x1F) << 6 | second & 0x3F)
            position += 2
        elif first & 0xF0 == 0xE0 and second & 0xC0 == 0x80 and third & 0xC0 == 0x80:
            units.append((first & 0x0F) << 12 | (second & 0x3F) << 6 | third & 0x3F)
            position += 3
        else:
            raise WireError("the text is not modified UTF-8", start, field)
    return utf16_text(struct.pack(f">{len(units)}H", *units))


def utf16_text(data: bytes) -> str:
    """Decode UTF-16; a surrogate without its other half becomes U+FFFD."""
    text = data.decode("utf-16-be", "surrogatepass")
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)


def read_partitions(reader: Reader, field: str) -> list[Partition]:
    """Read partitions that name their topics."""
    return read_list(
        reader,
        6,
        f"{field}.partitions",
        lambda name: (read_modified_utf8(reader, f"{name}.topic"), reader.integer("i", f"{name}.partition")),
    )


def read_topic(reader: Reader, field: str) -> tuple[int, str]:
    """Read the number and the name of a topic."""
    return reader.integer("i", f"{field}.number"), read_modified_utf8(reader, f"{field}.topic")


def read_numbered(reader: Reader, topics: dict[int, str], field: str) -> list[Partition]:
    """Read partitions whose topics are numbers."""
    return read_list(reader, 8, f"{field}.partitions", lambda name: read_numbered_partition(reader, topics, name))


def read_numbered_partition(reader: Reader, topics: dict[int, str], field: str) -> Partition:
    """Read a partition whose topic is a number."""
    start = reader.position
    number = reader.integer("i", f"{field}.topic")
    if number not in topics:
        raise WireError(f"the topics have no number {number}", start, f"{field}.topic")
    return topics[number], reader.integer("i", f"{field}.partition")


def read_hosts(reader: Reader, field: str, read: Callable[[str], list[Partition]]) -> PartitionsByHost:
    """Read hosts with their partitions."""
    return read_list(reader, 10, field, lambda name: (read_host(reader, name), read(name)))


def read_host(reader: Reader, field: str) -> tuple[str, int]:
    """Read a host name and a port."""
    return read_modified_utf8(reader, f"{field}.host"), reader.integer("i", f"{field}.port")
