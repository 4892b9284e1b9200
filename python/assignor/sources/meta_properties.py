"""Small text files of a data directory: `meta.properties`, `partition.metadata` and checkpoints of offsets.

They are read as liberally as they occur in backups: any version, any line ends, unknown keys. A line that is not
understood is ignored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from assignor.sources.segment_names import Partition

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES = 64 << 20
_NUMBER = re.compile(r"[0-9]{1,18}")
_PROPERTY = re.compile(r"([^#!=:\s]+)\s*[=:]\s*(.*)")


class Identity(NamedTuple):
    """Ids in `meta.properties`.

    Attributes:
        cluster_id: Id of the cluster; None before the broker has joined one.
        broker_id: `broker.id` (version 0) or `node.id` (version 1); None if it is missing or not a number.
    """

    cluster_id: str | None
    broker_id: int | None


def read_identity(path: Path) -> Identity:
    """Read `meta.properties`.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file is no text.
    """
    found = _properties(_text(path))
    number = found.get("node.id", found.get("broker.id", ""))
    return Identity(found.get("cluster.id") or None, int(number) if _NUMBER.fullmatch(number) else None)


def read_topic_id(folder: Path) -> str:
    """Return the id of the topic in `partition.metadata` of a partition folder; "" without the file."""
    try:
        return _properties(_text(folder / "partition.metadata")).get("topic_id", "")
    except (OSError, ValueError):
        return ""


def read_checkpoint(path: Path) -> dict[Partition, int]:
    """Return the offsets in a checkpoint file of a data directory; nothing if the file is missing or damaged.

    Each line has topic, partition and offset; the two lines before have the version and the number of lines.
    """
    try:
        lines = _text(path).splitlines()
    except (OSError, ValueError):
        return {}
    found = {}
    for line in lines:
        words = line.split()
        if len(words) == 3 and all(_NUMBER.fullmatch(word) for word in words[1:]):
            found[Partition(words[0], int(words[1]))] = int(words[2])
    return found


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8-sig")


def _properties(text: str) -> dict[str, str]:
    found = (_PROPERTY.fullmatch(line.strip()) for line in text.splitlines())
    return {each[1]: each[2].strip() for each in found if each}
