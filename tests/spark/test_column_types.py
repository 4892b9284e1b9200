"""Types of columns that the pipeline accepts besides those of its schemas: integers of other sizes, and collations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor.errors import WrongTypeError
from tests.spark.event_runs import checksum, replayed, stream
from tests.spark.fleet_rows import ASSIGNMENTS, MEMBERS, TOPICS, rows, table
from tests.spark.test_clusters import named, of_one, topics_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from assignor.spark import Fleet

pytestmark = pytest.mark.spark

LARGE = 2**31

KEYS = {"cluster": "eu", "group_id": "g", "topic": "t"}
GIVEN: dict[str, list[dict[str, Any]]] = {
    "topics": [{"cluster": "eu", "topic": "t", "partitions": 4}],
    "members": [
        {**KEYS, "member_id": name, "topics": ["t"], "generation": 3, "assignor": "sticky"} for name in ("a", "b")
    ],
    "current": [{**KEYS, "member_id": "a", "start": 1, "count": 3}],
    "committed": [{**KEYS, "partition": 1, "committed": 5}],
    "end_offsets": [{**KEYS, "partition": 1, "start_offset": 0, "end_offset": 9}],
    "timed_committed": [{**KEYS, "partition": 1, "committed": 5, "at": 10}],
    "timed_end_offsets": [
        {**KEYS, "partition": 1, "start_offset": 0, "end_offset": end, "at": end} for end in (5, 9, 12)
    ],
}
"""Rows of the tables of a fleet, whose numbers fit in 8 bits."""


def tables(spark: SparkSession) -> dict[str, DataFrame]:
    """Return the tables with the types of the schemas."""
    from assignor.spark import schemas
    from tests.spark.drawn_fleet import frame

    found = {
        name: spark.createDataFrame(table(GIVEN[name], schema))
        for name, schema in (("topics", TOPICS), ("members", MEMBERS), ("current", ASSIGNMENTS))
    }
    others = ("committed", "end_offsets", "timed_committed", "timed_end_offsets")
    return found | {name: frame(spark, GIVEN[name], getattr(schemas, name.upper())) for name in others}


def answers(given: dict[str, DataFrame]) -> dict[str, list[dict[str, Any]]]:
    """Return the answers of the methods that read the tables."""
    from assignor.spark import Fleet

    fleet = Fleet(given["topics"], given["members"], given["current"])
    found = {
        "assign": fleet.assign(),
        "moves": fleet.moves(),
        "lag": fleet.lag(given["committed"], given["end_offsets"]),
        "lag_in_time": fleet.lag_in_time(given["timed_committed"], given["timed_end_offsets"]),
    }
    return {name: sorted(rows(frame), key=repr) for name, frame in found.items()}


@pytest.fixture(scope="module")
def expected(spark: SparkSession) -> dict[str, list[dict[str, Any]]]:
    """Return the answers for columns of the types of the schemas."""
    found = answers(tables(spark))
    assert all(found.values())
    return found


def with_types(frame: DataFrame, kinds: dict[str, str]) -> DataFrame:
    """Return the columns with other types, each given by the type that it replaces."""
    names = {field.name: field.dataType.simpleString() for field in frame.schema.fields}
    return frame.selectExpr(
        *(f"cast({name} as {kinds[kind]}) as {name}" if kind in kinds else name for name, kind in names.items())
    )


INTEGERS = {"wider": {"int": "bigint"}, "narrower": {"int": "tinyint", "bigint": "smallint"}}


@pytest.mark.parametrize("kinds", INTEGERS.values(), ids=INTEGERS)
def test_integers_of_another_size_have_the_same_answers(
    spark: SparkSession, expected: dict[str, list[dict[str, Any]]], kinds: dict[str, str]
) -> None:
    assert expected == answers({name: with_types(frame, kinds) for name, frame in tables(spark).items()})


def test_records_may_have_integers_of_another_size(spark: SparkSession) -> None:
    from assignor.spark import decode, events, replay

    records = spark.createDataFrame(of_one("north").slice(0, 500))
    wide = records.selectExpr("bigint(partition) partition", "int(offset) offset", "timestamp", "key", "value")

    assert decode(records).schema == decode(wide).schema
    for function in (decode, events, lambda each: replay(decode(each), topics_of("north"))):
        expected = sorted(map(repr, rows(function(records))))
        assert expected == sorted(map(repr, rows(function(wide))))
        assert expected


def _assign(fleet: Fleet, _: dict[str, DataFrame]) -> DataFrame:
    return fleet.assign()


def _lag(fleet: Fleet, given: dict[str, DataFrame]) -> DataFrame:
    return fleet.lag(given["committed"], given["end_offsets"])


def _lag_in_time(fleet: Fleet, given: dict[str, DataFrame]) -> DataFrame:
    return fleet.lag_in_time(given["timed_committed"], given["timed_end_offsets"])


TOO_LARGE: dict[str, tuple[str, str, Callable[..., DataFrame], str]] = {
    "partitions": ("topics", "partitions", _assign, "topics: cluster 'eu', topic 't': column partitions"),
    "generation": (
        "members",
        "generation",
        _assign,
        "members: cluster 'eu', group_id 'g', member_id 'a': column generation",
    ),
    "start": (
        "current",
        "start",
        _assign,
        "current: cluster 'eu', group_id 'g', member_id 'a', topic 't': column start",
    ),
    "partition": ("committed", "partition", _lag, "committed: cluster 'eu', group_id 'g', topic 't': column partition"),
    "end offsets": (
        "timed_end_offsets",
        "partition",
        _lag_in_time,
        "end_offsets: cluster 'eu', topic 't': column partition",
    ),
}


@pytest.mark.parametrize(
    ("name", "column", "method", "place", "is_ansi"),
    [
        pytest.param(*case, is_ansi, id=f"{name}, ansi {is_ansi}")
        for name, case in TOO_LARGE.items()
        for is_ansi in (["false", "true"] if name == "partitions" else ["false"])
    ],
)
def test_a_number_that_does_not_fit_is_an_error_with_its_place(
    spark: SparkSession, name: str, column: str, method: Callable[..., DataFrame], place: str, is_ansi: str
) -> None:
    from pyspark.errors import PySparkException

    from assignor.spark import Fleet

    given = tables(spark)
    frame = given[name].where("member_id = 'a'") if name == "members" else given[name]
    sign = -1 if name == "members" else 1
    given[name] = frame.withColumn(column, frame[column].cast("bigint") + sign * (LARGE + 7))
    spark.conf.set("spark.sql.ansi.enabled", is_ansi)
    try:
        with pytest.raises(PySparkException) as raised:
            method(Fleet(given["topics"], given["members"], given["current"]), given).collect()
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")

    value = GIVEN[name][0][column] + sign * (LARGE + 7)
    assert f"{place} must be from -2147483648 to 2147483647, got {value}" in str(raised.value)


def test_a_partition_of_a_record_that_does_not_fit_is_an_error(spark: SparkSession) -> None:
    from pyspark.errors import PySparkException

    from assignor.spark import events

    records = spark.createDataFrame(of_one("north").slice(0, 1))
    records = records.selectExpr(f"partition + {LARGE + 50}L partition", "offset", "timestamp", "key", "value")
    records = records.selectExpr("*", "'eu' cluster")

    with pytest.raises(PySparkException, match=r"records: cluster 'eu': column partition must be from -2147483648 to "):
        events(records).collect()


@pytest.mark.parametrize("kind", ["double", "string", "decimal(10,0)", "boolean"])
def test_numbers_of_other_types_are_errors_before_any_job(spark: SparkSession, kind: str) -> None:
    from assignor.spark import Fleet, events

    given = tables(spark)
    with pytest.raises(WrongTypeError, match=r"^topics: column partitions must be of type int, not ") as raised:
        Fleet(
            given["topics"].selectExpr("cluster", "topic", f"cast(partitions as {kind}) partitions"), given["members"]
        )
    assert str(raised.value).endswith(kind)
    records = spark.createDataFrame(of_one("north").slice(0, 1))
    with pytest.raises(WrongTypeError, match=r"^records: column offset must be of type bigint, not "):
        events(records.withColumn("offset", records["offset"].cast(kind)))


# ---- collations


SAME = ("A", "a")
"""Names that are equal in the collations, and different in Kafka."""


def in_two_cases(rows_of_table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each row with names in upper case and in lower case."""
    return [
        {name: (case if name in ("cluster", "group_id", "topic") else value) for name, value in row.items()}
        | ({"topics": [case]} if "topics" in row else {})
        for row in rows_of_table
        for case in SAME
    ]


