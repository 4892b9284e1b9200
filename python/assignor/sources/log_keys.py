"""Groups and topics that the keys of `__consumer_offsets` name, and what follows for the partitions of the log.

A group is in the partition that the hash of its id gives. So the ids confirm a number of partitions, and give the
partition of a segment that was copied without its folder.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.offsets import coordinator_partition, decode_batch

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_PARTITIONS = 50
"""Number of partitions of `__consumer_offsets` if `offsets.topic.num.partitions` is not set."""

_OFFSET_TYPES = (0, 1)


class LogKeys:
    """Groups of each partition of the log, and partitions of topics with committed offsets.

    Each distinct key is decoded once.

    Attributes:
        groups: Group ids by partition of the log.
        committed: Ids of the partitions with a committed offset, by topic.
        has_others: True if a record is not one of a group.
    """

    def __init__(self) -> None:
        self.groups: dict[int, set[str]] = {}
        self.committed: dict[str, set[int]] = {}
        self.has_others = False
        self._seen: set[bytes] = set()

    def add(self, partition: int, keys: pa.Array) -> None:
        """Add the keys of records of a partition."""
        new = [key for key in pc.unique(keys).to_pylist() if key is not None and key not in self._seen]
        if not new:
            return
        self._seen.update(new)
        decoded: Any = pa.record_batch(decode_batch(pa.array(new, pa.binary()), pa.nulls(len(new), pa.binary())))
        ids = decoded["group_id"]
        self.has_others |= ids.null_count > 0
        self.groups.setdefault(partition, set()).update(ids.drop_null().to_pylist())
        is_offset = pc.is_in(decoded["type"], pa.array(_OFFSET_TYPES, decoded["type"].type))
        for text in decoded["key_json"].filter(is_offset).drop_null().to_pylist():
            key = json.loads(text)
            self.committed.setdefault(key["topic"], set()).add(key["partition"])

    def confirms(self, partitions: int) -> bool:
        """Return True if there are groups, and all are where they belong with this number of partitions."""
        return any(self.groups.values()) and all(
            coordinator_partition(group, partitions) == id for id, found in self.groups.items() for group in found
        )


def count_partitions(ids: Iterable[int], keys: LogKeys) -> int | None:
    """Return the number of partitions of `__consumer_offsets`; None if neither folders nor groups give it.

    The number is Kafka's default, or one more than the highest id, if all groups are in the partitions in which they
    belong with it. Without groups, the default counts if its last partition is there and no later one.
    """
    highest = max(ids, default=-1)
    for candidate in dict.fromkeys((DEFAULT_PARTITIONS, highest + 1)):
        if candidate > highest and keys.confirms(candidate):
            return candidate
    return DEFAULT_PARTITIONS if highest == DEFAULT_PARTITIONS - 1 and not any(keys.groups.values()) else None


def partitions_of_groups(groups: Iterable[str]) -> set[int]:
    """Return the partitions in which groups are, with the default number of partitions.

    Example:
        >>> partitions_of_groups(["billing"])
        {9}
    """
    return {coordinator_partition(group, DEFAULT_PARTITIONS) for group in groups}
