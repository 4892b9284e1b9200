"""The recorded cluster with end offsets, which the recording itself does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from assignor.cluster import Recording
from assignor.lag import TIMED_END_OFFSETS
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from pathlib import Path

MEASUREMENTS = 12


def lagging(folder: Path) -> Recording:
    """Write a recording with `MEASUREMENTS` end offsets of each partition.

    From one measurement to the next, the end offset of partition n grows by 1,000 + n.

    Args:
        folder: New folder; a page shows its name as that of the cluster.
    """
    folder.mkdir()
    for file in RECORDING.iterdir():
        (folder / file.name).symlink_to(file)
    times = pc.min_max(pq.read_table(RECORDING / "records.parquet", columns=["timestamp"])["timestamp"]).as_py()
    step = (times["max"] - times["min"]) // MEASUREMENTS
    topics = pq.read_table(RECORDING / "topics.parquet", columns=["topic", "partition"])
    places = topics.group_by(["topic", "partition"]).aggregate([]).to_pylist()
    rows = [
        {
            **place,
            "at": times["min"] + step * measurement,
            "start_offset": 0,
            "end_offset": (1_000 + place["partition"]) * measurement,
        }
        for measurement in range(1, MEASUREMENTS + 1)
        for place in places
    ]
    pq.write_table(pa.Table.from_pylist(rows, TIMED_END_OFFSETS), folder / "end_offsets.parquet")
    return Recording.open(folder)
