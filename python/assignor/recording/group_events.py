"""Events from which the findings about a group come, read with pyarrow from the tables of a report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.dataset import dataset

if TYPE_CHECKING:
    from pathlib import Path

Event = dict[str, Any]
Partition = tuple[str, int]

_COMMIT_TYPES = [0, 1]


def read_events(part: Path) -> dict[str, tuple[Event, ...]]:
    """Return storms, stuck members and unusual offsets in the table `events` by group, in the order of replay.

    An event `never_committed` keeps only the partitions that have an owner and no committed offset at the end of the
    log. It is left out if there are none.

    Args:
        part: Folder with the tables that `report_folder.TABLES` names.
    """
    found: dict[str, list[Event]] = {}
    for event in pq.read_table(part / "events", filters=pc.field("event") != "rebalance").to_pylist():
        found.setdefault(event["group"], []).append(event)
    waiting = pa.array([group for group, events in found.items() if any(map(_is_never_committed, events))], pa.string())
    owned, committed = _owned(part, waiting), _committed(part, waiting)
    for group in waiting.to_pylist():
        lasting = owned.get(group, set()) - committed.get(group, set())
        found[group] = [event for event in found[group] if not _is_never_committed(event) or _keep(event, lasting)]
    return {group: tuple(events) for group, events in found.items()}


def _is_never_committed(event: Event) -> bool:
    return bool(event["problem"] == "never_committed")


def _keep(event: Event, partitions: set[Partition]) -> bool:
    """Remove from an event all partitions that are not in `partitions`; return True if any partition remains."""
    chosen = [each for each in event["topic_partitions"] if (each["topic"], each["partition"]) in partitions]
    event["topic_partitions"] = chosen
    return bool(chosen)


def _owned(part: Path, groups: pa.Array) -> dict[str, set[Partition]]:
    """Return the partitions that members of each group own at the end of the log."""
    found: dict[str, set[Partition]] = {}
    for row in pq.read_table(part / "assignments", filters=pc.field("group_id").isin(groups)).to_pylist():
        ids = range(row["start"], row["start"] + row["count"])
        found.setdefault(row["group_id"], set()).update((row["topic"], id) for id in ids)
    return found


def _committed(part: Path, groups: pa.Array) -> dict[str, set[Partition]]:
    """Return the partitions of each group with a committed offset at the end of the log."""
    chosen = pc.field("group_id").isin(groups) & pc.field("type").isin(_COMMIT_TYPES)
    chosen &= (pc.field("status") == "decoded") & ~pc.field("aborted")
    names = ["group_id", "key_json", "tombstone"]
    last: dict[tuple[str, Partition], tuple[int, bool]] = {}
    for batch in dataset(part / "records", format="parquet").to_batches([*names, "offset"], filter=chosen):
        for row in pa.Table.from_batches([batch]).group_by(names).aggregate([("offset", "max")]).to_pylist():
            key = json.loads(row["key_json"])
            commit = (row["group_id"], (key["topic"], key["partition"]))
            last[commit] = max(last.get(commit, (-1, False)), (row["offset_max"], row["tombstone"]))
    found: dict[str, set[Partition]] = {}
    for (group, partition), (_, is_deleted) in last.items():
        if not is_deleted:
            found.setdefault(group, set()).add(partition)
    return found
