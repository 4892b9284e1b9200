"""Daily job: its tables have what a report on the same log says, a day can run again, and limits fail the job."""

from __future__ import annotations

import contextlib
import datetime
import shutil
import sys
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyspark
import pytest

from assignor import _core
from assignor.cluster import Recording
from assignor.errors import MissingDependencyError
from assignor.replay.recorded import replay
from assignor.report import local
from assignor.report.summary import summarize
from tests.sources.folders import log_folder
from tests.sources.segment_bytes import Entry, batch, write_segment
from tests.spark import daily_program, programs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

job: Any = daily_program.load_job()

SECOND = datetime.date(2026, 11, 21)
FIRST = SECOND - datetime.timedelta(days=1)
MIDNIGHT = job.Day(SECOND, "").start
GROUPS = [
    *("inventory-sync", "notify-dispatch", "billing", "orders-next", "warehouse-static", "backfill-2024"),
    *("connect-cluster-eu", "console-consumer-20977"),
]

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
ICEBERG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": "warehouse",
}
FORMATS = {"parquet": ("", {}), "delta": ("io.delta:delta-spark_{}_2.13:4.4.0", DELTA)}
FORMATS["iceberg"] = ("org.apache.iceberg:iceberg-spark-runtime-{}_2.13:1.12.0", ICEBERG)
"""Package and settings of each format."""

SPARK = ".".join(pyspark.__version__.split(".")[:2])
PUBLISHED = {"4.1": ["parquet", "delta", "iceberg"], "4.2": ["parquet", "delta"]}.get(SPARK, ["parquet"])
"""Formats with a package for this version of Spark."""

Row = dict[str, Any]


def write_recording(folder: Path, groups: list[str]) -> Path:
    """Write some groups of the bundled recording, moved in time so that a day begins 140 s after its first record.

    The storm of inventory-sync begins 6 s before midnight. Its records end 10 s after it.
    """
    folder.mkdir()
    records = pq.read_table(programs.RECORDING / "records.parquet").combine_chunks()
    topics = pq.read_table(programs.RECORDING / "topics.parquet")
    midnight = pc.min(records["timestamp"]).as_py() + 140_000
    found = pa.array(_core.record_groups(records["key"].chunk(0)))
    is_late = pc.and_(pc.equal(found, "inventory-sync"), pc.greater(records["timestamp"], midnight + 10_000))
    records = records.filter(pc.and_(pc.is_in(found, pa.array(groups)), pc.invert(is_late)))
    for name, table, column in (("records", records, "timestamp"), ("topics", topics, "t")):
        moved = pc.add(table[column], MIDNIGHT - midnight)
        pq.write_table(
            table.set_column(table.schema.get_field_index(column), column, moved), folder / f"{name}.parquet"
        )
    shutil.copy(programs.RECORDING / "aborted.json", folder)
    return folder


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of two days."""
    return write_recording(tmp_path_factory.mktemp("daily") / "eu", GROUPS)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, recording: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tables of two days of one cluster, and of one day of another. No run prints or fails."""
    assert spark.version
    folder = tmp_path_factory.mktemp("daily") / "tables"
    other = write_recording(folder.with_name("us"), ["billing"])
    printed = StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        assert run(folder, recording, FIRST) is None
        assert run(folder, recording, SECOND, "--limit", "storm=9999", "--limit", "two_owners=0") is None
        assert run(folder, other, SECOND, "--limit", "storm=0", cluster="7") is None
    assert "" == printed.getvalue()
    return folder


def run(folder: Path, recording: Path, day: datetime.date, *options: str, cluster: str = "eu") -> str | None:
    arguments = ["--day", str(day), "--cluster", cluster, "--recording", str(recording), "--tables", str(folder)]
    failed: str | None = job.main([*arguments, *options])
    return failed


def rows(folder: Path, name: str, day: datetime.date | None = None, cluster: str = "eu") -> list[Row]:
    """Return the rows of a day and cluster, or of all, in an order that does not depend on the run."""
    place = folder / name if day is None else folder / name / f"date={day}" / f"cluster={cluster}"
    return sorted(pq.read_table(place).to_pylist(), key=repr)


