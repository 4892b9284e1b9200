"""Events from which the findings about a group come, read with pyarrow from the tables of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency
from assignor.report.event_findings import STUCK_MS, episodes
from assignor.report.stuck_evidence import with_evidence

with dependency("pyarrow"):
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from pyarrow.dataset import dataset

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from assignor.cluster.folder import Recording
    from assignor.lines import Span

Event = dict[str, Any]

_COUNTED = ["rebalance", "cost", "member"]
"""Kinds of events that only `group_loops` and `group_costs` read."""


def read_events(
    recording: Recording, part: Path, never_committed: dict[str, list[Span]], empty: Collection[tuple[str, int]]
) -> dict[str, tuple[Event, ...]]:
    """Return storms, stuck members and unusual offsets in the table `events` by group, in the order of replay.

    An event `never_committed` keeps only the partitions that have an owner and no committed offset at the end of the
    log, and that are not known to be empty. It is left out if there are none. Without end offsets, it is also left out
    if the group has never committed any offset: it stores its offsets elsewhere, or has nothing to read. The silences
    of a stuck member are left out unless records were waiting; the others come last, and have the field `waiting`.

    Args:
        recording: The recording, whose end offsets are read if it has any.
        part: Folder with the tables that `report_folder.TABLES` names, and the table `commits`.
        never_committed: Partitions of each group with an owner and no committed offset at the end of the log.
        empty: Partitions that have no records at the end.
    """
    found: dict[str, list[Event]] = {}
    committing = None if recording.end_offsets.exists() else _committing(part)
    stuck: dict[str, list[Event]] = {}
    for event in pq.read_table(part / "events", filters=~pc.field("event").isin(_COUNTED)).to_pylist():
        if event["event"] == "stuck":
            stuck.setdefault(event["group"], []).append(event)
            continue
        if event["problem"] == "never_committed":
            if committing is not None and event["group"] not in committing:
                continue
            spans = never_committed.get(event["group"], ())
            lasting = {(topic, id) for topic, start, count in spans for id in range(start, start + count)}
            lasting.difference_update(empty)
            chosen = [each for each in event["topic_partitions"] if (each["topic"], each["partition"]) in lasting]
            event["topic_partitions"] = chosen
            if not chosen:
                continue
        found.setdefault(event["group"], []).append(event)
    silences = {group: list(filter(_is_long, episodes(events, _member))) for group, events in stuck.items()}
    for group, events in with_evidence(silences, recording, part).items():
        found.setdefault(group, []).extend(events)
    return {group: tuple(events) for group, events in found.items()}


def _committing(part: Path) -> set[str]:
    """Return the groups that have committed an offset."""
    commits = dataset(part / "commits", format="parquet").to_table(
        columns=["group_id"], filter=pc.field("committed").is_valid()
    )
    return set(pc.unique(commits["group_id"]).to_pylist())


def _member(event: Event) -> str:
    return str(event["member"])


def _is_long(event: Event) -> bool:
    """Return True if a silence lasts, or is long enough for a finding."""
    return event["until"] is None or event["until"] - event["since"] >= STUCK_MS
