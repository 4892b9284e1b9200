"""Logs of the groups in data/fleet_webshop, and the cluster's own descriptions of the groups."""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from assignor.model import PartitionInfo
from assignor.offsets import decode_batch
from tests.support.record_bytes import LogRecord

if TYPE_CHECKING:
    from collections.abc import Mapping

Logs = dict[str, list[LogRecord]]
Row = dict[str, Any]

ROOT = Path(__file__).parents[2]
RECORDING = ROOT / "data" / "fleet_webshop"
TRUTH = ROOT / "tests" / "data" / "fleet_webshop"


@functools.cache
def _records() -> list[tuple[int, str, LogRecord]]:
    """Return partition, group and record of each record for a read_committed reader, in the order of the log."""
    table = pq.read_table(RECORDING / "records.parquet")
    keys, values = (table[name].combine_chunks() for name in ("key", "value"))
    groups = pa.record_batch(decode_batch(keys, values))["group_id"].to_pylist()
    aborted = {tuple(entry) for entry in json.loads((RECORDING / "aborted.json").read_text(encoding="utf-8"))}
    found = []
    for group, row in zip(groups, table.to_pylist(), strict=True):
        partition = row.pop("partition")
        if (partition, row["offset"]) not in aborted:
            found.append((partition, group, LogRecord(**row)))
    return found


def logs(ends: Mapping[str, int] | None = None) -> Logs:
    """Return the log of each group; with `ends`, up to these offsets of the partitions."""
    found: Logs = {}
    for partition, group, record in _records():
        if ends is None or record.offset < ends[str(partition)]:
            found.setdefault(group, []).append(record)
    return found


@functools.cache
def topics() -> list[Row]:
    """Return the topic metadata of all times."""
    columns = ["t", "topic", "topic_id", "partition", "racks"]
    rows: list[Row] = pq.read_table(RECORDING / "topics.parquet", columns=columns).to_pylist()
    return rows


@functools.cache
def topics_over_time() -> dict[int, dict[str, list[PartitionInfo]]]:
    """Return the partitions of each topic by time, in ascending order of time."""
    found: dict[int, dict[str, list[PartitionInfo]]] = {}
    for row in sorted(topics(), key=lambda row: (row["t"], row["partition"])):
        partition = PartitionInfo(row["partition"], tuple(row["racks"] or ()))
        found.setdefault(row["t"], {}).setdefault(row["topic"], []).append(partition)
    return found


def topics_around(time: int) -> list[dict[str, list[PartitionInfo]]]:
    """Return the topics of the last time at or before a time, and of the first time after it."""
    known = topics_over_time()
    before, after = ([each for each in known if (each <= time) == is_before] for is_before in (True, False))
    return [known[each] for each in before[-1:] + after[:1]]


@functools.cache
def snapshots() -> dict[str, list[Row]]:
    """Return the Java Admin client's descriptions of all groups, by the label of the snapshot."""
    found: dict[str, list[Row]] = {}
    with gzip.open(TRUTH / "snapshots.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            snapshot = json.loads(line)
            found.setdefault(snapshot["label"], []).append(snapshot)
    return found
