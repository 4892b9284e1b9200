"""Content of a recording folder, and its files.

The records of a group are in the partition of the log to which Kafka's coordinator writes them, in the order of time. A
group with times that go backwards keeps the order of its records.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from assignor.lag import TIMED_END_OFFSETS
from assignor.offsets import coordinator_partition
from tests.replay.logs import TOPICS, Event, Row, log
from tests.support.record_bytes import text
from tests.support.synthetic_log import RECORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LOG_PARTITIONS = 3
"""Number of partitions of the log."""


@dataclass(frozen=True)
class Recorded:
    """Content of a recording folder.

    Attributes:
        groups: Log of each group. Its records name the group g, which is replaced.
        topics: Rows of topic metadata.
        aborted: Places of aborted records in the log of each group; None for a folder without `aborted.json`.
        ends: Rows of end offsets.
        repeated: Number of first records that a second file has again.
    """

    groups: Mapping[str, Sequence[Event]] = field(default_factory=dict)
    topics: Sequence[Row] = ()
    aborted: Mapping[str, Sequence[int]] | None = None
    ends: Sequence[Row] = ()
    repeated: int = 0

    def write(self, folder: Path) -> None:
        """Write the files of the recording to an existing folder."""
        rows, aborted = self.rows()
        _write(folder / "topics.parquet", self.topics, TOPICS)
        (folder / "records.parquet").mkdir()
        _write(folder / "records.parquet" / "part-1.parquet", rows, RECORDS)
        if self.repeated:
            _write(folder / "records.parquet" / "part-2.parquet", rows[: self.repeated], RECORDS)
        if self.aborted is not None:
            (folder / "aborted.json").write_text(json.dumps(aborted))
        if self.ends:
            _write(folder / "end_offsets.parquet", self.ends, TIMED_END_OFFSETS)

    def rows(self) -> tuple[list[Row], list[tuple[int, int]]]:
        """Return the records in the order in which they are written, and partition and offset of the aborted ones."""
        ordered: list[tuple[int, str, int, Row]] = []
        for group, events in self.groups.items():
            latest = -1
            for place, record in enumerate(log(events)):
                latest = max(latest, record.timestamp)
                row = {"timestamp": record.timestamp, "key": _renamed(record.key, group), "value": record.value}
                ordered.append((latest, group, place, row))
        ends = [0] * LOG_PARTITIONS
        rows, aborted = [], []
        for _, group, place, row in sorted(ordered, key=lambda each: each[0]):
            partition = coordinator_partition(group, LOG_PARTITIONS)
            rows.append({"partition": partition, "offset": ends[partition], **row})
            if self.aborted is not None and place in self.aborted.get(group, ()):
                aborted.append((partition, ends[partition]))
            ends[partition] += 1
        return rows, aborted


def _renamed(key: bytes | None, group: str) -> bytes | None:
    """Return the key of a record of group g with another group; other keys are unchanged."""
    return key[:2] + text(group) + key[5:] if key is not None and key[2:5] == text("g") else key


def _write(path: Path, rows: Sequence[Row], schema: pa.Schema) -> None:
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), path)
