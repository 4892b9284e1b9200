"""Members of a group as its records describe them, and the partitions they own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["OwnedPartitions", "RecordedMember", "merged"]

OwnedPartitions = dict[str, list[int]]
"""Partition ids by topic, topics and ids ascending and without repetition; no topic is empty."""


@dataclass(frozen=True)
class RecordedMember:
    """Member of a group as its records describe it.

    `rack` is None where it names none or an empty one. `topics` is what it subscribes to by name; None when that cannot
    be read, or is said by a pattern alone. Where a broker has resolved the pattern of a member that has names too, the
    topics found are among them; `pattern` is what is not in `topics`. `partitions` is None when its bytes cannot be
    read or are not ConsumerProtocol.
    """

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rack: str | None
    topics: list[str] | None
    pattern: str | None
    partitions: OwnedPartitions | None


def merged(entries: Iterable[tuple[str, list[int]]]) -> OwnedPartitions:
    """OwnedPartitions from entries in any order: a topic may come more than once, and a partition too."""
    found: dict[str, set[int]] = {}
    for topic, ids in entries:
        if ids:
            found.setdefault(topic, set()).update(ids)
    return {topic: sorted(found[topic]) for topic in sorted(found)}
