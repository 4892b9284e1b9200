"""Input of a page from the tables of a report."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from assignor.cluster.timestamps import is_valid
from assignor.dependencies import dependency
from assignor.page.data import PageData, member_rows
from assignor.replay.silences import silence_events
from assignor.report.report import NO_TOPICS

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow.dataset import dataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from assignor.cluster.folder import Recording
    from assignor.page.data import MemberRow, Row
    from assignor.report.report import Report


_EVENT_FIELDS = [
    *("event", "cluster", "group", "kind", "at", "generation", "causes", "evidence", "joined", "left"),
    *("moved", "unowned", "since", "until", "rebalances", "topic_partitions"),
]
"""Fields of events that `Timeline` reads."""


_CHANGES_SHOWN = 10
"""Number of changes of coordinators and brokers that a page lists: the last ones."""


def page_data(recording: Recording, report: Report, part: Path) -> PageData:
    """Return the input of a page.

    Args:
        recording: The recording.
        report: The report on it.
        part: Folder with the tables of the report.
    """
    found: dict[str, Any] = report.to_json()
    times = _times(part)
    is_converted = recording.source != str(recording.records)
    return PageData(
        title=recording.source if is_converted else recording.folder.resolve().name,
        events=itertools.chain(_events(part, [each.group for each in report.groups]), silence_events(report.silences)),
        records=report.records,
        since=times[0],
        until=times[1],
        groups=found["groups"],
        findings=found["findings"],
        notes=_notes(report),
        members=lambda groups: _members(part, groups),
        topics=last_topics(recording.topics()),
        lag=_lag(part),
        lag_over_time=_lag_over_time(part),
    )


def _notes(report: Report) -> tuple[str, ...]:
    """Return what is not known, and the last changes of coordinators and brokers."""
    unknown = (None if report.has_topics else NO_TOPICS, report.share_lag_unknown)
    notes = (*filter(None, unknown), *report.notes)
    changes = [] if report.brokers is None else report.brokers.lines()[-_CHANGES_SHOWN:]
    return tuple(f"{note[0].upper()}{note[1:]}." for note in (*notes, *changes))


def _events(part: Path, groups: Sequence[str]) -> Iterator[Row]:
    """Yield rebalances and storms of groups, each group in the order of its log."""
    source = dataset(part / "events", format="parquet")
    is_shown = pc.field("event").isin(["rebalance", "storm"]) & pc.field("group").isin(pa.array(groups, pa.string()))
    for batch in source.to_batches(columns=_EVENT_FIELDS, filter=is_shown):
        yield from batch.to_pylist()


def _times(part: Path) -> tuple[int | None, int | None]:
    """Return the smallest and the largest valid timestamp of the records above 0."""
    times = dataset(part / "records", format="parquet").to_table(["timestamp"])["timestamp"]
    times = times.filter(pc.and_(is_valid(times), pc.greater(times, 0)))
    found = pc.min_max(times).as_py()
    return found["min"], found["max"]


def _members(part: Path, groups: Sequence[str]) -> Iterable[MemberRow]:
    is_chosen = pc.field("group_id").isin(pa.array(groups, pa.string()))
    names = ("members", "assignments")
    return member_rows(
        *(dataset(part / name, format="parquet").to_table(filter=is_chosen).to_pylist() for name in names)
    )


def _lag(part: Path) -> Callable[[Sequence[str]], list[Row]] | None:
    if not (part / "lag").exists():  # the recording has no end offsets
        return None
    return lambda groups: lag_rows(dataset(part / "lag", format="parquet").to_table(), groups)


def _lag_over_time(part: Path) -> Callable[[Sequence[str]], list[Row]] | None:
    if not (part / "lag_over_time").exists():
        return None
    return lambda groups: lag_rows(dataset(part / "lag_over_time", format="parquet").to_table(), groups)


def lag_rows(table: pa.Table, groups: Sequence[str]) -> list[Row]:
    """Return the rows of groups in a table with the column `group_id`, with the names of a page."""
    found = table.filter(pc.field("group_id").isin(pa.array(groups, pa.string())))
    return [{"group": row.pop("group_id"), **row} for row in found.to_pylist()]


def last_topics(table: pa.Table) -> dict[str, Any]:
    """Return the partitions of the last snapshot of topics, with racks, as `assignor.plan` accepts them."""
    from assignor import PartitionInfo

    if not len(table):
        return {}
    table = table.filter(pc.equal(table["t"], pc.max(table["t"])))
    found: dict[str, list[Any]] = {}
    for row in table.select(["topic", "partition", "racks"]).to_pylist():
        found.setdefault(row["topic"], []).append(PartitionInfo(row["partition"], tuple(row["racks"] or ())))
    return found
