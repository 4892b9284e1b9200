"""Report on a recording: decode, replay and compare with Spark, and write the results as Parquet."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import functions as F

from assignor.recording.report import (
    MOST_GROUPS_WITH_MEMBERS,
    ComparedAssignments,
    GroupReport,
    MemberReport,
    RangeGenerations,
    Remark,
    Report,
)
from assignor.recording.report_folder import REPORT_FILE, check_report_folder, replace_report_folder
from assignor.spark.pipeline import decode_and_replay, decoded_records, group_histories
from assignor.spark.progress import progress
from assignor.spark.recording_files import file_uri, read_parquet, read_records
from assignor.spark.schemas import GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from assignor.recording import Recording

_GROUP_FIELDS = (
    *("kind", "state", "protocol", "generation", "topics", "partitions", "unowned", "idle_members"),
    *("least_loaded", "most_loaded", "rebalances", "busiest_minute", "bad_records"),
)
"""Columns of `schemas.GROUP` that are fields of `GroupReport` with the same name."""


def report(spark: SparkSession, recording: Recording, out: Path, *, quiet: bool = False) -> Report:
    """Decode the records of a recording, replay its groups, and compare their assignments with Kafka's assignors.

    Write these files to `out`, which is replaced as a whole when the report is complete:

        records      a row per record: `schemas.RECORDS`, `schemas.DECODED` and `aborted`
        groups       a row per group: `group_id` and `schemas.GROUP`
        generations  a row per generation or epoch: `group_id` and `schemas.GENERATION`
        members      a row per member at the end of the log: `group_id` and `schemas.MEMBER`
        assignments  a row per span of partitions of a member: `cluster`, `group_id`, member_id, topic, start, count
        report.json  the object that `assignor report --json` prints

    Args:
        spark: A session on this machine.
        recording: The recording.
        out: Output folder; must be missing, empty or an earlier report without other files.
        quiet: True to print no progress on standard error.

    Returns:
        The report.

    Raises:
        IllegalArgumentError: `out` contains other files, or a file of the recording cannot be read.
        WrongTypeError: A column of the recording is missing or of another type.
    """
    with replace_report_folder(check_report_folder(out, recording.folder)) as part:
        topics = recording.topics()
        with progress(spark, "decoding records", quiet=quiet):
            rows = decode_and_replay(read_records(spark, recording), topics).persist()
            decoded_records(rows).write.parquet(file_uri(part / "records"))
        with progress(spark, "replaying groups", quiet=quiet):
            histories = group_histories(rows).persist()
            _write(histories, part)
            histories.unpersist()
            rows.unpersist()
        with progress(spark, "summarizing", quiet=quiet):
            found = _collect(part, read_parquet(spark, part / "records"))
        text = json.dumps(found.to_json(), ensure_ascii=False, indent=1)
        (part / REPORT_FILE).write_text(text + "\n", encoding="utf-8")
    return found


def _write(histories: DataFrame, part: Path) -> None:
    groups = histories.select("group_id", *GROUP.fieldNames())
    groups.orderBy("group_id").write.parquet(file_uri(part / "groups"))
    for name in ("generations", "members"):
        histories.select("group_id", F.inline(name)).write.parquet(file_uri(part / name))
    spans = histories.select(F.lit("").alias("cluster"), "group_id", F.inline("assignment"))
    spans.write.parquet(file_uri(part / "assignments"))


def _collect(part: Path, events: DataFrame) -> Report:
    counts = events.groupBy("type", "tombstone", "status").count().collect()
    by_type: dict[int, tuple[int, int]] = {}
    for row in counts:
        if row["type"] is not None:
            values, tombstones = by_type.get(row["type"], (0, 0))
            deleted = row["count"] if row["tombstone"] else 0
            by_type[row["type"]] = (values + row["count"] - deleted, tombstones + deleted)
    groups = _groups(part)
    return Report(
        records=sum(row["count"] for row in counts),
        records_by_type=by_type,
        bad_records=sum(row["count"] for row in counts if row["status"] == "bad"),
        groups=tuple(groups),
        remarks=tuple(_remarks(part)),
        members=tuple(_members(part)) if len(groups) <= MOST_GROUPS_WITH_MEMBERS else (),
    )


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
