"""Examples: copies run with the commands of their pages, and give the results of `Fleet` and `assign`."""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import json
import re
import runpy
import shutil
import sys
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq
import pytest

from assignor.spark import Scenario
from tests.spark import programs
from tests.spark.connect_program import in_order
from tests.spark.daily_program import load_job
from tests.spark.fleet_rows import rows
from tests.spark.java_options import INTERPRETED, PRELOADED

if TYPE_CHECKING:
    import subprocess

    from pyspark.sql import SparkSession

    from tests.spark.connect_program import Answers
    from tests.spark.fleet_rows import Row

pytestmark = pytest.mark.spark

NOTEBOOK = programs.ROOT / "examples" / "fleet_notebook.py"
SHORT_PROGRAM = f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC {INTERPRETED} {PRELOADED}"
"""Options of the Java of spark-pipelines, which ignores SPARK_SUBMIT_OPTS and spark.driver.extraJavaOptions."""


# ---- the pipeline


def run_pipeline(folder: Path) -> subprocess.CompletedProcess[str]:
    page = (folder / "README.md").read_text(encoding="utf-8")
    (arguments,) = re.findall(r"^SPARK_CONF_DIR=conf .*?spark-pipelines (.*)$", page, re.MULTILINE)
    program = Path(sys.executable).parent / "spark-pipelines"
    command = [program, *arguments.replace("'", "").split()]
    return programs.run(command, folder, SPARK_CONF_DIR="conf", JDK_JAVA_OPTIONS=SHORT_PROGRAM)


def materialized(folder: Path, name: str) -> list[Row]:
    files = (folder / "spark-warehouse" / name).glob("*.parquet")
    return [row for file in files for row in pq.read_table(file).to_pylist()]


