"""Pipeline in a real Spark session: the bundled recording, compared with the state of its cluster, and bad records."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignor.cli import main
from assignor.cluster import Recording
from assignor.errors import IllegalArgumentError, WrongTypeError
from assignor.report.local import write_tables
from assignor.report.report_folder import TABLES, check_report_folder, replace_report_folder
from assignor.report.summary import summarize
from assignor.report.text import render

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from assignor.report.report import Report

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
FLEET = ROOT / "data" / "fleet_webshop"
TRUTH = ROOT / "tests" / "data" / "fleet_webshop"

GONE = {
    "connect-cluster-eu": "classic",
    "console-consumer-84113": "classic",
    "nightly-export": "offsets",
    "settlement-eos": "classic",
}
"""Groups that were deleted during the recording, with their last kind."""


def lines(name: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a recorded file."""
    with gzip.open(TRUTH / name, "rt", encoding="utf-8") as text:
        for line in text:
            yield json.loads(line)


def rebalances(generations: pa.Table) -> int:
    """Return the number of rebalances: generations other than 0 that differ from the previous one of their group."""
    ordered = generations.sort_by([("group_id", "ascending"), ("offset", "ascending")])
    found = ordered.select(["group_id", "kind", "generation"]).to_pylist()
    return sum(now["generation"] > 0 and now != before for now, before in zip(found, [None, *found], strict=False))


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the output folder of the report."""
    return tmp_path_factory.mktemp("report") / "fleet"


class Run(NamedTuple):
    """Results of the command `assignor report`."""

    code: int
    report: Report
    output: str
    errors: str


def run_report(out: Path, page: Path, engine: str) -> Run:
    """Run the command with the bundled recording; the page lacks its scripts, which are large."""
    reports: list[Report] = []

    def remember(*given: Any) -> Report:
        reports.append(summarize(*given))
        return reports[0]

    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(StringIO()) as output,
        redirect_stderr(StringIO()) as errors,
    ):
        patch.setattr("assignor.page.html.bundle", lambda: "/* scripts */")
        patch.setattr("assignor.report.summary.summarize", remember)
        code = main(["report", str(FLEET), "--json", "--out", str(out), "--engine", engine, "--page", str(page)])
    return Run(code, reports[0], output.getvalue(), errors.getvalue())


@pytest.fixture(scope="module")
def spark_run(spark: SparkSession, out: Path) -> Run:
    """Run the command in Spark."""
    assert spark.version
    return run_report(out, out.with_name("spark.html"), "spark")


@pytest.fixture(scope="module")
def local_run(out: Path) -> Run:
    """Run the command in this process."""
    return run_report(out.with_name("local"), out.with_name("local.html"), "local")


@pytest.fixture(scope="module")
def fleet(spark_run: Run) -> Report:
    """Return the report of Spark on the bundled recording."""
    return spark_run.report


def test_every_record_is_counted_under_its_type(fleet: Report) -> None:
    values = Counter(record["type"] for record in lines("decoded.jsonl.gz") if record["value"] is not None)
    tombstones = Counter(record["type"] for record in lines("decoded.jsonl.gz") if record["value"] is None)

    expected = {number: (values[number], tombstones[number]) for number in values | tombstones}
    assert expected == fleet.records_by_type
    assert 16729 == fleet.records
    assert 0 == fleet.bad_records


def test_groups_have_the_state_that_the_cluster_described(fleet: Report) -> None:
    described = {}
    for found in lines("snapshots.jsonl.gz"):
        if found["label"] == "final":
            kind = "offsets" if found["simple"] else found["type"].lower()
            described[found["group"]] = (kind, found["state"], found.get("assignor") or None, len(found["members"]))

    reported = {group.group: (group.kind, group.state, group.protocol, group.members) for group in fleet.groups}
    gone = {name: (kind, "gone", None, 0) for name, kind in GONE.items()}
    assert {**described, **gone} == reported
    assert sorted(reported) == [group.group for group in fleet.groups]


def test_epochs_and_assignments_equal_those_that_the_cluster_described(fleet: Report) -> None:
    reported = {group.group: group for group in fleet.groups}
    assigned = Counter[str]()
    for member in fleet.members:
        assigned[member.group] += sum(count for _, _, count in member.spans)
    compared = 0
    for found in lines("snapshots.jsonl.gz"):
        if found["label"] != "final" or found["type"] not in {"Classic", "Consumer"}:
            continue
        owned = {
            (topic, id) for member in found["members"] for topic, ids in member["assignment"].items() for id in ids
        }
        group = reported[found["group"]]
        assert len(owned) == group.partitions == assigned[group.group], group
        assert len({topic for topic, _ in owned}) == group.topics, group
        if found.get("group_epoch") is not None:
            assert found["group_epoch"] == group.generation
        compared += 1
    assert 18 == compared


def test_thirty_of_thirty_two_range_generations_equal_kafkas(fleet: Report) -> None:
    ranges = [group.range_generations for group in fleet.groups]

    assert 32 == sum(found.checked for found in ranges)
    assert 30 == sum(found.equal for found in ranges)
    assert 0 == sum(found.unknown for found in ranges)
    assert {("shipping.eta", 1), ("legacy-bridge", 2)} == {(found.group, found.generation) for found in fleet.remarks}
    texts = " ".join(found.text for found in fleet.remarks)
    assert "the assignor did not have the metadata of shipment_events, shipments yet" in texts
    assert "Kafka cannot parse the subscription of sarama-" in texts


def test_only_the_recorded_storm_is_reported(fleet: Report) -> None:
    assert ["inventory-sync"] == [group.group for group in fleet.groups if group.is_stormy]
    storm = next(group for group in fleet.groups if group.is_stormy)
    assert 12474 == storm.generation
    assert 14 == storm.unowned


def test_findings_name_the_recorded_storm_and_its_partitions(fleet: Report) -> None:
    found = {(each.group, each.kind): each for each in fleet.findings()}

    assert {"analytics.hourly", "billing"} == {group for group, kind in found if kind == "skew"}
    assert [("inventory-sync", "storm")] == [key for key in found if key[1] == "storm"]
    storm, unowned = found["inventory-sync", "storm"], found["inventory-sync", "unowned"]
    assert storm.until is None, "it lasts at the end of the log"
    rows = pq.read_table(FLEET / "records.parquet", columns=["timestamp"])["timestamp"].to_pylist()
    assert storm.since is not None
    assert 100_000 < max(rows) - storm.since < 200_000
    owned = {
        (topic, id)
        for member in fleet.members
        if member.group == "inventory-sync"
        for topic, start, count in member.spans
        for id in range(start, start + count)
    }
    missing = {(topic, id) for topic in ("inventory.delta", "inventory.snapshot") for id in range(50)} - owned
    assert missing == {
        (topic, id)
        for topic, numbers in re.findall(r"(inventory\.\w+)\[([^]]*)\]", unowned.evidence)
        for first, last in re.findall(r"(\d+)(?:–(\d+))?", numbers)
        for id in range(int(first), int(last or first) + 1)
    }
    assert 14 == len(missing)


def test_the_parquet_files_have_all_records_and_groups(fleet: Report, out: Path) -> None:
    rows = {name: pq.read_table(out / name) for name in TABLES}

    recorded = pq.read_table(FLEET / "records.parquet")
    key = ["partition", "offset"]
    written = rows["records"].sort_by([(name, "ascending") for name in key])
    assert recorded.equals(written.select(recorded.column_names).cast(recorded.schema))
    assert 16 == sum(rows["records"]["aborted"].to_pylist())
    assert len(fleet.groups) == rows["groups"].num_rows
    assert sum(group.rebalances for group in fleet.groups) == rebalances(rows["generations"])
    assert len(fleet.members) == rows["members"].num_rows
    assert sum(group.partitions for group in fleet.groups) == sum(rows["assignments"]["count"].to_pylist())
    assert fleet.to_json() == json.loads((out / "report.json").read_text(encoding="utf-8"))


def test_the_readme_shows_what_the_demo_prints(fleet: Report) -> None:
    shown = (ROOT / "README.md").read_text(encoding="utf-8").split("$ make demo\n")[1].split("```")[0]

    printed = iter(render(fleet).splitlines())
    checked = 0
    for line in shown.splitlines():
        if line.strip() in {"", "…"} or line.startswith("Parquet files:"):
            continue
        assert line in printed, f"README.md has a line that the demo does not print, or not in this order: {line}"
        checked += 1
    assert checked > 20


def test_this_process_and_spark_write_the_same_report(spark_run: Run, local_run: Run, out: Path) -> None:
    assert_equal(spark_run.report, local_run.report, out, out.with_name("local"))


def test_json_is_the_only_output_on_standard_output_and_the_page_equals_that_of_a_run_without_spark(
    spark_run: Run, local_run: Run, out: Path
) -> None:
    assert (0, 0) == (spark_run.code, local_run.code)
    assert out.with_name("local.html").read_bytes() == out.with_name("spark.html").read_bytes()
    assert spark_run.report.to_json() == json.loads(spark_run.output)
    assert ["starting Spark", "decoding and replaying", "summarizing", "writing the page"] == [
        line.split(":")[0] for line in spark_run.errors.splitlines()
    ]


def assert_equal_without_spark(found: Report, recording: Recording, out: Path, local: Path) -> None:
    """Assert that a report without Spark equals that of Spark."""
    local.mkdir()
    write_tables(recording, local)

    assert_equal(found, summarize(recording, local), out, local)


def assert_equal(found: Report, without_spark: Report, out: Path, local: Path) -> None:
    """Assert that two reports are equal: JSON, text, and the schemas and rows of all tables."""
    assert found.to_json() == without_spark.to_json()
    assert render(found, width=100) == render(without_spark, width=100)
    assert (out / "report.json").read_bytes() == (local / "report.json").read_bytes()
    for name in TABLES:
        expected, written = pq.read_table(out / name), pq.read_table(local / name)
        assert expected.schema.remove_metadata() == written.schema.remove_metadata(), name
        assert sorted(map(repr, expected.to_pylist())) == sorted(map(repr, written.to_pylist())), name


def recording(folder: Path, rows: list[dict[str, Any]], topics: pa.Table | None = None) -> Recording:
    """Return a recording of these records, with the topics of the bundled one."""
    folder.mkdir()
    schema = pq.read_schema(FLEET / "records.parquet")
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "records.parquet")
    pq.write_table(topics or pq.read_table(FLEET / "topics.parquet"), folder / "topics.parquet")
    return Recording.open(folder)


def report(spark: SparkSession, recording: Recording, out: Path) -> Report:
    """Write the report on a recording as the command does."""
    from assignor.spark.report import write_tables

    with replace_report_folder(check_report_folder(out, recording.folder)) as part:
        write_tables(spark, recording, part, quiet=True)
        return summarize(recording, part)


def test_truncated_records_and_unknown_types_have_a_status(spark: SparkSession, tmp_path: Path) -> None:
    whole = [
        row for row in pq.read_table(FLEET / "records.parquet").to_pylist() if b"billing" in row["key"] and row["value"]
    ]
    cut = [{**row, "offset": row["offset"] + 10**6, "value": row["value"][:-3]} for row in whole[:20]]
    odd: list[dict[str, Any]] = [
        {"partition": 9, "offset": 0, "timestamp": 1, "key": b"\x00\x63\x00\x01x", "value": b"later"},
        {"partition": 9, "offset": 1, "timestamp": 1, "key": b"\x00\x09\x00\x01x", "value": None},
        {"partition": 9, "offset": 2, "timestamp": 1, "key": b"\x00", "value": b""},
        {"partition": 9, "offset": 3, "timestamp": 1, "key": b"\x00\x02\x00\x09bil", "value": b""},
        {"partition": 9, "offset": 4, "timestamp": 1, "key": None, "value": b"\x00\x01"},
    ]

    given = recording(tmp_path / "broken", [*whole, *cut, *odd])

    found = report(spark, given, tmp_path / "out")

    assert_equal_without_spark(found, given, tmp_path / "out", tmp_path / "local")
    rows = pq.read_table(tmp_path / "out" / "records").to_pylist()
    assert len(whole) + len(cut) + len(odd) == found.records == len(rows)
    assert len(cut) + 3 == found.bad_records
    assert (1, 0) == found.records_by_type[99]
    assert (0, 1) == found.records_by_type[9]
    status = {row["offset"]: (row["status"], row["type"]) for row in rows if row["partition"] == 9}
    expected = {0: ("unknown_type", 99), 1: ("unknown_type", 9), 2: ("bad", None), 3: ("bad", 2), 4: ("bad", None)}
    assert expected == status
    assert all(row["error"] for row in rows if row["status"] == "bad")
    (billing,) = found.groups
    assert ("billing", "Stable", 7, 4, 20) == (
        billing.group,
        billing.state,
        billing.generation,
        billing.members,
        billing.bad_records,
    )
    assert 7 == billing.range_generations.equal


def test_an_empty_recording_has_an_empty_report_which_replaces_an_earlier_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    given = recording(tmp_path / "empty", [])
    out = tmp_path / "out"
    out.mkdir()
    (out / "report.json").write_text('{"records": 1, "records_by_type": {}, "bad_records": 0, "groups": []}')

    found = report(spark, given, out)

    assert found.to_json() == json.loads((out / "report.json").read_text())
    assert (out / "groups").is_dir()
    assert_equal_without_spark(found, given, out, tmp_path / "local")
    assert {"records": 0, "records_by_type": {}, "bad_records": 0, "groups": [], "findings": []} == found.to_json()
    assert "0 groups" in render(found)


def test_this_process_and_spark_find_the_same_events(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.replay.events import to_json
    from assignor.replay.recorded import replay
    from assignor.spark.event_lines import event_lines

    names = ("billing", "email-workers", "profile-migrating", "warehouse-static")
    rows = pq.read_table(FLEET / "records.parquet").to_pylist()
    chosen = [row for row in rows if any(name.encode() in row["key"] for name in names)]
    odd = {"partition": 0, "offset": 10**6, "timestamp": 5, "key": b"\x00\x63\x00\x01x", "value": b"later"}
    given = recording(tmp_path / "given", [*chosen, odd])

    def key(event: tuple[str | None, int, int, str]) -> tuple[str, int, int]:
        return (event[0] or "", event[1], event[2])

    for groups in ((), ("billing",)):
        local = [(each["group"], each["at"], each["offset"], to_json(each)) for each in replay(given, groups=groups)]
        assert sorted(local, key=key) == sorted(event_lines(spark, given, groups=groups), key=key)
    assert {"billing"} == {group for group, *_ in local}


def test_a_wrong_column_type_is_an_error_before_any_job(spark: SparkSession, tmp_path: Path) -> None:
    given = recording(tmp_path / "given", [])
    schema = pq.read_schema(given.records)
    position = schema.get_field_index("offset")
    pq.write_table(schema.set(position, schema.field("offset").with_type(pa.string())).empty_table(), given.records)

    with pytest.raises(WrongTypeError, match=r"records\.parquet: column offset must be of type bigint, not string"):
        report(spark, given, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert ["given"] == [path.name for path in tmp_path.iterdir()]


def test_a_folder_with_other_files_is_not_replaced(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")

    with pytest.raises(IllegalArgumentError, match="is not an empty folder or an earlier report"):
        report(spark, Recording.open(FLEET), tmp_path / "mine")
    assert "dear" == (tmp_path / "mine" / "letter.txt").read_text()


@pytest.mark.parametrize("name", [" é注文 two words a%20b a#b:c", "x{a,b} g[1] q?* b\\s"])
def test_folders_are_nested_and_have_names_with_special_characters(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    given = recording(tmp_path / name, [])
    rows = pq.read_table(FLEET / "records.parquet").slice(0, 50)
    # The records have other columns too, which are ignored.
    for column in ("type", "group_id", "Status", "aborted", "a.b"):
        rows = rows.append_column(column, pa.nulls(50, pa.string()))
    given.records.unlink()
    for start, place in ((30, "a.parquet"), (10, f"{name}/b.parquet"), (0, "partition=7/deep/c.parquet")):
        (given.records / place).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows.slice(start, 20 if start else 10), given.records / place)
    (given.records / "_SUCCESS").touch()
    out = tmp_path / f"out {name}"

    found = report(spark, given, out)

    assert 50 == found.records == pq.read_table(out / "records").num_rows
    assert_equal_without_spark(found, given, out, tmp_path / "local")


def test_decode_rejects_columns_with_names_that_it_adds(spark: SparkSession) -> None:
    from assignor.spark import decode

    records = spark.createDataFrame(pq.read_table(FLEET / "records.parquet").slice(0, 5))

    with pytest.raises(WrongTypeError, match="decode adds a column Type; "):
        decode(records.selectExpr("*", "1 AS Type"))


def test_decode_keeps_all_other_columns(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from assignor.spark import decode
    from assignor.spark.schemas import DECODED

    records = spark.createDataFrame(pq.read_table(FLEET / "records.parquet").slice(0, 2))
    names = ["a.b", "a`b", "same", "same", "SAME", "decoded", "Decoded_", "_decoded"]
    own = [F.lit(number).alias(name) for number, name in enumerate(names)]

    found = decode(records.select("*", *own).alias("decoded__"))

    assert [*records.columns, *names, *DECODED.fieldNames()] == found.columns
    first = len(records.columns)
    assert [tuple(range(len(names)))] * 2 == [tuple(row)[first : first + len(names)] for row in found.collect()]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"partition": -1}, "column partition of the topic metadata must not be negative: -1"),
        ({"topic": None}, "column topic of the topic metadata must have no nulls"),
        ({}, "topic 'audit.log': partition 0 is given twice"),
    ],
)
def test_invalid_metadata_is_an_error_before_any_job(spark: SparkSession, change: dict[str, Any], error: str) -> None:
    from assignor.spark import decode, replay

    topics = pq.read_table(FLEET / "topics.parquet")
    row = next(row for row in topics.to_pylist() if row["topic"] == "audit.log" and row["partition"] == 0)
    wrong = pa.concat_tables([topics, pa.Table.from_pylist([row | change], schema=topics.schema)])
    records = spark.createDataFrame(pq.read_table(FLEET / "records.parquet").slice(0, 5))

    with pytest.raises(IllegalArgumentError, match=re.escape(error)):
        replay(decode(records), wrong)


def test_functions_are_not_hidden_by_modules_of_the_same_name() -> None:
    import assignor.spark
    import assignor.spark.report

    assert callable(assignor.spark.decode)
    assert callable(assignor.spark.replay)
