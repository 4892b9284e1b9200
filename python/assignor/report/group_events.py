"""Events from which the findings about a group come, read with pyarrow from the tables of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from pathlib import Path

    from assignor.lines import Span

Event = dict[str, Any]

_COUNTED = ["rebalance", "member"]
"""Kinds of events that only `group_loops` reads."""


def read_events(part: Path, never_committed: dict[str, list[Span]]) -> dict[str, tuple[Event, ...]]:
    """Return storms, stuck members and unusual offsets in the table `events` by group, in the order of replay.

    An event `never_committed` keeps only the partitions that have an owner and no committed offset at the end of the
    log. It is left out if there are none.

    Args:
        part: Folder with the tables that `report_folder.TABLES` names.
        never_committed: Partitions of each group with an owner and no committed offset at the end of the log.
    """
    found: dict[str, list[Event]] = {}
    for event in pq.read_table(part / "events", filters=~pc.field("event").isin(_COUNTED)).to_pylist():
        if event["problem"] == "never_committed":
            spans = never_committed.get(event["group"], ())
            lasting = {(topic, id) for topic, start, count in spans for id in range(start, start + count)}
            chosen = [each for each in event["topic_partitions"] if (each["topic"], each["partition"]) in lasting]
            event["topic_partitions"] = chosen
            if not chosen:
                continue
        found.setdefault(event["group"], []).append(event)
    return {group: tuple(events) for group, events in found.items()}