@pytest.fixture(scope="module")
def pipeline(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the pipeline that has run once."""
    folder = tmp_path_factory.mktemp("pipeline") / "copy"
    shutil.copytree(programs.PIPELINE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    spec = importlib.util.spec_from_file_location("prepare", folder / "prepare.py")
    assert spec
    assert spec.loader
    assert spark.version  # the active session, which `prepare` uses
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.prepare(programs.RECORDING)
    ended = run_pipeline(folder)
    assert 0 == ended.returncode, (ended.stdout + ended.stderr)[-3000:]
    return folder


def test_the_pipeline_gives_the_results_of_classic_spark(pipeline: Path, recorded_answers: Answers) -> None:
    views = {"resolve": "resolved", "assign": "assignments"}

    found = {name: in_order(materialized(pipeline, views.get(name, name))) for name in recorded_answers}

    assert recorded_answers == found
    assert [] == [name for name, rows in found.items() if not rows and name != "problems"]


@pytest.mark.long
def test_the_pipeline_can_run_again(pipeline: Path) -> None:
    before = sorted(map(repr, materialized(pipeline, "balance")))

    ended = run_pipeline(pipeline)

    assert 0 == ended.returncode, (ended.stdout + ended.stderr)[-3000:]
    assert "Run is COMPLETED" in ended.stdout + ended.stderr
    assert before == sorted(map(repr, materialized(pipeline, "balance")))


# ---- the pages


@pytest.mark.parametrize(("page", "examples"), [("fleet.md", 13), ("should-this-group-move-to-kip-848.md", 3)])
def test_the_examples_of_a_page_hold(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, page: str, examples: int
) -> None:
    monkeypatch.chdir(programs.ROOT)

    results = doctest.testfile(str(programs.ROOT / "docs" / page), module_relative=False, globs={"spark": spark})

    assert results.attempted >= examples
    assert 0 == results.failed


def test_the_page_of_the_daily_job_shows_what_it_writes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(programs.ROOT)
    page = (programs.ROOT / "docs" / "daily-job.md").read_text(encoding="utf-8")
    copy = tmp_path / "page.md"  # Spark finds relative paths in the folder in which it was started
    copy.write_text(page.replace('f"tables/', f'f"{tmp_path}/tables/'), encoding="utf-8")
    command, line = re.findall(r"^\$ spark-submit examples/daily_job.py (.*)\n…\n(.*)$", page, re.MULTILINE)[0]

    failed = load_job().main(command.replace("--tables tables", f"--tables {tmp_path}/tables").split())
    results = doctest.testfile(str(copy), module_relative=False, globs={"spark": spark})

    assert line == failed
    assert results.attempted >= 7
    assert 0 == results.failed


def test_the_example_of_the_page_on_recordings_reads_a_recording_with_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (programs.ROOT / "docs" / "record-a-cluster.md").read_text(encoding="utf-8")
    (code,) = re.findall("```python\n(.*?)```", page, re.DOTALL)
    (tmp_path / "recording").symlink_to(programs.RECORDING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("assignor.spark.session.session", lambda: contextlib.nullcontext(spark))

    exec(code, {})

    aborted = json.loads((programs.RECORDING / "aborted.json").read_text(encoding="utf-8"))
    committed = pq.read_metadata(programs.RECORDING / "records.parquet").num_rows - len(aborted)
    assert f"{committed}\n" == capsys.readouterr().out


def test_the_first_example_of_the_page_prints_its_output(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (programs.ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
    section = page.partition("## Try it on the recorded fleet\n")[2].partition("\n## ")[0]
    (code,), (output,) = (re.findall(f"```{kind}\n(.*?)```", section, re.DOTALL) for kind in ("python", "text"))
    monkeypatch.chdir(programs.ROOT)

    exec(code, {"spark": spark})

    assert output.strip() == capsys.readouterr().out.strip()


# ---- the notebook


class Printed(NamedTuple):
    """Output of the notebook."""

    stdout: str
    stderr: str


@pytest.fixture(scope="module")
def notebook(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Printed:
    """Run the notebook with this session in a folder with the recording."""
    assert spark.version
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "data").symlink_to(programs.ROOT / "data")
    out, errors = StringIO(), StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        runpy.run_path(str(NOTEBOOK))
    assert ["data"] == [path.name for path in folder.iterdir()]
    return Printed(out.getvalue(), errors.getvalue())


def printed(text: str, title: str) -> list[dict[str, str]]:
    """Return the table below the line that starts with this title."""
    lines = iter(text.splitlines())
    next(line for line in lines if line.startswith(title))
    names = next(lines).split()
    return [dict(zip(names, row.split(), strict=True)) for row in iter(lambda: next(lines, ""), "")]


def texts(given: list[Row], *names: str) -> list[dict[str, str]]:
    return [{name: str(row[name]) for name in names} for row in given]


def test_the_notebook_prints_the_results_of_fleet(spark: SparkSession, notebook: Printed) -> None:
    from assignor.spark import Fleet, synthetic_fleet

    fleet = Fleet(*synthetic_fleet(spark, groups=400, seed=3)[:2])
    balance = sorted(rows(fleet.balance()), key=lambda row: (-row["most_loaded"], row["group_id"]))
    idle = sorted(
        (row for row in balance if row["idle_members"]), key=lambda row: (-row["idle_members"], row["group_id"])
    )
    slowest = [row["group_id"] for row in balance[:10]]
    then = {row["group_id"]: row for row in rows(fleet.what_if(Scenario("s", frozenset(slowest)).add_members(2)))}
    scenarios = {
        "all_have_instance_ids": Scenario("all_have_instance_ids").rolling_restart(instance_ids=True),
        "no_instance_ids": Scenario("no_instance_ids").rolling_restart(instance_ids=False),
        "present_instance_ids": Scenario("present_instance_ids").rolling_restart(),
    }
    outcomes = rows(fleet.what_if(scenarios.values()))
    sums = [
        {"scenario": name}
        | {what: sum(row[what] for row in outcomes if row["scenario"] == name) for what in ("rebalances", "moved")}
        for name in scenarios
    ]
    most = sorted(
        (row for row in outcomes if row["scenario"] == "present_instance_ids"),
        key=lambda row: (-row["moved"], row["group_id"]),
    )

    total = sum(row["members"] for row in balance)
    assert f"synthetic: 400 groups with {total} members, {len(idle)} groups with idle members" in notebook.stdout
    assert "recorded: 14 groups with 39 members, 0 groups with idle members" in notebook.stdout
    found = printed(notebook.stdout, "synthetic:")
    assert texts(idle[:10], "group_id", "members", "idle_members", "topics", "partitions") == found
    changed = [
        {name: row[name] for name in ("group_id", "members", "most_loaded")}
        | {f"{name}_then": then[row["group_id"]][name] for name in ("most_loaded", "idle_members")}
        | {"moved": then[row["group_id"]]["moved"]}
        for row in balance[:10]
    ]
    assert texts(changed, *changed[0]) == printed(notebook.stdout, "two more members")
    assert texts(sums, "scenario", "rebalances", "moved") == printed(notebook.stdout, "a rolling restart")
    found = printed(notebook.stdout, "groups in which")
    assert texts(most[:5], "group_id", "members", "partitions", "rebalances", "moved") == found
    assert 0 == sums[0]["rebalances"]


def test_the_notebook_shows_its_progress(notebook: Printed) -> None:
    steps = re.findall(r"^([a-z ]+): \d+\.\d s$", notebook.stderr, re.MULTILINE)

    assert [
        "generating and assigning groups",
        "replaying the recording and assigning its groups",
        "adding members",
        "restarting all members",
    ] == steps


@pytest.mark.long
def test_the_notebook_is_a_program(notebook: Printed, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(programs.ROOT / "data")

    ended = programs.run([sys.executable, NOTEBOOK], tmp_path)

    assert (0, notebook.stdout) == (ended.returncode, ended.stdout), ended.stderr[-3000:]
    assert ["data"] == [path.name for path in tmp_path.iterdir()]
