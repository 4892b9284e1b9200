"""Topic metadata of a cluster over time, from a recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from assignor.model import PartitionInfo

__all__ = ["Metadata", "MetadataSnapshot"]


class MetadataSnapshot(NamedTuple):
    """Topics of a cluster at one time (milliseconds since 1970), and their ids by name."""

    time: int
    topics: dict[str, list[PartitionInfo]]
    topic_ids: dict[str, str]


@dataclass
class Metadata:
    """Topic metadata of a recording: snapshots in ascending order of time, and topic names by topic id."""

    snapshots: list[MetadataSnapshot] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, rows: Iterable[Mapping[str, Any]]) -> Metadata:
        """Parse rows, one per partition and time, with t, topic, topic_id, partition and racks, in any order."""
        snapshots: dict[int, dict[str, list[PartitionInfo]]] = {}
        names = {}
        topic_ids: dict[int, dict[str, str]] = {}
        for row in rows:
            topics = snapshots.setdefault(row["t"], {})
            racks = tuple(rack for rack in row["racks"] or () if rack is not None)
            topics.setdefault(row["topic"], []).append(PartitionInfo(row["partition"], racks))
            names[row["topic_id"]] = row["topic"]
            topic_ids.setdefault(row["t"], {})[row["topic"]] = row["topic_id"]
        for topics in snapshots.values():
            for partitions in topics.values():
                partitions.sort(key=lambda each: each.partition)
        return cls([MetadataSnapshot(time, snapshots[time], topic_ids[time]) for time in sorted(snapshots)], names)

    def around(self, time: int) -> list[MetadataSnapshot]:
        """Return the last snapshot at or before a time and the first one after it."""
        before = [snapshot for snapshot in self.snapshots if snapshot.time <= time]
        after = [snapshot for snapshot in self.snapshots if snapshot.time > time]
        return before[-1:] + after[:1]

    def name(self, topic: str) -> str:
        """Return the name of a topic, given its name or id; return an unknown id unchanged."""
        return self.names.get(topic, topic)
