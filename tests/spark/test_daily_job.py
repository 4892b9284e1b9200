"""Daily job: its tables have what a report on the same log says, a day can run again, and limits fail the job."""

from __future__ import annotations

import contextlib
import datetime
import runpy
import shutil
import sys
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

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
MIDNIGHT = daily_program.MIDNIGHT
GROUPS = [
    *("inventory-sync", "notify-dispatch", "billing", "orders-next", "warehouse-static", "backfill-2024"),
    *("connect-cluster-eu", "console-consumer-20977"),
]

Row = dict[str, Any]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of two days."""
    return daily_program.write_recording(tmp_path_factory.mktemp("daily") / "eu", GROUPS)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, recording: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tables of two days of one cluster, and of one day of another. No run prints or fails."""
    assert spark.version
    folder = tmp_path_factory.mktemp("daily") / "tables"
    other = daily_program.write_recording(folder.with_name("us"), ["billing"])
    printed = StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        assert run(folder, recording, FIRST) is None
        assert run(folder, recording, SECOND, "--limit", "storm=9999", "--limit", "two_owners=0") is None
        assert run(folder, other, SECOND, "--limit", "storm=0", cluster="7") is None
    assert "" == printed.getvalue()
    return folder


def run(folder: Path, recording: Path, day: datetime.date, *options: str, cluster: str = "eu") -> str | None:
    partial = ["--partial"] if day == SECOND else []  # the records end 10 s after the second day begins
    arguments = ["--day", str(day), "--cluster", cluster, "--recording", str(recording), "--tables", str(folder)]
    failed: str | None = job.main([*arguments, *partial, *options])
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
    recording: Path,
    tables: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ("events", "groups", "findings", "changes")
    copy = shutil.copytree(tables, tmp_path / "tables")
    (storm,) = (row["count"] for row in rows(tables, "findings", SECOND) if row["kind"] == "storm")

    arguments = ["--day", str(SECOND), "--partial", "--cluster", "eu", "--recording", f"file://{recording}"]
    limits = ["--limit", f"storm={storm - 1}", "--limit", "went_back=5"]
    monkeypatch.setattr(sys, "argv", ["daily_job.py", *arguments, "--tables", str(copy), *limits])

    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(daily_program.JOB), run_name="__main__")

    assert 3 == ended.value.code
    assert f"2026-11-21 eu: 'inventory-sync' storm {storm} (limit {storm - 1})\n" == capsys.readouterr().err
    assert {name: rows(tables, name) for name in names} == {name: rows(copy, name) for name in names}
    assert all(rows(tables, name, SECOND) for name in names)
    assert [] == rows(tables, "changes", FIRST)
    assert not rows(tables, "changes", SECOND, "7")


def test_a_table_has_the_rows_of_both_clusters(tables: Path) -> None:
    found = Counter((row["date"], str(row["cluster"])) for row in rows(tables, "groups"))

    assert {(str(FIRST), "eu"), (str(SECOND), "eu"), (str(SECOND), "7")} == set(found)
    assert 1 == found[str(SECOND), "7"]
    assert {"billing"} == {row["group_id"] for row in rows(tables, "groups", SECOND, "7")}