def report(recording: Path, day: datetime.date, part: Path) -> tuple[list[Any], list[Row]]:
    """Return the findings of a report at the end of a day, and the owned spans of partitions."""
    of_day = job.Day(day, "eu")
    copy = part.with_name(f"{part.name}-recording")
    shutil.copytree(recording, copy)
    topics = pq.read_table(copy / "topics.parquet")
    pq.write_table(topics.filter(pc.less(topics["t"], of_day.end)), copy / "topics.parquet")
    part.mkdir()
    chosen = Recording.open(copy).select(until=of_day.end - 1)
    local.write_tables(chosen, part)
    found = summarize(chosen, part, since=of_day.start)
    return found.findings(), pq.read_table(part / "assignments").to_pylist()


def test_a_day_can_run_again_and_ends_with_one_line_above_a_limit(
    recording: Path, tables: Path, tmp_path: Path
) -> None:
    names = ("events", "groups", "findings", "changes")
    copy = shutil.copytree(tables, tmp_path / "tables")
    (storm,) = (row["count"] for row in rows(tables, "findings", SECOND) if row["kind"] == "storm")

    failed = run(copy, recording, SECOND, "--limit", f"storm={storm - 1}", "--limit", "went_back=5")

    assert f"2026-11-21 eu: inventory-sync storm {storm} (limit {storm - 1})" == failed
    assert {name: rows(tables, name) for name in names} == {name: rows(copy, name) for name in names}
    assert all(rows(tables, name, SECOND) for name in names)
    assert [] == rows(tables, "changes", FIRST)
    assert not rows(tables, "changes", SECOND, "7")


def test_a_table_has_the_rows_of_both_clusters_with_their_names(spark: SparkSession, tables: Path) -> None:
    kept = job.Tables(str(tables))
    day = job.Day(SECOND, "8")

    read = kept.replace("groups", spark.read.parquet(str(tables / "groups")).limit(0), day)

    found = Counter((row.date, row.cluster) for row in read.collect())
    assert {(FIRST, "eu"), (SECOND, "eu"), (SECOND, "7")} == set(found)
    assert 1 == found[SECOND, "7"]
    assert {"billing"} == {row["group_id"] for row in rows(tables, "groups", SECOND, "7")}


def test_rows_that_are_not_there_any_more_are_removed(spark: SparkSession, tables: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tables, tmp_path / "tables")
    kept = job.Tables(str(copy))
    whole = spark.read.parquet(str(copy / "findings"))

    left = kept.replace("findings", whole.limit(0), job.Day(SECOND, "eu")).collect()

    assert rows(tables, "findings", SECOND)
    assert rows(tables, "findings", FIRST) == rows(copy, "findings", FIRST)
    assert {(FIRST, "eu")} == {(row.date, row.cluster) for row in left}


def test_events_are_those_of_the_replay_on_their_day(recording: Path, tables: Path) -> None:
    expected = Counter(
        (each["at"] >= MIDNIGHT, each["event"], each["group"], each["at"])
        for each in replay(Recording.open(recording))
        if each["event"] in ("rebalance", "member", "generation")
    )

    found = Counter(
        (day == SECOND, row["event"], row["group_id"], row["at"])
        for day in (FIRST, SECOND)
        for row in rows(tables, "events", day)
        if row["event"] in ("rebalance", "member", "generation")
    )

    assert expected == found
    assert {False, True} == {is_second for is_second, *_ in found}
    assert all(row["at"] == row["at_time"].timestamp() * 1_000 for row in rows(tables, "events", SECOND))


@pytest.mark.parametrize("day", [FIRST, SECOND])
def test_findings_are_those_of_a_report(recording: Path, tables: Path, tmp_path: Path, day: datetime.date) -> None:
    findings, _ = report(recording, day, tmp_path / "report")

    found = rows(tables, "findings", day)

    expected = {(each.group, each.kind, each.since) for each in findings if each.kind in job.KINDS}
    assert expected == {
        (row["group_id"], row["kind"], row["since"] and round(row["since"].timestamp() * 1_000)) for row in found
    }
    assert expected
    texts = {(each.group, each.kind): each.text for each in findings}
    assert [] == [row for row in found if f"{row['count']:,}" not in texts[row["group_id"], row["kind"]]]


