"""Offsets of an earlier description of a cluster, as the measurements of `assignor.lag_time.lag_in_time`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.cluster.written_times import rising
from assignor.dependencies import dependency
from assignor.lag import TIMED_END_OFFSETS
from assignor.lag_time import TIMED_COMMITTED

with dependency("pyarrow"):
    import pyarrow as pa

if TYPE_CHECKING:
    from assignor.cluster.cluster_description import ClusterDescription
    from assignor.cluster.topics import Place


def earlier_offsets(description: ClusterDescription | None) -> tuple[pa.Table, pa.Table]:
    """Return end offsets and committed offsets of a description with their times; empty tables without one.

    A committed offset is known at the time of the description only. The group can have committed others until the next.
    """
    ends: dict[tuple[int, str, int], dict[str, Any]] = {}
    committed = []
    if description is not None:
        for group, rows in description.partitions.items():
            at = description.read_at[group]
            for row in rows:
                place = {"topic": row["topic"], "partition": row["partition"]}
                offsets = {"start_offset": row["start_offset"], "end_offset": row["end_offset"]}
                ends[at, row["topic"], row["partition"]] = {"at": at, **place, **offsets}
                committed.append({"at": at, "group_id": group, **place, "committed": row["committed"]})
                committed.append({"at": at + 1, "group_id": group, **place, "committed": None})
    return (
        pa.Table.from_pylist(list(ends.values()), TIMED_END_OFFSETS),
        pa.Table.from_pylist(committed, TIMED_COMMITTED),
    )


def consistent(written: pa.Table, ends: pa.Table) -> pa.Table:
    """Return the times of records that agree with end offsets: a record before a measurement has a lower offset.

    The timestamps of records can be of another clock. Without this, an end offset would seem to go back.

    Args:
        written: Times of records, with the columns of `assignor.lag.TIMED_END_OFFSETS`.
        ends: Measured end offsets, with the same columns.
    """
    measured: dict[Place, dict[int, int]] = {}
    for row in ends.to_pylist():
        if row["end_offset"] is not None:
            measured.setdefault((row["topic"], row["partition"]), {})[row["at"]] = row["end_offset"]
    if not measured:
        return written
    pairs: dict[Place, list[tuple[int, int]]] = {}
    for row in written.to_pylist():
        pairs.setdefault((row["topic"], row["partition"]), []).append((row["end_offset"], row["at"]))
    rows = [
        {"at": at, "topic": place[0], "partition": place[1], "start_offset": None, "end_offset": offset}
        for place, found in pairs.items()
        for offset, at in rising(found, measured.get(place))
        if all(offset >= end for read, end in measured.get(place, {}).items() if at >= read)
    ]
    return pa.Table.from_pylist(rows, TIMED_END_OFFSETS)
