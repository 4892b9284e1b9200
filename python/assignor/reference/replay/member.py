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
    partitions: Partitions | None


def merged(entries: Iterable[tuple[str, list[int]]]) -> Partitions:
    """Partitions from entries in any order: a topic may come more than once, and a partition too."""
    found: dict[str, set[int]] = {}
    for topic, ids in entries:
        if ids:
            found.setdefault(topic, set()).update(ids)
    return {topic: sorted(found[topic]) for topic in sorted(found)}
