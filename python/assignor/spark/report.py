"""Runs the pipeline over a recording: decode, replay, compare, and write what was found as Parquet."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from assignor.errors import IllegalArgumentError
from assignor.report import MOST_GROUPS_WITH_MEMBERS, GroupReport, MemberReport, RangeGenerations, Remark, Report
from assignor.spark.decode import decode
from assignor.spark.progress import progress
from assignor.spark.replay import replay
from assignor.spark.schemas import GROUP

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from assignor.recording import Recording

MARK = "report.json"
"""The file by which a folder is known as the output of an earlier report."""

_MINUTE = 60_000


def report(spark: SparkSession, recording: Recording, out: Path, *, quiet: bool = False) -> Report:
    """Decode every record, replay every group, compare every range generation, and say what was found.

    Writes below `out`, which is replaced as a whole when all is done, and not before:

        records      a row per record: `schemas.RECORDS`, `schemas.DECODED` and `aborted`
        groups       a row per group: `group_id` and `schemas.GROUP`
        generations  a row per generation or epoch: `group_id` and `schemas.GENERATION`
        members      a row per member at the end of the log: `group_id` and `schemas.MEMBER`
        assignments  a row per span that a member has: `cluster`, `group_id`, member_id, topic, start, count
        report.json  what `assignor report --json` prints

    Args:
        spark: A session on this machine.
        recording: What to read.
        out: Where to write; must not exist, be empty or hold an earlier report.
        quiet: No progress on standard error.

    Returns:
        The report.

    Raises:
        IllegalArgumentError: `out` holds something else, or a file of the recording cannot be read.
        WrongTypeError: A file of the recording lacks a column or has it in another type.
    """
    with _replacing(out) as part:
        topics = recording.topics()
        with progress(spark, "decoding records", quiet=quiet):
            records = decode(spark.read.parquet(_uri(recording.records)))
            records.withColumn("aborted", _aborted(recording)).write.parquet(_uri(part / "records"))
        events = spark.read.parquet(_uri(part / "records"))
        with progress(spark, "replaying groups", quiet=quiet):
            committed = events.where(~F.col("aborted")).select("group_id", "offset", "timestamp", "key", "value")
            histories = replay(committed, topics).persist()
            _write(histories, part)
            histories.unpersist()
        with progress(spark, "adding up", quiet=quiet):
            found = _collect(spark, part, events)
        text = json.dumps(found.to_json(), ensure_ascii=False, indent=1)
        (part / MARK).write_text(text + "\n", encoding="utf-8")
    return found


def _uri(path: Path) -> str:
    return path.absolute().as_uri()


@contextlib.contextmanager
def _replacing(out: Path) -> Iterator[Path]:
    """Give a folder beside `out` to write into, and put it in its place if all goes well."""
    if out.exists() and not (out / MARK).exists() and (not out.is_dir() or any(out.iterdir())):
        raise IllegalArgumentError(f"{out} holds something that is no report; say --out with another folder")
    part = out.with_name(f".{out.name}.{os.getpid()}")
    part.mkdir(parents=True)
    try:
        yield part
        if out.exists():
            shutil.rmtree(out)
        part.replace(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _aborted(recording: Recording) -> F.Column:
    """Whether a record is of an aborted transaction."""
    by_partition: dict[int, list[int]] = {}
    for partition, offset in recording.aborted:
        by_partition.setdefault(partition, []).append(offset)
    found = F.lit(False)
    for partition, offsets in by_partition.items():
        found = found | ((F.col("partition") == partition) & F.col("offset").isin(offsets))
    return found


def _write(histories: DataFrame, part: Path) -> None:
    groups = histories.select("group_id", *GROUP.fieldNames())
    groups.orderBy("group_id").write.parquet(_uri(part / "groups"))
    for name in ("generations", "members"):
        histories.select("group_id", F.inline(name)).write.parquet(_uri(part / name))
    spans = histories.select(F.lit("").alias("cluster"), "group_id", F.inline("assignment"))
    spans.write.parquet(_uri(part / "assignments"))


def _collect(spark: SparkSession, part: Path, events: DataFrame) -> Report:
    tables = {
        name: spark.read.parquet(_uri(part / name)) for name in ("groups", "generations", "members", "assignments")
    }
    counts = events.groupBy("type", "tombstone", "status").count().collect()
    by_type: dict[int, tuple[int, int]] = {}
    for row in counts:
        if row["type"] is not None:
            values, tombstones = by_type.get(row["type"], (0, 0))
            dead = row["count"] if row["tombstone"] else 0
            by_type[row["type"]] = (values + row["count"] - dead, tombstones + dead)
    groups = tuple(_groups(tables))
    return Report(
        records=sum(row["count"] for row in counts),
        records_by_type=by_type,
        bad_records=sum(row["count"] for row in counts if row["status"] == "bad"),
        groups=groups,
        remarks=tuple(_remarks(tables["generations"])),
        members=tuple(_members(tables)) if len(groups) <= MOST_GROUPS_WITH_MEMBERS else (),
    )


def _groups(tables: dict[str, DataFrame]) -> Iterator[GroupReport]:
    generations = tables["generations"]
    last_minute = Window.partitionBy("group_id").orderBy("timestamp").rangeBetween(1 - _MINUTE, Window.currentRow)
    # What a minute saw of rebalances without a member coming or going; only classic groups can be in a storm of them.
    restless = F.when(F.col("same_members") & (F.col("kind") == "classic"), 1).otherwise(0)
    ranges = {outcome: F.count_if(F.col("range") == outcome) for outcome in ("equal", "different", "unknown")}
    by_group = (
        generations.withColumn("restless", F.sum(restless).over(last_minute))
        .groupBy("group_id")
        .agg(
            F.count("*").alias("rebalances"),
            F.max("restless").alias("busiest_minute"),
            *(count.alias(outcome) for outcome, count in ranges.items()),
        )
    )
    members = tables["members"].groupBy("group_id").agg(F.count("*").alias("members"))
    rows = tables["groups"].join(by_group, "group_id", "left").join(members, "group_id", "left").collect()
    for row in sorted(rows, key=lambda row: row["group_id"]):
        equal, different, unknown = (row[outcome] or 0 for outcome in ranges)
        yield GroupReport(
            group=row["group_id"],
            members=row["members"] or 0,
            range_generations=RangeGenerations(equal + different, equal, unknown),
            rebalances=row["rebalances"] or 0,
            busiest_minute=row["busiest_minute"] or 0,
            **{name: row[name] for name in GROUP.fieldNames() if name != "committed_offsets"},
        )


def _remarks(generations: DataFrame) -> Iterator[Remark]:
    told = generations.where(F.size("remarks") > 0).orderBy("group_id", "offset")
    for row in told.select("group_id", "generation", "range", "remarks").collect():
        for text in row["remarks"]:
            yield Remark(row["group_id"], row["generation"], row["range"], text)


def _members(tables: dict[str, DataFrame]) -> Iterator[MemberReport]:
    spans: dict[tuple[str, str], list[tuple[str, int, int]]] = {}
    for row in tables["assignments"].collect():
        spans.setdefault((row["group_id"], row["member_id"]), []).append((row["topic"], row["start"], row["count"]))
    for row in tables["members"].orderBy("group_id", "client_id", "member_id").collect():
        yield MemberReport(
            group=row["group_id"],
            member_id=row["member_id"],
            group_instance_id=row["group_instance_id"],
            client_id=row["client_id"],
            spans=tuple(sorted(spans.get((row["group_id"], row["member_id"]), ()))),
        )
