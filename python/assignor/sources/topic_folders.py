"""Topics of a cluster by the partition folders of its brokers: numbers of partitions, topic ids and end offsets.

The folders of some brokers do not show all partitions. A topic counts only if its folders are complete as far as that
can be seen: the ids have no gap, and no group has committed an offset of a later partition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.sources.meta_properties import read_checkpoint, read_topic_id
from assignor.sources.partition_ends import partition_end
from assignor.sources.segment_names import METADATA_TOPIC, OFFSETS_TOPIC, Partition

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from assignor.sources.data_directory import Directories, PartitionFolder
    from assignor.sources.partition_ends import PartitionEnd

CHECKPOINT_FILE = "log-start-offset-checkpoint"
"""File of a data directory with the first offsets of partitions whose first records were deleted."""


class TopicFolders:
    """Topics by the partition folders of a cluster.

    Args:
        found: The data directories.
        committed: Ids of the partitions with a committed offset, or a start offset of a share group, by topic.
        offsets_partitions: Number of partitions of `__consumer_offsets`; None if it is not known.

    Attributes:
        partitions: Number of partitions of each complete topic, by name.
        incomplete: Topics with folders of only some partitions.
        without_end: Partitions with a committed offset whose end offset is not known, after `end_offsets`.
    """

    def __init__(self, found: Directories, committed: Mapping[str, set[int]], offsets_partitions: int | None) -> None:
        self._committed = committed
        self._folders: dict[Partition, list[PartitionFolder]] = {}
        for folder in found.folders:
            if folder.partition is not None and folder.partition.topic != METADATA_TOPIC:
                self._folders.setdefault(folder.partition, []).append(folder)
        ids: dict[str, set[int]] = {}
        for topic, id in self._folders:
            ids.setdefault(topic, set()).add(id)
        self.partitions: dict[str, int] = {}
        self.incomplete: list[str] = []
        for topic, present in sorted(ids.items()):
            count = max(present | committed.get(topic, set())) + 1
            if topic == OFFSETS_TOPIC:
                count = max(count, offsets_partitions or count + 1)  # an unknown number is not complete
            if len(present) == count:
                self.partitions[topic] = count
            elif topic != OFFSETS_TOPIC:
                self.incomplete.append(topic)
        self.without_end: list[Partition] = []
        self._checkpoints: dict[Path, dict[Partition, int]] = {}

    @property
    def has_topics(self) -> bool:
        """True if there are folders of other topics than those of Kafka itself."""
        return any(not topic.startswith("__") for topic, _ in self._folders)

    def rows(self, at: int) -> list[tuple[int, str, str, int, None]]:
        """Return the rows of `topics.parquet`; the racks are not known."""
        rows = []
        for topic, count in self.partitions.items():
            ids = (read_topic_id(folder.path) for folder in self._folders[Partition(topic, 0)])
            topic_id = next(filter(None, ids), "")
            rows += [(at, topic, topic_id, id, None) for id in range(count)]
        return rows

    def end_offsets(self, at: int) -> list[tuple[int, str, int, int, int]]:
        """Return the rows of `end_offsets.parquet` of partitions with a committed offset."""
        rows = []
        for topic, ids in sorted(self._committed.items()):
            for id in sorted(ids):
                ends = map(self._end, self._folders.get(Partition(topic, id), ()))
                found = max((end for end in ends if end), key=lambda end: end.end, default=None)
                if found is None:
                    self.without_end.append(Partition(topic, id))
                else:
                    rows.append((at, topic, id, found.start, found.end))
        return rows

    def _end(self, folder: PartitionFolder) -> PartitionEnd | None:
        directory = folder.path.parent
        if directory not in self._checkpoints:
            self._checkpoints[directory] = read_checkpoint(directory / CHECKPOINT_FILE)
        return partition_end(folder.segments, self._checkpoints[directory].get(folder.partition or Partition("", 0)))


def topic_names(found: Directories) -> dict[str, str]:
    """Return the names of topics by their ids, as far as partition folders have them."""
    named = ((read_topic_id(each.path), each.partition.topic) for each in found.folders if each.partition)
    return {topic_id: topic for topic_id, topic in named if topic_id}
