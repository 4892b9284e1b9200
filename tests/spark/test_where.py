"""`Fleet.where`: groups are chosen before Spark shuffles any rows, and the others have no answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assignor.errors import IllegalArgumentError, WrongTypeError
from tests.spark.drawn_fleet import frame
from tests.spark.fleet_rows import Row, fleet, rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from assignor.spark import Fleet

pytestmark = pytest.mark.spark

GROUPS = [(cluster, group) for cluster in ("eu", "us") for group in ("billing", "billing_2", "audit")]
CHOSEN = {("eu", "billing"), ("eu", "billing_2")}


def given(spark: SparkSession, groups: list[tuple[str, str]]) -> Fleet:
    """Return a fleet of these groups; a member of the group `audit` is given twice."""
    topics = [{"cluster": cluster, "topic": "t", "partitions": 4} for cluster in ("eu", "us")]
    keys = [{"cluster": cluster, "group_id": group} for cluster, group in groups]
    members = [{**key, "member_id": name, "topics": ["t"]} for key in keys for name in ("a", "b")]
    members += [{**key, "member_id": "a", "topics": ["t"]} for key in keys if key["group_id"] == "audit"]
    members += [{"cluster": cluster, "member_id": "a", "topics": ["t"]} for cluster in ("eu", "us")]  # no group
    current = [{**key, "member_id": "a", "topic": "t", "start": 0, "count": 4} for key in keys]
    return fleet(spark, topics, members, current)


def offsets(spark: SparkSession, groups: list[tuple[str, str]]) -> list[DataFrame]:
    """Return committed offsets of these groups and end offsets, without and with times."""
    from assignor.spark import schemas

    place = {"topic": "t", "partition": 1, "at": 5}
    committed: list[Row] = [
        {"cluster": cluster, "group_id": group, **place, "committed": 3} for cluster, group in groups
    ]
    ends: list[Row] = [{"cluster": cluster, **place, "start_offset": 0, "end_offset": 9} for cluster in ("eu", "us")]
    wanted = (schemas.COMMITTED, schemas.END_OFFSETS, schemas.TIMED_COMMITTED, schemas.TIMED_END_OFFSETS)
    return [
        frame(spark, [{name: row[name] for name in schema.fieldNames()} for row in table], schema)
        for schema, table in zip(wanted, (committed, ends) * 2, strict=True)
    ]


def answers(given: Fleet, tables: list[DataFrame]) -> dict[str, DataFrame]:
    """Return the result of each way to read the tables: members, members and owned partitions, and offsets."""
    return {
        "resolve": given.resolve(),
        "balance": given.balance(of="current"),
        "lag": given.lag(*tables[:2]),
        "lag_in_time": given.lag_in_time(*tables[2:]),
    }


def test_only_the_chosen_groups_have_answers(spark: SparkSession) -> None:
    chosen = given(spark, GROUPS).where("cluster = 'eu'").where("group_id like 'billing%'")

    found = {name: rows(frame) for name, frame in answers(chosen, offsets(spark, GROUPS)).items()}

    for name, of_method in found.items():
        assert CHOSEN == {(row["cluster"], row["group_id"]) for row in of_method}, name
    assert {"resolve": 4, "balance": 2, "lag": 8, "lag_in_time": 8} == {name: len(found[name]) for name in found}
    assert 2 == sum(row["committed"] == 3 for row in found["lag"])


def test_problems_are_those_of_the_chosen_groups(spark: SparkSession) -> None:
    from pyspark.sql import functions

    every = given(spark, GROUPS)

    found = rows(every.where(functions.col("cluster") == "us").problems())
    left_out = rows(every.where("cluster = 'us'").leave_out_invalid().assign())

    assert [("group", "us", "audit"), ("members", "us", None)] == sorted(
        (row["table"], row["cluster"], row["name"]) for row in found
    )
    assert {"billing", "billing_2"} == {row["group_id"] for row in left_out}


def paths(plan: str) -> list[list[str]]:
    """Return the operators from each scan of a plan up to its root."""
    found: list[list[str]] = []
    above: list[tuple[int, str]] = []
    for line in plan.splitlines():
        text = line.lstrip(" :+-*()0123456789")
        if not text:
            continue
        depth = len(line) - len(text)
        above = [(at, operator) for at, operator in above if at < depth] + [(depth, text)]
        if text.startswith("Scan "):
            found.append([operator for _, operator in reversed(above)])
    return found


def test_the_filter_is_below_every_shuffle(spark: SparkSession) -> None:
    from assignor.spark import Fleet

    every, tables = given(spark, GROUPS), offsets(spark, GROUPS)
    # Spark would filter and project the rows of a local table while it optimizes the plan.
    of_fleet = [
        spark.createDataFrame(frame.collect(), frame.schema)
        for frame in (every.topics, every.members, every.current or every.members)
    ]
    tables = [spark.createDataFrame(frame.collect(), frame.schema) for frame in tables]

    for name, of_method in answers(Fleet(*of_fleet).where("cluster = 'eu'"), tables).items():
        plan: Any = of_method._jdf.queryExecution().executedPlan().toString()
        scans = [path for path in paths(plan) if "group_id" in path[0]]
        assert scans, name
        for path in scans:
            filters = [place for place, text in enumerate(path) if text.startswith("Filter") and " = eu)" in text]
            shuffles = [place for place, text in enumerate(path) if text.startswith("Exchange")]
            assert filters, (name, path)
            assert shuffles, (name, path)
            assert filters[0] < shuffles[0], (name, path)


def test_other_columns_are_errors_before_any_job(spark: SparkSession) -> None:
    from pyspark.sql import functions

    every = given(spark, GROUPS)

    start = r"^condition must be one on the columns cluster and group_id: "
    for condition in ("member_id = 'a'", functions.col("topics").isNotNull()):
        with pytest.raises(IllegalArgumentError, match=start + r"\[UNRESOLVED_COLUMN.* `?(member_id|topics)`? "):
            every.where(condition)
    for wrong in ("cluster = ", "cluster"):
        with pytest.raises(IllegalArgumentError, match=start) as raised:
            every.where(wrong)
        assert "\n" not in str(raised.value)
    with pytest.raises(WrongTypeError, match=r"^condition must be a Column or a str, not int: 1$"):
        every.where(1)  # type: ignore[arg-type]  # an invalid argument is the test
