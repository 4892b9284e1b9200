"""Fleets in SQL: views have the answers of `Fleet`, and so has the table function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assignor.errors import IllegalArgumentError
from assignor.spark import Fleet, register_sql
from tests.spark.fleet_rows import fleet, rows, small

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.conftest import RecordedTables
    from tests.spark.connect_program import Answers

pytestmark = pytest.mark.spark

ROWS = """
    SELECT cluster, group_id, member_id, topic, partitions, topic_id, racks, rack,
           group_instance_id, assignor, group_protocol, generation, owned
    FROM (SELECT cluster, group_id, member_id, explode_outer(topics) AS topic FROM sql_resolve)
    JOIN (SELECT * EXCEPT (topics) FROM sql_members) USING (cluster, group_id, member_id)
    LEFT JOIN sql_topics USING (cluster, topic)
    LEFT JOIN (
        SELECT cluster, group_id, member_id, topic, flatten(collect_list(sequence(start, start + count - 1))) AS owned
        FROM sql_current GROUP BY ALL) USING (cluster, group_id, member_id, topic)
    LEFT ANTI JOIN sql_problems ON table = 'group' AND name = group_id
"""
"""Query for the rows of `assignor_assign`, from the views of a fleet: those of groups that can be computed."""

MEMBER = (
    "TABLE(SELECT 'c' AS cluster, 'g' AS group_id, * FROM VALUES {rows} AS rows(member_id, topic, partitions, {name}))"
)
"""Table with the rows of a group, and one optional column."""


@pytest.fixture(scope="module")
def recorded(spark: SparkSession, recorded_tables: RecordedTables) -> Fleet:
    return Fleet(*map(spark.createDataFrame, recorded_tables))


def test_views_have_the_tables_and_the_answers(spark: SparkSession, recorded: Fleet, recorded_answers: Answers) -> None:
    views = recorded.create_views("sql_")

    names = ["topics", "members", "current", "resolve", "assign", "balance", "moves", "scale", "migrate", "problems"]
    assert [f"sql_{name}" for name in names] == views
    found = {name: sorted(rows(spark.table(f"sql_{name}")), key=repr) for name in recorded_answers if name != "what_if"}
    assert {name: answer for name, answer in recorded_answers.items() if name != "what_if"} == found
    assert rows(spark.sql("SELECT max(count) AS most FROM sql_scale, sql_current")) != [{"most": None}]


def test_a_fleet_without_owned_partitions_has_no_views_of_them(spark: SparkSession) -> None:
    views = fleet(spark, *small({"member_id": "a"})).create_views("few_")

    assert ["few_topics", "few_members", "few_resolve", "few_assign", "few_balance", "few_scale"] == views[:6]
    assert not {"few_current", "few_moves"} & set(views)
    assert {row.viewName for row in spark.sql("SHOW VIEWS LIKE 'few_*'").collect()} >= set(views)


def test_a_prefix_that_is_no_name_is_an_error(recorded: Fleet) -> None:
    with pytest.raises(IllegalArgumentError, match="prefix must have only letters, digits and _, not 'a-b'"):
        recorded.create_views("a-b")


def test_the_table_function_assigns_as_fleet_does(
    spark: SparkSession, recorded: Fleet, recorded_answers: Answers
) -> None:
    recorded.create_views("sql_")
    register_sql(spark)

    found = rows(spark.sql(f"SELECT * FROM assignor_assign(TABLE({ROWS}))"))

    assert recorded_answers["assign"] == sorted(found, key=repr)
    assert 10 < len({row["group_id"] for row in found})


def test_the_table_function_answers_for_changed_rows(spark: SparkSession) -> None:
    register_sql(spark)

    changed = """
        SELECT 'c' AS cluster, 'g' AS group_id, member_id, topic, partitions FROM VALUES
            ('a', 't', 6), ('b', 't', 6), ('b', 'gone', NULL), ('idle', NULL, NULL), (NULL, 't', 6)
            AS rows(member_id, topic, partitions)
        UNION ALL SELECT NULL, 'g', 'a', 't', 6"""
    found = rows(spark.sql(f"SELECT * FROM assignor_assign(TABLE({changed})) ORDER BY start"))

    assert [("c", "g", "a", "t", 0, 3), ("c", "g", "b", "t", 3, 3)] == [tuple(row.values()) for row in found]


def test_equal_rows_count_once(spark: SparkSession) -> None:
    register_sql(spark)

    table = MEMBER.format(
        rows="('a', 't', 3, array(2), 's'), ('a', 't', 3, array(2), 's'), ('b', 't', 3, array(0, 1), 's')",
        name="owned, assignor",
    ).replace("'s'", "'sticky'")
    found = rows(spark.sql(f"SELECT * FROM assignor_assign({table}) ORDER BY start"))

    assert [("b", 0, 2), ("a", 2, 1)] == [(row["member_id"], row["start"], row["count"]) for row in found]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("1", r"assignor_assign needs a table: assignor_assign\(TABLE\(name\)\)"),
        ("TABLE(SELECT 'c' AS cluster)", "assignor_assign: there is no column group_id of type string, but cluster"),
        (
            "TABLE(SELECT 'c' AS cluster, 'g' AS group_id, 'm' AS member_id, 't' AS topic, 3L AS partitions)",
            "assignor_assign: column partitions must be of type int, not bigint",
        ),
        (
            MEMBER.format(rows="('m', 't', 3, NULL), ('n', 't', 4, NULL)", name="rack"),
            "cluster 'c', group 'g': topic 't' has different values of partitions in its rows: 3 and 4",
        ),
        (
            MEMBER.format(rows="('m', 't', 3, NULL), ('n', 't', 3, array(array('r')))", name="racks"),
            r"cluster 'c', group 'g': topic 't' has different values of racks in its rows: None and \[\['r'\]\]",
        ),
        (
            MEMBER.format(rows="('m', 't', 3, 'y'), ('m', 'u', 3, 'x')", name="rack"),
            "cluster 'c', group 'g': member 'm' has different values of rack in its rows: 'x' and 'y'",
        ),
        (
            MEMBER.format(rows="('m', 't', 3, array(0)), ('m', 't', 3, array(1))", name="owned"),
            r"cluster 'c', group 'g': member 'm', topic 't' has different values of owned in its rows: \[0\] and \[1\]",
        ),
        (
            MEMBER.format(rows="('m', 't', 3, 'stream')", name="assignor"),
            "cluster 'c', group 'g': assignor 'stream' of group_protocol 'classic' is not supported because ",
        ),
        (
            MEMBER.format(rows="('m', 't', 3, 'range'), ('n', 't', 3, 'sticky')", name="assignor"),
            "cluster 'c', group 'g': members of the group have different values of assignor: 'range', 'sticky'",
        ),
    ],
)
def test_wrong_rows_are_errors(spark: SparkSession, query: str, reason: str) -> None:
    from pyspark.errors import PySparkException

    register_sql(spark)

    with pytest.raises(PySparkException, match=reason):
        spark.sql(f"SELECT * FROM assignor_assign({query})").collect()