def test_changes_compare_the_ends_of_two_days(recording: Path, tables: Path, tmp_path: Path) -> None:
    _, spans = report(recording, SECOND, tmp_path / "second")
    _, earlier = report(recording, FIRST, tmp_path / "first")
    owners, owned = (
        {
            (row["group_id"], row["topic"], id, row["member_id"])
            for row in each
            for id in range(row["start"], row["start"] + row["count"])
        }
        for each in (spans, earlier)
    )
    moved = Counter(group for group, *_ in owners - owned)
    times = [(each["group"], each["at"]) for each in replay(Recording.open(recording)) if each["event"] == "rebalance"]
    before, after = (Counter(group for group, at in times if (at >= MIDNIGHT) == later) for later in (False, True))

    found = {row["group_id"]: row for row in rows(tables, "changes", SECOND)}

    counts = {group: (row["moved"], row["rebalances"], row["rebalances_before"]) for group, row in found.items()}
    assert {group: (moved[group], after[group], before[group]) for group in found} == counts
    assert moved.total()
    changed = {group: row["change"] for group, row in found.items() if row["change"] != "kept"}
    assert {"connect-cluster-eu": "gone", "console-consumer-20977": "new"} == changed


def test_a_line_names_at_most_five_groups(spark: SparkSession) -> None:
    problems = spark.createDataFrame(
        [("eu", f"g{id}", "idle", id) for id in range(9)], "cluster string, group_id string, kind string, count long"
    )

    line = job.passed(problems, {"idle": 1, "storm": 0})

    shown = ", ".join(f"g{id} idle {id} (limit 1)" for id in range(2, 7))
    assert f"eu: {shown}, 2 more" == line
    assert job.passed(problems, {"storm": 0}) is None
    assert job.passed(problems, {}) is None


def test_each_time_with_wrong_owners_is_a_finding_of_the_days_on_which_it_lasts(spark: SparkSession) -> None:
    day, hour = job.Day(SECOND, "eu"), 3_600_000
    place = [{"topic": "orders", "partition": 0}]

    def event(problem: str, since: int | None, until: int | None, at: int, offset: int) -> tuple[Any, ...]:
        return "eu", "g", "offsets", problem, since, until, at, offset, None, place, f"at {offset}"

    start = day.start
    events = [
        event("two_owners", start - 9 * hour, None, start - 9 * hour, 1),
        event("two_owners", start - 9 * hour, start - 8 * hour, start - 8 * hour, 2),
        event("two_owners", start - 7 * hour, None, start - 7 * hour, 3),
        event("two_owners", start - 5 * hour, None, start - 5 * hour, 4),
        event("two_owners", start - 5 * hour, start + 1 * hour, start + 1 * hour, 5),
        event("went_back", None, None, start - 1, 6),
        event("went_back", None, None, start + 1, 7),
        event("went_back", None, None, start + 2, 8),
        event("never_committed", None, None, start + 3, 9),
    ]  # fmt: skip
    found = spark.createDataFrame(
        events,
        "cluster string, group_id string, event string, problem string, since long, until long, at long, "
        "record_offset long, rebalances long, topic_partitions array<struct<topic: string, partition: int>>, "
        "evidence string",
    )
    groups = spark.createDataFrame(
        [("eu", "g", 0, 2, "no bytes"), ("eu", "h", None, 0, None)],
        "cluster string, group_id string, unowned int, idle_members int, unreadable string",
    )

    problems = job.find_problems(found, groups, day).toArrow().to_pylist()

    def offset_of(time: datetime.datetime | None) -> int | None:
        return None if time is None else round(time.timestamp() * 1_000) - start

    assert [
        ("idle", 2, None, None, None),
        ("two_owners", 1, -5 * hour, hour, "at 5"),
        ("two_owners", 1, -7 * hour, None, "at 3"),
        ("unreadable_group", 1, None, None, "no bytes"),
        ("went_back", 1, 1, 2, "at 8"),
    ] == sorted(
        (
            (row["kind"], row["count"], offset_of(row["since"]), offset_of(row["until"]), row["evidence"])
            for row in problems
        ),
        key=repr,
    )
    assert {"g"} == {row["group_id"] for row in problems}


