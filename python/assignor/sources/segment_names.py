"""Names of the files and folders of a log: segments, partition folders, and files that are no part of the log.

Kafka stores a partition in the folder `TOPIC-ID`. A segment is a file whose name is its first offset in 20 digits.
After a crash during compaction, a complete `.log.swap` file can lie next to the segments that it replaces. Folders and
files with other endings are left over or not complete.
"""

from __future__ import annotations

import re
from typing import NamedTuple

OFFSETS_TOPIC = "__consumer_offsets"
"""The topic with the records of the consumer groups."""

SHARE_TOPIC = "__share_group_state"
"""The topic with the state of partitions of share groups."""

METADATA_TOPIC = "__cluster_metadata"
"""The log of the controllers of a cluster without ZooKeeper; it is no topic for clients."""

_SEGMENT = re.compile(r"(\d{20})\.log(\.swap)?")
_OF_SEGMENT = re.compile(r"\d{20}(-\d+)?\.(log|index|timeindex|txnindex|snapshot|checkpoint)(\.[a-z]+)*")
_PARTITION = re.compile(r"([a-zA-Z0-9._-]{1,249})-(\d{1,10})")
_LEFT_OVER = re.compile(r".+\.[^.]+-(delete|future|stray)")
_IN_NAME = re.compile(rf"{OFFSETS_TOPIC}-(\d{{1,10}})\b")
_MOST_PARTITIONS = 2**31 - 1

PARTITION_FILES = frozenset({"partition.metadata", "leader-epoch-checkpoint"})
"""Files that only a partition folder has, besides its segments."""


class Partition(NamedTuple):
    """Partition of a topic."""

    topic: str
    id: int


METADATA_LOG = Partition(METADATA_TOPIC, 0)
"""The only partition of the log of the controllers."""


def partition_of(folder: str) -> Partition | None:
    """Return the partition that the name of a folder stands for; None for another name.

    Example:
        >>> partition_of("__consumer_offsets-49")
        Partition(topic='__consumer_offsets', id=49)
        >>> partition_of("orders-3.0f1b2c-delete") is None
        True
    """
    found = _PARTITION.fullmatch(folder)
    return Partition(found[1], int(found[2])) if found and int(found[2]) < _MOST_PARTITIONS else None


def is_left_over(folder: str) -> bool:
    """Return True for a folder that a broker is deleting or moving, or that it found without an owner.

    Example:
        >>> is_left_over("orders-3.c0ffee-delete")
        True
    """
    return _LEFT_OVER.fullmatch(folder) is not None


def base_offset(file: str) -> int | None:
    """Return the first offset of a segment by its name; None for a file that is no segment.

    Example:
        >>> base_offset("00000000000000000042.log"), base_offset("00000000000000000042.log.deleted")
        (42, None)
    """
    found = _SEGMENT.fullmatch(file)
    return int(found[1]) if found else None


def is_swap(file: str) -> bool:
    """Return True for a segment that replaces others, which may still be there."""
    return file.endswith(".swap")


def belongs_to_segment(file: str) -> bool:
    """Return True for a segment, its indexes, and the files that become or were one of them."""
    return _OF_SEGMENT.fullmatch(file) is not None


def offsets_partition_in(file: str) -> int | None:
    """Return the partition of `__consumer_offsets` in the name of a copied segment; None without one.

    Example:
        >>> offsets_partition_in("__consumer_offsets-7.log")
        7
    """
    found = _IN_NAME.search(file)
    return int(found[1]) if found else None
