"""Data directories of brokers, written by tests: one group per partition of the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignor.offsets import coordinator_partition
from tests.sources.segment_bytes import Entry, batch, meta_properties, write_segment
from tests.support.record_bytes import write_record

if TYPE_CHECKING:
    from pathlib import Path

PARTITIONS = 50
CLUSTER = "Zz9kFh3TQGyXw1bJ0aXxYg"


def group_in(partition: int, partitions: int = PARTITIONS) -> str:
    """Return the name of a group whose records are in a partition of the log."""
    return next(
        name for number in range(100_000) if coordinator_partition(name := f"g{number}", partitions) == partition
    )


def commit(group: str, offset: int, *, topic: str = "orders", partition: int = 0, timestamp: int = 1_000) -> Entry:
    """Return the record of a committed offset."""
    value = {"offset": offset, "leaderEpoch": -1, "metadata": "", "commitTimestamp": timestamp}
    key, content = write_record(1, {"group": group, "topic": topic, "partition": partition}, value, version=3)
    return Entry(key, content, timestamp)


def commits(partition: int, start: int, count: int, *, epoch: int = 0) -> bytes:
    """Return batches with one commit each of the group of a partition; the committed offset is that of the record."""
    group = group_in(partition)
    return b"".join(
        batch(offset, commit(group, offset, timestamp=1_000 * offset + 1_000), epoch=epoch)
        for offset in range(start, start + count)
    )


def log_folder(directory: Path, partition: int) -> Path:
    """Return the folder of a partition of the log."""
    return directory / f"__consumer_offsets-{partition}"


def write_directory(
    directory: Path, *partitions: int, count: int = 3, cluster: str | None = CLUSTER, broker: int = 1
) -> Path:
    """Write a data directory with some commits in each of some partitions of the log."""
    directory.mkdir(parents=True, exist_ok=True)
    for partition in partitions:
        write_segment(log_folder(directory, partition), 0, commits(partition, 0, count))
    if cluster is not None:
        (directory / "meta.properties").write_text(meta_properties(cluster, broker))
    return directory
