"""Evidence for stuck members: the partitions on which records were waiting while a member committed nothing.

The replay cannot tell a stuck member from one that has nothing to consume. A report can, with the end offsets of that
time and the commits of other groups; `assignor.waiting` decides.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.cluster.timestamps import latest
from assignor.dependencies import dependency
from assignor.report.commit_log import CommitLog, EndLog
from assignor.waiting import find_waiting, usual_intervals

with dependency("pyarrow"):
    from pyarrow.dataset import dataset

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from assignor.cluster.folder import Recording
    from assignor.report.commit_log import Partition
    from assignor.waiting import Waiting

Event = dict[str, Any]

AFTER_LOG_MS = 60_000
"""Longest time after the last record, in milliseconds, at which an end offset counts for a silence at the end.

Later end offsets do not show that the member was silent while the records arrived.
"""


def with_evidence(stuck: Mapping[str, Sequence[Event]], recording: Recording, part: Path) -> dict[str, list[Event]]:
    """Return the silences during which records were waiting, by group.

    Args:
        stuck: The last event of each silence of a member, by group.
        recording: The recording, whose end offsets are read if it has any.
        part: Folder with the tables `records` and `commits`.

    Returns:
        Copies of the events. `topic_partitions` has only the partitions with waiting records, and `waiting` maps them
        to a `Waiting`.
    """
    partitions = {place for events in stuck.values() for event in events for place in _partitions(event)}
    if not partitions:
        return {}
    commits, ends, last = CommitLog(part, partitions), EndLog(recording, partitions), _last_time(part)
    found: dict[str, list[Event]] = {}
    for group, events in stuck.items():
        for event in events:
            waiting = {
                place: waited
                for place, usual in zip(_partitions(event), usual_intervals(event), strict=True)
                if (waited := _waiting(group, place, usual, event, commits, ends, last)) is not None
            }
            if waiting:
                chosen = [each for each in event["topic_partitions"] if _place(each) in waiting]
                found.setdefault(group, []).append({**event, "topic_partitions": chosen, "waiting": waiting})
    return found


def _waiting(
    group: str, place: Partition, usual_ms: int, event: Event, commits: CommitLog, ends: EndLog, last: int
) -> Waiting | None:
    since, is_lasting = event["since"], event["until"] is None
    until = max(last, since) if is_lasting else event["until"]
    known = ends.of(place, since, until + AFTER_LOG_MS if is_lasting else until)
    return find_waiting(
        commits.of_group(group, place, since, until + 1 if is_lasting else until),
        [*known, *commits.of_others(group, place, since, until)],
        since=since,
        until=max([until, *(end.at for end in known)]),
        usual_ms=usual_ms,
        is_lasting=is_lasting,
    )


def _partitions(event: Event) -> Iterator[Partition]:
    return map(_place, event["topic_partitions"])


def _place(partition: Mapping[str, Any]) -> Partition:
    return partition["topic"], partition["partition"]


def _last_time(part: Path) -> int:
    """Return the largest valid timestamp of the records; 0 without one."""
    times = dataset(part / "records", format="parquet").to_table(["timestamp"])["timestamp"]
    return latest(times) or 0
