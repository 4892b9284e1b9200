"""Summary of the Parquet files of a report: groups, members, remarks and counts, read with pyarrow."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow.dataset import dataset

from assignor.recording.report import (
    MOST_GROUPS_WITH_MEMBERS,
    ComparedAssignments,
    GroupReport,
    MemberReport,
    RangeGenerations,
    Remark,
    Report,
)
from assignor.recording.report_folder import REPORT_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_GROUP_FIELDS = (
    *("kind", "state", "protocol", "generation", "topics", "partitions", "unowned", "idle_members"),
    *("least_loaded", "most_loaded", "rebalances", "busiest_minute", "bad_records"),
)
"""Columns of the table `groups` that are fields of `GroupReport` with the same name."""


def summarize(part: Path) -> Report:
    """Read the tables of a report, and write `report.json` next to them.

    Args:
        part: Folder with the tables that `report_folder.TABLES` names.

    Returns:
        The report.
    """
    counts = _counts(part)
    by_type: dict[int, tuple[int, int]] = {}
    for (number, is_tombstone, _), count in counts.items():
        if number is not None:
            values, tombstones = by_type.get(number, (0, 0))
            deleted = count if is_tombstone else 0
            by_type[number] = (values + count - deleted, tombstones + deleted)
    groups = _groups(part)
    found = Report(
        records=counts.total(),
        records_by_type=by_type,
        bad_records=sum(count for (_, _, status), count in counts.items() if status == "bad"),
        groups=tuple(groups),
        remarks=tuple(_remarks(part)),
        members=tuple(_members(part)) if len(groups) <= MOST_GROUPS_WITH_MEMBERS else (),
    )
    text = json.dumps(found.to_json(), ensure_ascii=False, indent=1)
    (part / REPORT_FILE).write_text(text + "\n", encoding="utf-8")
    return found


def _counts(part: Path) -> Counter[tuple[int | None, bool, str]]:
    """Return the number of records by type, tombstone and status."""
    found = Counter[tuple[int | None, bool, str]]()
    names = ["type", "tombstone", "status"]
    for batch in dataset(part / "records", format="parquet").to_batches(columns=names):
        kinds = pa.Table.from_batches([batch]).group_by(names).aggregate([([], "count_all")])
        for row in kinds.to_pylist():
            found[row["type"], row["tombstone"], row["status"]] += row["count_all"]
    return found


def _groups(part: Path) -> list[GroupReport]:
    members = Counter(pq.read_table(part / "members", columns=["group_id"])["group_id"].to_pylist())
    rows = pq.read_table(part / "groups").to_pylist()
    assignments = _assignments(part)
    return [
        GroupReport(
            group=row["group_id"],
            members=members[row["group_id"]],
            range_generations=RangeGenerations(
                checked=row["range_equal"] + row["range_different"],
                equal=row["range_equal"],
                unknown=row["range_unknown"],
            ),
            assignments=tuple(assignments.get(row["group_id"], ())),
            **{name: row[name] for name in _GROUP_FIELDS},
        )
        for row in sorted(rows, key=lambda row: row["group_id"])
    ]


def _assignments(part: Path) -> dict[str, list[ComparedAssignments]]:
    """Return the comparisons with assignors other than range of the classic protocol, by group."""
    is_other = pc.field("outcome").isin(["equal", "different"]) & pc.field("range").is_null()
    columns = ["group_id", "assignor", "outcome", "offset"]
    rows = pq.read_table(part / "generations", columns=columns, filters=is_other)
    counts: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    for row in rows.group_by(columns[:3]).aggregate([("offset", "count"), ("offset", "min")]).to_pylist():
        outcomes = counts.setdefault((row["group_id"], row["assignor"]), {})
        outcomes[row["outcome"]] = (row["offset_count"], row["offset_min"])
    found: dict[str, list[ComparedAssignments]] = {}
    for (group, assignor), outcomes in sorted(counts.items()):
        equal, _ = outcomes.get("equal", (0, 0))
        different, first = outcomes.get("different", (0, 0))
        reason = _reason(part, group, first) if different else None
        found.setdefault(group, []).append(ComparedAssignments(assignor, equal + different, equal, reason))
    return found


def _reason(part: Path, group: str, offset: int) -> str:
    """Return why a generation differs from the answer of its assignor; `offset` is that of its group record."""
    is_generation = (pc.field("group_id") == group) & (pc.field("offset") == offset)
    columns = ["generation", "reasons"]
    row = pq.read_table(part / "generations", columns=columns, filters=is_generation).slice(0, 1).to_pylist()[0]
    return f"generation {row['generation']}: {'; '.join(row['reasons'])}"


def _remarks(part: Path) -> Iterator[Remark]:
    rows = pq.read_table(part / "generations", filters=pc.list_value_length(pc.field("remarks")) > 0)
    for row in rows.sort_by([("group_id", "ascending"), ("offset", "ascending")]).to_pylist():
        for text in row["remarks"]:
            yield Remark(row["group_id"], row["generation"], row["range"], text)


def _members(part: Path) -> Iterator[MemberReport]:
    spans: dict[tuple[str, str], list[tuple[str, int, int]]] = {}
    for row in pq.read_table(part / "assignments").to_pylist():
        spans.setdefault((row["group_id"], row["member_id"]), []).append((row["topic"], row["start"], row["count"]))
    order = [(name, "ascending") for name in ("group_id", "client_id", "member_id")]
    for row in pq.read_table(part / "members").sort_by(order).to_pylist():
        yield MemberReport(
            group=row["group_id"],
            member_id=row["member_id"],
            group_instance_id=row["group_instance_id"],
            client_id=row["client_id"],
            spans=tuple(sorted(spans.get((row["group_id"], row["member_id"]), ()))),
        )