@pytest.mark.parametrize("collation", ["UTF8_LCASE", "UNICODE_CI"])
def test_names_with_a_collation_are_compared_as_bytes(
    spark: SparkSession, collation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assignor.spark import Fleet

    for name, rows_of_table in GIVEN.items():
        monkeypatch.setitem(GIVEN, name, in_two_cases(rows_of_table))
    text = f"string collate {collation}"
    given = {
        name: with_types(frame, {"string": text, "array<string>": f"array<{text}>"})
        for name, frame in tables(spark).items()
    }
    assert 1 == given["members"].groupBy("group_id").count().count()  # what Spark does without a cast

    found = answers(given)

    for name, rows_found in found.items():
        names = {(row["cluster"], row["group_id"], row["topic"]) for row in rows_found}
        assert {(case, case, case) for case in SAME} == names, name
    assert answers(tables(spark)) == found
    fleet = Fleet(given["topics"], given["members"], given["current"])
    assert {"string", "array<string>", "int", "array<array<string>>"} == {
        kind for frame in (fleet.topics, fleet.members, fleet.current) if frame for _, kind in frame.dtypes
    }


def test_clusters_of_records_with_a_collation_are_kept_apart(spark: SparkSession) -> None:
    from pyspark.sql import functions

    from assignor.spark import decode, events, replay

    part = of_one("north").slice(0, 500)
    plain = spark.createDataFrame(pa.concat_tables([named(part, cluster) for cluster in SAME]))
    records = plain.withColumn("cluster", functions.expr("cluster collate UTF8_LCASE"))

    for function in (events, lambda each: replay(decode(each))):
        found = rows(function(records))
        assert sorted(map(repr, rows(function(plain)))) == sorted(map(repr, found))
        assert set(SAME) == {row["cluster"] for row in found}
    decoded = decode(records).withColumn("group_id", functions.expr("group_id collate UTF8_LCASE"))
    assert sorted(map(repr, rows(replay(decode(plain))))) == sorted(map(repr, rows(replay(decoded))))


# ---- columns with 64-bit offsets


LARGE_TYPES = "spark.sql.execution.arrow.useLargeVarTypes"


def some_records() -> pa.Table:
    """Return records of a cluster."""
    return named(of_one("north").slice(0, 300), "eu")


def every_answer(spark: SparkSession) -> dict[str, list[str]]:
    """Return the rows of the result of each method of fleets and each function that reads records."""
    from assignor.spark import Fleet, Scenario, decode, events, replay

    given = tables(spark)
    fleet = Fleet(given["topics"], given["members"], given["current"])
    offsets = (given["committed"], given["end_offsets"]), (given["timed_committed"], given["timed_end_offsets"])
    records = spark.createDataFrame(some_records())
    found = {
        **{name: getattr(fleet, name)() for name in ("resolve", "assign", "balance", "moves", "scale", "migrate")},
        "problems": Fleet(given["topics"], given["members"].unionAll(given["members"])).problems(),
        "what_if": fleet.what_if(Scenario("more").add_members(2)),
        **{f"lag of {by}": fleet.lag(*offsets[0], by=by) for by in ("partition", "group")},
        **{f"lag in time of {by}": fleet.lag_in_time(*offsets[1], by=by) for by in ("partition", "group")},
        "decode": decode(records),
        "replay": replay(decode(records), topics_of("north")),
        "events": events(records, topics_of("north")),
    }
    return {name: sorted(map(repr, rows(frame))) for name, frame in found.items()}


def test_answers_do_not_depend_on_the_size_of_offsets(spark: SparkSession, tmp_path: Path) -> None:
    partitions = spark.conf.get("spark.sql.shuffle.partitions") or ""
    spark.conf.set("spark.sql.shuffle.partitions", "1")  # a task has a fixed cost, and a stream has more of them
    try:
        expected = every_answer(spark)
        spark.conf.set(LARGE_TYPES, "true")
        found = every_answer(spark)
        of_stream, _ = stream(spark, tmp_path, [some_records()], [1], topics=topics_of("north"))
        found_by_stream = checksum(of_stream)
    finally:
        spark.conf.unset(LARGE_TYPES)
        spark.conf.set("spark.sql.shuffle.partitions", partitions)

    for name, rows_found in found.items():
        assert expected[name] == rows_found, name
        assert rows_found, name
    assert replayed(some_records(), topics_of("north"), finish=False) == found_by_stream
