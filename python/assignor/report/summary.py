"""Summary of the Parquet files of a report: groups, members, remarks and counts, read with pyarrow."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from assignor.cluster.copies import count_copies
from assignor.cluster.name_patterns import NamePatterns
from assignor.cluster.timestamps import is_valid_time
from assignor.dependencies import dependency
from assignor.lines import json_text
from assignor.replay.coordinator_moves import broker_history
from assignor.replay.logged_events import LogMatches
from assignor.replay.recorded import end_of
from assignor.replay.silences import read_silences
from assignor.report.group_costs import read_costs
from assignor.report.group_events import read_events
from assignor.report.group_loops import read_loops
from assignor.report.group_report import Compared, ComparedAssignments, GroupReport, MemberReport, OfClass, Remark
from assignor.report.group_tasks import read_tasks
from assignor.report.lag import empty_partitions, lag_by_group
from assignor.report.migrations import read_migrations
from assignor.report.report import MOST_GROUPS_WITH_MEMBERS, Report
from assignor.report.report_folder import REPORT_FILE
from assignor.report.share_lag import NO_SHARE_OFFSETS
from assignor.report.traffic import traffic_by_group

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq
    from pyarrow.dataset import dataset

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from assignor.cluster.folder import Recording
    from assignor.lines import Span
    from assignor.sources.broker_log import BrokerLog

_GROUP_FIELDS = (
    *("kind", "state", "protocol", "generation", "topics", "partitions", "unowned", "idle_members"),
    *("least_loaded", "most_loaded", "rebalances", "busiest_minute", "bad_records", "unreadable", "unreadable_since"),
    *("invalid_timestamps", "first_invalid"),
)
"""Columns of the table `groups` that are fields of `GroupReport` with the same name."""


def summarize(
    recording: Recording,
    part: Path,
    *,
    groups: Sequence[str] = (),
    since: int | None = None,
    log: BrokerLog | None = None,
) -> Report:
    """Read the tables of a report, and write `report.json` next to them.

    Args:
        recording: The recording, whose topic metadata and end offsets are read.
        part: Folder with the tables that `report_folder.TABLES` names.
        groups: Patterns of the groups that the report lists, see `NamePatterns`; empty for all groups. Other groups
            still count as evidence, and in the numbers of records.
        since: Time in milliseconds; findings and silences that ended before it are left out. None for no limit.
        log: Log of the brokers with which the tables were written. Rebalances that only the log has are added to the
            table `events`.

    Returns:
        The report.

    Raises:
        IllegalArgumentError: A pattern matches no group.
    """
    counts, bad = _records(part)
    by_type: dict[int, tuple[int, int]] = {}
    for (number, is_tombstone, _), count in counts.items():
        if number is not None:
            values, tombstones = by_type.get(number, (0, 0))
            deleted = count if is_tombstone else 0
            by_type[number] = (values + count - deleted, tombstones + deleted)
    reported = _groups(part, recording, bad)
    if groups:
        chosen = NamePatterns(groups)
        chosen.check_matched((each.group for each in reported), recording.source)
        reported = [each for each in reported if chosen.matches(each.group)]
    names = {each.group for each in reported}
    matches = (
        None if log is None or not log.rebalances else _matches(log, part, NamePatterns(groups) if groups else None)
    )
    if matches is not None:
        _write_unrecorded(matches, part)
    has_share_lag = recording.share_offsets.exists() or not any(each.kind == "share" for each in reported)
    found = Report(
        records=counts.total(),
        records_by_type=by_type,
        duplicates=count_copies(recording),
        has_topics=recording.topics().num_rows > 0,
        share_lag_unknown=None if has_share_lag else NO_SHARE_OFFSETS,
        silences=tuple(each for each in read_silences(part) if since is None or each.until >= since),
        since=since,
        notes=recording.notes,
        broker_log=None if matches is None else matches.comparison(),
        brokers=broker_history(recording, since),
        bad_records=sum(count for (_, _, status), count in counts.items() if status == "bad"),
        groups=tuple(reported),
        remarks=tuple(each for each in _remarks(part) if each.group in names),
        members=tuple(_members(part, names)) if len(names) <= MOST_GROUPS_WITH_MEMBERS else (),
    )
    text = json_text(found.to_json(), indent=1)
    (part / REPORT_FILE).write_text(text + "\n", encoding="utf-8")
    return found


def _records(part: Path) -> tuple[Counter[tuple[int | None, bool, str]], dict[str, tuple[int, int]]]:
    """Return the number of records by type, tombstone and status, and the times of bad records.

    The times are those of the first and the last bad record of each group that has a valid timestamp.
    """
    found = Counter[tuple[int | None, bool, str]]()
    bad: dict[str, tuple[int, int]] = {}
    names = ["type", "tombstone", "status"]
    for batch in dataset(part / "records", format="parquet").to_batches(columns=[*names, "timestamp", "group_id"]):
        for row in pa.Table.from_batches([batch]).group_by(names).aggregate([([], "count_all")]).to_pylist():
            found[row["type"], row["tombstone"], row["status"]] += row["count_all"]
        for row in batch.filter(pc.equal(batch["status"], "bad")).to_pylist():
            time = row["timestamp"]
            if row["group_id"] is not None and time is not None and is_valid_time(time):
                since, until = bad.get(row["group_id"], (time, time))
                bad[row["group_id"]] = (min(since, time), max(until, time))
    return found, bad


def _matches(log: BrokerLog, part: Path, chosen: NamePatterns | None) -> LogMatches:
    """Return the matches of the logged rebalances of some groups with the events of a report; None for all groups."""
    found = LogMatches([each for each in log.rebalances if chosen is None or chosen.matches(each.group)])
    columns = ["group", "generation", "at", "causes", "logged_at", "logged_reason", "inferred_causes"]
    for event in pq.read_table(
        part / "events", columns=columns, filters=pc.is_valid(pc.field("logged_at"))
    ).to_pylist():
        if chosen is None or chosen.matches(event["group"]):
            found.add(event)
    return found


def _write_unrecorded(matches: LogMatches, part: Path) -> None:
    """Add the rebalances that only the log of the brokers has to the table `events`."""
    schema = pq.read_schema(next((part / "events").iterdir()))
    rows = [{name: event.get(name) for name in schema.names} for event in matches.unrecorded()]
    pq.write_table(pa.Table.from_pylist(rows, schema), part / "events" / "part-logged.parquet")


def _groups(part: Path, recording: Recording, bad: dict[str, tuple[int, int]]) -> list[GroupReport]:
    members = Counter(pq.read_table(part / "members", columns=["group_id"])["group_id"].to_pylist())
    rows = pq.read_table(part / "groups").to_pylist()
    ranges, assignments = _comparisons(part)
    lag = lag_by_group(recording, part, has_details=len(rows) <= MOST_GROUPS_WITH_MEMBERS)
    gaps = _gaps(part)
    events = read_events(recording, part, gaps["never_committed"], empty_partitions(part))
    traffic = traffic_by_group(recording, part)
    costs = read_costs(part)
    loops, tasks = read_loops(part, end_of(recording)), read_tasks(part)
    migrations = read_migrations(recording, part, rows)
    return [
        GroupReport(
            group=row["group_id"],
            members=members[row["group_id"]],
            range_generations=ranges.get(row["group_id"], Compared()),
            assignments=tuple(assignments.get(row["group_id"], ())),
            events=events.get(row["group_id"], ()),
            loops=loops.get(row["group_id"], ()),
            unowned_spans=tuple(gaps["unowned"].get(row["group_id"], ())),
            lag=lag.get(row["group_id"]),
            traffic=traffic.get(row["group_id"]),
            tasks=tasks.get(row["group_id"]),
            costs=costs.get(row["group_id"]),
            migration=migrations.get(row["group_id"]),
            bad_records_between=bad.get(row["group_id"], (None, None)),
            **{name: row[name] for name in _GROUP_FIELDS},
        )
        for row in sorted(rows, key=lambda row: row["group_id"])
    ]


def _gaps(part: Path) -> dict[str, dict[str, list[Span]]]:
    """Return by problem and group the partitions without an owner, and those with one and no committed offset."""
    found: dict[str, dict[str, list[Span]]] = {"unowned": {}, "never_committed": {}}
    for row in pq.read_table(part / "gaps").to_pylist():
        span = (row["topic"], row["start"], row["count"])
        found[row["problem"]].setdefault(row["group_id"], []).append(span)
    return found


def _comparisons(part: Path) -> tuple[dict[str, Compared], dict[str, list[ComparedAssignments]]]:
    """Return the comparisons with the classic protocol's range by group, and those with other assignors."""
    columns = ["group_id", "assignor", "outcome", "class"]
    counted = pq.read_table(
        part / "generations",
        columns=[*columns, "range", "offset", "timestamp"],
        filters=pc.is_valid(pc.field("outcome")),
    )
    counted = counted.append_column("is_range", pc.is_valid(counted["range"]))
    wanted = [("offset", "count"), ("offset", "min"), ("timestamp", "min"), ("timestamp", "max")]
    rows: dict[tuple[str, bool, str | None], list[dict[str, Any]]] = {}
    for row in counted.group_by([*columns, "is_range"]).aggregate(wanted).to_pylist():
        rows.setdefault((row["group_id"], row["is_range"], row["assignor"]), []).append(row)
    ranges: dict[str, Compared] = {}
    others: dict[str, list[ComparedAssignments]] = {}
    for (group, is_range, assignor), found in sorted(rows.items(), key=_name_order):
        compared = _compared(found)
        if is_range:
            ranges[group] = compared
        else:
            classes = {
                row["class"]: OfClass(
                    _reason(part, group, row["offset_min"]), row["timestamp_min"], row["timestamp_max"]
                )
                for row in found
                if row["class"] is not None
            }
            others.setdefault(group, []).append(ComparedAssignments(assignor, compared, classes))
    return ranges, others


