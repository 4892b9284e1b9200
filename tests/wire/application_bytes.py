"""Encoder of the messages of Kafka Streams (version 11) and Kafka Connect (versions 0 to 2), for groups of tests.

Names are ASCII. `test_applications` decodes what it encodes.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LATEST_OFFSET = -2
NO_REBALANCE = 2**63 - 1


def streams_subscription(process: str, sums: Mapping[str, int] | None = None) -> bytes:
    """Return user data with the offset sums of tasks such as "0_3"; a letter stands for a process."""
    data = struct.pack(">ii16s", 11, 11, process_id(process).bytes) + size(b"")
    sums = sums or {}
    data += struct.pack(">i", len(sums))
    for name, total in sums.items():
        data += struct.pack(">iiqh", *numbers(name), total, -1)
    return data + struct.pack(">bii", 0, 0, 0)


def streams_assignment(
    active: Iterable[str], standby: Iterable[str] = (), *, error: int = 0, next_rebalance: int = NO_REBALANCE
) -> bytes:
    """Return user data with active tasks, one for each partition, and standby tasks without partitions."""
    active, standby = list(active), list(standby)
    data = struct.pack(">iii", 11, 11, len(active))
    data += b"".join(struct.pack(">iii", *numbers(name), 0) for name in active)
    data += struct.pack(">i", len(standby))
    data += b"".join(struct.pack(">iiii", *numbers(name), 0, 0) for name in standby)
    return data + struct.pack(">iiiiq", 0, 0, 0, error, next_rebalance)


def process_id(letter: str) -> UUID:
    """Return the id of a process: 16 times the byte of a letter."""
    return UUID(bytes=letter.encode() * 16)


def numbers(task: str) -> tuple[int, int]:
    """Return the subtopology and the partition of a task."""
    subtopology, _, partition = task.partition("_")
    return int(subtopology), int(partition)


def connect_subscription(url: str, owned: bytes | None = None, *, version: int = 2) -> bytes:
    """Return the state of a worker that has the assignment `owned`."""
    data = struct.pack(">h", version) + text(url) + struct.pack(">q", 1)
    return data + (size(owned) if version else b"")


def connect_assignment(
    assigned: Iterable[str], revoked: Iterable[str] = (), *, delay: int = 0, error: int = 0, version: int = 2
) -> bytes:
    """Return an assignment of connectors such as "orders" and tasks such as "orders-0"."""
    data = struct.pack(">hh", version, error) + text("leader") + text("http://leader/") + struct.pack(">q", 1)
    data += connectors(assigned)
    return data + (connectors(revoked) + struct.pack(">i", delay) if version else b"")


def connectors(names: Iterable[str]) -> bytes:
    """Encode connectors and tasks; a name that ends with a hyphen and digits is that of a task."""
    found: dict[str, list[int]] = {}
    for name in names:
        connector, _, number = name.rpartition("-")
        if connector and number.isdigit():
            found.setdefault(connector, []).append(int(number))
        else:
            found.setdefault(name, []).append(-1)
    data = struct.pack(">i", len(found))
    for connector, tasks in found.items():
        data += text(connector) + struct.pack(f">i{len(tasks)}i", len(tasks), *tasks)
    return data


def text(name: str) -> bytes:
    """Encode a string with its int16 length."""
    return struct.pack(">h", len(name)) + name.encode()


def size(data: bytes | None) -> bytes:
    """Encode a byte array with its int32 length; None becomes null."""
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