def test_after_a_day_without_groups_every_group_is_new(spark: SparkSession, tables: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(tables, tmp_path / "tables")
    kept, first, second = job.Tables(str(copy)), job.Day(FIRST, "7"), job.Day(SECOND, "7")
    groups = spark.read.parquet(str(tables / "groups" / f"date={SECOND}" / "cluster=7"))
    assert not kept.has("groups", groups, first)

    assert [] == kept.replace("groups", groups.limit(0), first).collect()
    read = kept.replace("groups", groups, second)
    assert [("billing", "7", SECOND)] == [(row.group_id, row.cluster, row.date) for row in read.collect()]
    assert kept.has("groups", read, first)
    assert run(copy, daily_program.write_recording(tmp_path / "us", ["billing"]), SECOND, cluster="7") is None

    assert [("billing", "new")] == [(row["group_id"], row["change"]) for row in rows(copy, "changes", SECOND, "7")]


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
        (day, each["event"], each["group"], each["at"], each["offset"])
        for day in (FIRST, SECOND)
        for each in replay(Recording.open(recording).select(until=job.Day(day, "eu").end - 1))
        if each["at"] >= job.Day(day, "eu").start
    )

    found = Counter(
        (day, row["event"], row["group_id"], row["at"], row["record_offset"])
        for day in (FIRST, SECOND)
        for row in rows(tables, "events", day)
        if row["event"] != "cost"  # the replay has it in the event of the rebalance
    )

    assert expected == found
    assert {FIRST, SECOND} == {day for day, *_ in found}
    assert {"generation", "rebalance", "member", "offsets", "storm", "group_deleted"} <= {kind for _, kind, *_ in found}
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
        [("eu", f"g{id}\n", "idle", id) for id in range(9)], "cluster string, group_id string, kind string, count long"
    )

    line = job.passed(problems, {"idle": 1, "storm": 0})

    shown = ", ".join(rf"'g{id}\n' idle {id} (limit 1)" for id in range(2, 7))
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


def test_topics_of_other_clusters_are_left_out(spark: SparkSession, recording: Path, tmp_path: Path) -> None:
    topics = pq.read_table(recording / "topics.parquet")
    for name, table in (
        ("eu", topics),
        ("us", topics.set_column(topics.column_names.index("t"), "t", pc.subtract(topics["t"], 9_000_000))),
    ):
        pq.write_table(table.append_column("cluster", pa.array([name] * len(table))), tmp_path / f"{name}.parquet")

    found = job.read_topics(spark, str(tmp_path), "eu")

    assert sorted(topics.to_pylist(), key=repr) == sorted(found.to_pylist(), key=repr)
    with pytest.raises(SystemExit, match=r"--topics .* has no row with cluster = 'asia': it must have the name in"):
        job.read_topics(spark, str(tmp_path), "asia")


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
        (["--day", str(SECOND)], "no record from 2026-11-22 00:00 UTC or later, so 2026-11-21 may be incomplete: run "),
        (["--day", "2026-11-19", "--partial"], "the source has no record before 2026-11-20 00:00 UTC: check the "),
        (["--day", str(FIRST), "--limit", "unowned=9"], "--limit unowned needs topic metadata, .*: give --topics PATH"),
    ],
)
def test_a_source_without_what_a_day_needs_is_an_error_and_no_table_is_written(
    spark: SparkSession, recording: Path, tmp_path: Path, options: list[str], reason: str
) -> None:
    assert spark.version
    copy = shutil.copytree(recording, tmp_path / "without-topics", ignore=shutil.ignore_patterns("topics.parquet"))

    with pytest.raises(SystemExit, match=reason) as ended:
        job.main(["--cluster", "eu", "--recording", str(copy), "--tables", str(tmp_path / "tables"), *options])

    assert 1 == len(str(ended.value.code).splitlines())
    assert not (tmp_path / "tables").exists()


def test_only_a_day_that_is_over_can_run(capsys: pytest.CaptureFixture[str]) -> None:
    common = ["--cluster", "eu", "--tables", "t", "--recording", "a"]
    yesterday = (today := datetime.datetime.now(datetime.UTC).date()) - datetime.timedelta(days=1)

    with pytest.raises(SystemExit):
        job.parse([*common, "--day", str(today)])

    assert f"{today} is not over in UTC: the last day that is over is {yesterday}\n" in capsys.readouterr().err
    assert yesterday == job.parse(common).day == job.parse([*common, "--day", str(yesterday)]).day


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
@pytest.mark.parametrize("kind", daily_program.PUBLISHED)
def test_each_format_has_the_same_rows(recording: Path, tables: Path, tmp_path: Path, kind: str) -> None:
    package, settings = daily_program.FORMATS[kind]
    packages = ["--packages", package.format(daily_program.SPARK)] if package else []
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