def _compared(rows: list[dict[str, Any]]) -> Compared:
    """Return the counts of rows with numbers of generations by outcome and class."""
    by_outcome, by_class = Counter[str](), Counter[str | None]()
    for row in rows:
        by_outcome[row["outcome"]] += row["offset_count"]
        by_class[row["class"]] += row["offset_count"]
    return Compared(
        checked=by_outcome["equal"] + by_outcome["different"],
        equal=by_outcome["equal"],
        unknown=by_outcome["unknown"],
        explained=by_class["explained"],
        healed=by_class["healed"],
        unknown_topics=by_class["unknown_topics"],
        not_determined=by_class["not_determined"],
    )


def _name_order(entry: tuple[tuple[str, bool, str | None], object]) -> tuple[str, bool, str]:
    (group, is_range, assignor), _ = entry
    return group, is_range, assignor or ""


def _reason(part: Path, group: str, offset: int) -> str:
    """Return a generation and why it is not equal to the answer of its assignor; `offset` is that of its record."""
    is_generation = (pc.field("group_id") == group) & (pc.field("offset") == offset)
    columns = ["generation", "reasons"]
    row = pq.read_table(part / "generations", columns=columns, filters=is_generation).slice(0, 1).to_pylist()[0]
    return f"generation {row['generation']}: {'; '.join(row['reasons'])}"


