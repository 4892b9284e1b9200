"""Reports and events of a recording in Spark: the stored outputs of runs without Spark, and errors before any job."""

from __future__ import annotations

import contextlib
import json
import re
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
from assignor.report.report_folder import check_report_folder, replace_report_folder
from assignor.report.summary import summarize
from tests.replay.golden.outputs import expected, printed, table_text
from tests.replay.golden.recordings import recording as golden_recording

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from assignor.report.report import Report

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
FLEET = ROOT / "data" / "fleet_webshop"


class Run(NamedTuple):
    """Output of `assignor report` on the bundled recording, and its page."""

    output: str
    errors: str
    page: bytes


def run_report(folder: Path, engine: str) -> Run:
    """Run the command; the page lacks its scripts, which are large."""
    out, page = folder / engine, folder / f"{engine}.html"
    with (
        pytest.MonkeyPatch.context() as patch,
        redirect_stdout(StringIO()) as output,
        redirect_stderr(StringIO()) as errors,
    ):
        patch.setattr("assignor.page.html.bundle", lambda: "/* scripts */")
        code = main(["report", str(FLEET), "--json", "--out", str(out), "--engine", engine, "--page", str(page)])
    assert 0 == code, errors.getvalue()
    return Run(output.getvalue(), errors.getvalue(), page.read_bytes())


def test_spark_writes_the_page_of_a_run_without_spark_and_only_json_on_standard_output(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert spark.version
    found, local = (run_report(tmp_path, engine) for engine in ("spark", "local"))

    assert local.page == found.page
    assert json.loads(local.output) == json.loads(found.output)
    assert ["starting Spark", "decoding and replaying", "summarizing", "writing the page"] == [
        line.split(":")[0] for line in found.errors.splitlines()
    ]


@pytest.mark.parametrize("name", ["fleet_webshop", "damaged", "empty", "findings"])
def test_spark_gives_the_stored_outputs(spark: SparkSession, tmp_path: Path, name: str) -> None:
    assert spark.version
    given = tmp_path / "in"
    given.mkdir()
    words = ["--json", "--engine", "spark", str(golden_recording(name, given))]
    (tmp_path / "out").mkdir()
    earlier = {"records": 1, "records_by_type": {}, "bad_records": 0, "groups": []}
    (tmp_path / "out" / "report.json").write_text(json.dumps(earlier))

    with contextlib.chdir(tmp_path):
        assert expected(name, "report_json") == printed(["report", "--out", "out", *words])
        assert expected(name, "replay_json") == printed(["replay", *words])

    assert expected(name, "file_report_json") == (tmp_path / "out" / "report.json").read_bytes()
    for table in (path for path in (tmp_path / "out").iterdir() if path.is_dir()):
        stored = expected(name, f"table_{table.name}").decode().splitlines()
        assert sorted(stored) == sorted(table_text(in_order(pq.read_table(table))).splitlines()), table.name


def in_order(table: pa.Table) -> pa.Table:
    """Return the rows of a table in the order of the stored outputs, in which the log of a group is in its order."""
    keys = [name for name in ("group_id", "partition", "offset") if name in table.column_names]
    return table.sort_by([(name, "ascending") for name in keys])


def test_events_of_chosen_groups_are_those_of_a_run_without_spark(spark: SparkSession) -> None:
    assert spark.version

    found = printed(["replay", "--json", "--group", "billing", "--engine", "spark", str(FLEET)])

    assert found == printed(["replay", "--json", "--group", "billing", "--engine", "local", str(FLEET)])
    assert {"billing"} == {json.loads(line)["group"] for line in found.splitlines()}


def test_the_page_of_the_demo_shows_what_it_prints() -> None:
    shown = (ROOT / "docs" / "demo.md").read_text(encoding="utf-8").split("$ make demo\n")[1].split("```")[0]

    lines = iter(expected(FLEET.name, "report_text").decode().splitlines())
    checked = 0
    for line in shown.splitlines():
        if line.strip() in {"", "…"} or line.startswith("Parquet files:"):
            continue
        assert line in lines, f"docs/demo.md has a line that the demo does not print, or not in this order: {line}"
        checked += 1
    assert checked > 20


def report(spark: SparkSession, recording: Recording, out: Path) -> Report:
    """Write the report on a recording as the command does."""
    from assignor.spark.report import write_tables

    with replace_report_folder(check_report_folder(out, recording.folder)) as part:
        write_tables(spark, recording, part, quiet=True)
        return summarize(recording, part)


def empty_recording(folder: Path) -> Recording:
    """Return a recording without records, with the topics of the bundled one."""
    folder.mkdir()
    pq.write_table(pq.read_schema(FLEET / "records.parquet").empty_table(), folder / "records.parquet")
    (folder / "topics.parquet").symlink_to(FLEET / "topics.parquet")
    return Recording.open(folder)


def test_a_wrong_column_type_is_an_error_before_any_job(spark: SparkSession, tmp_path: Path) -> None:
    given = empty_recording(tmp_path / "given")
    schema = pq.read_schema(given.records)
    position = schema.get_field_index("offset")
    pq.write_table(schema.set(position, schema.field("offset").with_type(pa.string())).empty_table(), given.records)

    with pytest.raises(WrongTypeError, match=r"records\.parquet: column offset must be of type bigint, not string"):
        report(spark, given, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert ["given"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize("name", [" é注文 two words a%20b a#b:c", "x{a,b} g[1] q?* b\\s"])
def test_folders_are_nested_and_have_names_with_special_characters(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    given = empty_recording(tmp_path / name)
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
    (tmp_path / "local").mkdir()
    write_tables(given, tmp_path / "local")
    assert summarize(given, tmp_path / "local").to_json() == found.to_json()


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


def test_duplicates_count_once_with_spark(spark: SparkSession, tmp_path: Path) -> None:
    rows = pq.read_table(FLEET / "records.parquet").slice(0, 500)
    bad = pa.Table.from_pylist([{**rows.slice(0, 1).to_pylist()[0], "partition": 49, "key": b"\0", "value": b""}])
    records = pa.concat_tables([rows, bad.cast(rows.schema)])
    given = [empty_recording(tmp_path / name) for name in ("once", "twice")]
    pq.write_table(records, given[0].records)
    pq.write_table(pa.concat_tables([records, records]), given[1].records)

    once, twice = (report(spark, each, each.folder.parent / f"{each.folder.name} out").to_json() for each in given)

    assert (0, 501) == (once["duplicates"], twice["duplicates"])
    assert once["groups"] == twice["groups"]
    words = ["replay", "--json", "--engine", "spark"]
    assert printed([*words, str(given[0].folder)]) == printed([*words, str(given[1].folder)])