def test_topics_are_those_that_were_known_on_the_day(recording: Path) -> None:
    topics = Recording.open(recording).topics()
    times = sorted(set(topics["t"].to_pylist()))

    def known(day: datetime.date) -> list[int]:
        return sorted(set(job.at_end(topics, job.Day(day, "eu"))["t"].to_pylist()))

    assert times[-1] >= MIDNIGHT > times[0]
    assert [time for time in times if time < MIDNIGHT] == known(FIRST)
    assert times == known(SECOND)
    assert times[:1] == known(FIRST - datetime.timedelta(days=1))
    assert job.at_end(None, job.Day(FIRST, "eu")) is None


def test_segments_and_a_recording_have_the_same_records(spark: SparkSession, recording: Path, tmp_path: Path) -> None:
    aborted = set(Recording.open(recording).aborted)
    by_partition: dict[int, list[bytes]] = {}
    for row in pq.read_table(recording / "records.parquet").sort_by([("offset", "ascending")]).to_pylist():
        if (row["partition"], row["offset"]) not in aborted:
            entry = batch(row["offset"], Entry(row["key"], row["value"], row["timestamp"]))
            by_partition.setdefault(row["partition"], []).append(entry)
    for partition, batches in by_partition.items():
        write_segment(log_folder(tmp_path / "broker", partition), 0, *batches)
    common = ["--cluster", "eu", "--tables", "t"]

    topics = ["--topics", str(recording / "topics.parquet")]
    read, known = job.read(spark, job.parse([*common, "--segments", str(tmp_path / "broker"), *topics]))
    expected, expected_topics = job.read(spark, job.parse([*common, "--recording", str(recording)]))

    place = [("partition", "ascending"), ("offset", "ascending")]
    assert expected.toArrow().sort_by(place) == read.toArrow().sort_by(place)
    assert set(expected_topics["t"].to_pylist()) == set(known["t"].to_pylist())
    with pytest.raises(MissingDependencyError, match="does not have the Kafka connector"):
        job.read(spark, job.parse([*common, "--bootstrap-server", "127.0.0.1:1"]))


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--cluster", "a/b"], "argument --cluster: 'a/b' must have only letters, digits, and the characters _ . -"),
        (["--limit", "stomr=1"], "argument --limit: stomr=1 must be KIND=NUMBER; the kinds are storm, unowned, "),
        (["--limit", "storm"], "argument --limit: storm must be KIND=NUMBER; the kinds are storm, unowned, "),
        (["--segments", "b"], "argument --segments: not allowed with argument --recording"),
    ],
)
def test_invalid_options_are_errors(options: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        job.parse(["--cluster", "eu", "--tables", "t", "--recording", "a", *options])

    assert reason in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("kind", PUBLISHED)
def test_each_format_has_the_same_rows(recording: Path, tables: Path, tmp_path: Path, kind: str) -> None:
    package, settings = FORMATS[kind]
    packages = ["--packages", package.format(SPARK)] if package else []
    options = [text for name, value in settings.items() for text in ("--conf", f"{name}={value}")]
    place = "lake.groups" if kind == "iceberg" else str(tmp_path / "of-format")
    arguments = [str(recording), place, kind, str(tmp_path / "copies")]
    submit = Path(sys.executable).with_name("spark-submit")

    ended = programs.run([submit, *packages, *options, daily_program.__file__, *arguments], tmp_path)

    assert 0 == ended.returncode, ended.stderr[-3000:]
    for name in daily_program.NAMES:
        columns = pq.read_table(tables / name / f"date={SECOND}" / "cluster=eu").column_names
        copied = pq.read_table(tmp_path / "copies" / name).filter(pc.equal(pc.field("date"), SECOND))
        assert rows(tables, name, SECOND) == sorted(copied.select(columns).to_pylist(), key=repr)