def _remarks(part: Path) -> Iterator[Remark]:
    rows = pq.read_table(part / "generations", filters=pc.list_value_length(pc.field("remarks")) > 0)
    for row in rows.sort_by([("group_id", "ascending"), ("offset", "ascending")]).to_pylist():
        for text in row["remarks"]:
            yield Remark(row["group_id"], row["generation"], row["range"], text, row["timestamp"], row["class"])


def _members(part: Path, groups: Collection[str]) -> Iterator[MemberReport]:
    spans: dict[tuple[str, str], list[tuple[str, int, int]]] = {}
    for row in pq.read_table(part / "assignments").to_pylist():
        spans.setdefault((row["group_id"], row["member_id"]), []).append((row["topic"], row["start"], row["count"]))
    order = [(name, "ascending") for name in ("group_id", "client_id", "member_id")]
    is_chosen = pc.field("group_id").isin(pa.array(groups, pa.string()))
    for row in pq.read_table(part / "members", filters=is_chosen).sort_by(order).to_pylist():
        yield MemberReport(
            group=row["group_id"],
            member_id=row["member_id"],
            group_instance_id=row["group_instance_id"],
            client_id=row["client_id"],
            spans=tuple(sorted(spans.get((row["group_id"], row["member_id"]), ()))),
        )
