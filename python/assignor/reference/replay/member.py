"""A member of a group as it stands, and what it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Member", "Partitions", "merged"]

Partitions = dict[str, list[int]]
"""Partition ids by topic, topics and ids ascending and without repetition; no topic is empty."""


@dataclass(frozen=True)
class Member:
    """A member of the group.

    `topics` is what it subscribes to by name; None when that cannot be read, or is said by a pattern. `partitions` is
    None when its bytes cannot be read or are not ConsumerProtocol.
    """

    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    topics: list[str] | None
    partitions: Partitions | None


def merged(entries: Iterable[tuple[str, list[int]]]) -> Partitions:
    """Partitions from entries in any order: a topic may come more than once, and a partition too."""
    found: dict[str, set[int]] = {}
    for topic, ids in entries:
        if ids:
            found.setdefault(topic, set()).update(ids)
    return {topic: sorted(found[topic]) for topic in sorted(found)}
