"""`Fleet` over Spark Connect, compared with classic Spark, and in functions of Declarative Pipelines."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from assignor.spark import schemas
from assignor.spark.column_types import late_columns
from tests.spark import connect_program, programs

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.spark.conftest import RecordedTables

pytestmark = pytest.mark.spark

SETTINGS = "\nspark.sql.catalogImplementation in-memory\n"
"""Settings that override those of the pipeline: the program stores no tables, so it needs no catalog on disk."""


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the results of a program with its own Connect session."""
    folder = tmp_path_factory.mktemp("connect")
    answers = folder / "answers.json"
    command: list[str | Path] = [sys.executable, connect_program.__file__, programs.RECORDING, answers]
    shutil.copytree(programs.PIPELINE / "conf", folder / "conf")
    with (folder / "conf" / "spark-defaults.conf").open("a", encoding="utf-8") as settings:
        settings.write(SETTINGS)
    ended = programs.run(command, folder, SPARK_CONF_DIR="conf")
    assert 0 == ended.returncode, ended.stderr[-3000:]
    found: dict[str, Any] = json.loads(answers.read_text(encoding="utf-8"))
    assert found["session"].startswith("pyspark.sql.connect")
    return found


def test_a_recording_is_decoded_and_replayed_the_same(connect: dict[str, Any], recorded_tables: RecordedTables) -> None:
    assert [connect_program.in_order(table.to_pylist()) for table in recorded_tables] == connect["tables"]
    assert all(connect["tables"])


def test_rows_without_keys_are_reported_the_same(connect: dict[str, Any], spark: SparkSession) -> None:
    assert (
        connect_program.answers_of(connect_program.small(spark, connect_program.WITHOUT_KEYS))
        == connect["without keys"]
    )
    assert 3 == len(connect["without keys"]["problems"])


def test_invalid_groups_are_left_out_and_reported_the_same(connect: dict[str, Any], spark: SparkSession) -> None:
    found = connect["with invalid"]

    assert connect_program.answers_of(connect_program.with_invalid(spark)) == found
    for name in ("assign", "resolve", "balance"):
        assert {"g"} == {row["group_id"] for row in found[name]}
    problems = repr(found["problems"])
    for reason in ("member 'a' is given twice", "topic 'bad': the topic is given twice", "the topic is given twice"):
        assert reason in problems


def test_columns_are_cast_and_groups_chosen_the_same(connect: dict[str, Any], spark: SparkSession) -> None:
    found = connect["with other types"]

    assert connect_program.answers_of(connect_program.with_other_types(spark)) == found
    for name in ("assign", "resolve", "balance", "moves"):
        assert {"g"} == {row["group_id"] for row in found[name]}


def test_plans_are_valid_text(connect: dict[str, Any], spark: SparkSession) -> None:
    texts = connect["explained"], connect_program.explained(connect_program.small(spark, connect_program.WITHOUT_KEYS))

    for of_session in texts:
        assert 10 == len(of_session)
        for name, text in of_session.items():
            assert "== Physical Plan ==" in text, name
            assert "\N{REPLACEMENT CHARACTER}" not in text, name
        assert "0xFFFEFF" in of_session["assign"]


def test_views_and_the_table_function_answer_the_same(connect: dict[str, Any], spark: SparkSession) -> None:
    expected = [["c", "g", "a", "t", 0, 2], ["c", "g", "b", "t", 2, 1]]

    assert [expected, expected] == connect["sql"]
    assert connect["sql"] == connect_program.answers_in_sql(spark)


def test_progress_is_drawn(connect: dict[str, Any]) -> None:
    assert "sleeping" in connect["progress"]
    assert "/4 tasks" in connect["progress"]


def test_a_wrong_column_type_is_an_error_before_anything_runs(connect: dict[str, Any]) -> None:
    expected = {"message": "topics: column partitions must be of type int, not double", "operations": 0}

    assert expected == connect["rejected"]


def test_an_error_of_a_worker_names_the_group_and_the_cause(connect: dict[str, Any]) -> None:
    assert connect["failed"].startswith("PythonException")
    assert "group 'g' of cluster 'c': member 'a' is given twice" in connect["failed"]


# ---- columns that are not known yet, as in functions of Declarative Pipelines


def test_missing_optional_columns_are_null_if_columns_are_not_known_yet(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "t", "c")], "other int, topic string, cluster string")
    frame = frame.selectExpr("*", "3 partitions")

    found = late_columns(frame, schemas.TOPICS, "topics", {"racks", "topic_id"})

    assert schemas.TOPICS.simpleString() == found.schema.simpleString()
    assert [("c", "t", 3, None, None)] == [tuple(row) for row in found.collect()]


def test_integers_and_texts_are_cast_if_columns_are_not_known_yet(spark: SparkSession) -> None:
    query = """
    select 'c' collate UTF8_LCASE cluster, 't' topic, 3L partitions,
        array(array('r' collate UNICODE_CI)) racks, 'id' collate UNICODE topic_id
    """

    found = late_columns(spark.sql(query), schemas.TOPICS, "topics", {"racks", "topic_id"})

    assert schemas.TOPICS.simpleString() == found.schema.simpleString()
    assert [("c", "t", 3, [["r"]], "id")] == [tuple(row) for row in found.collect()]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("'c' cluster, 't' topic, 3D partitions", "topics: column partitions must be of type int, not double"),
        ("'c' cluster, 't' topic, 3000000000 partitions", "topic 't': column partitions must be from -2147483648 to "),
        ("'c' cluster, 't' topic, 3 partitions, array('r') racks", "DATATYPE_MISMATCH"),
        ("'c' cluster, 't' topic", "A column, variable, or function parameter with name `partitions`"),
    ],
)
def test_wrong_columns_fail_the_job_if_columns_are_not_known_yet(spark: SparkSession, given: str, message: str) -> None:
    from pyspark.errors import PySparkException

    optional = {"racks", "topic_id"}
    with pytest.raises(PySparkException) as raised:
        late_columns(spark.sql(f"select {given}"), schemas.TOPICS, "topics", optional).collect()
    assert message in str(raised.value)
