"""Members of a group and their partitions, from its records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["OwnedPartitions", "RecordedMember", "merged"]

OwnedPartitions = dict[str, list[int]]
"""Partition ids by topic; topics and ids are ascending and distinct, and no list is empty."""


@dataclass(frozen=True)
class RecordedMember:
    """Member of a group, from its records.

    `rack` is None if it is missing or empty. `topics` is None if the subscription cannot be decoded or has a pattern
    only. If a member names topics and the broker has resolved its pattern, `topics` has the topics of both, and
    `pattern` is None. `partitions` is None if the assignment cannot be decoded or is not ConsumerProtocol.
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
    """Merge entries in any order, with possible duplicates, into OwnedPartitions."""
    found: dict[str, set[int]] = {}
    for topic, ids in entries:
        if ids:
            found.setdefault(topic, set()).update(ids)
    return {topic: sorted(found[topic]) for topic in sorted(found)}
