"""Program that calls the methods of fleets over Spark Connect, and writes their results as JSON for the tests.

python connect_program.py RECORDING ANSWERS
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from assignor.errors import WrongTypeError
from assignor.spark import Fleet, Scenario, register_sql, schemas
from assignor.spark.progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

SCENARIOS = (
    Scenario("two more members").add_members(2),
    Scenario("twice the partitions").multiply_partitions(2),
    Scenario("rolling restart").rolling_restart(),
    Scenario("rolling restart with instance ids").rolling_restart(instance_ids=True),
)
"""Scenarios of the pipeline in examples/."""
TOPICS = "cluster string, topic string, partitions int"
MEMBERS = "cluster string, group_id string, member_id string, topics array<string>"


Answers = dict[str, list[dict[str, Any]]]
"""Rows of the result of each method, in an order that does not depend on Spark."""


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in an order that does not depend on Spark."""
    return sorted(rows, key=repr)


def answers_of(fleet: Fleet) -> Answers:
    """Return the result of each method."""
    answers = {
        "resolve": fleet.resolve(),
        "assign": fleet.assign(),
        "balance": fleet.balance(),
        "moves": fleet.moves(),
        "what_if": fleet.what_if(SCENARIOS),
        "problems": fleet.problems(),
    }
    return {name: in_order(frame.toArrow().to_pylist()) for name, frame in answers.items()}


def small(spark: SparkSession, members: Sequence[tuple[Any, ...]], *others: tuple[Any, ...]) -> Fleet:
    """Return a fleet of a topic, other topics and these members, without optional columns."""
    topics = spark.createDataFrame([("c", "t", 3), *others], TOPICS)
    current = spark.createDataFrame(
        [("c", "g", "a", "t", 0, 3), ("c", "g", None, "t", 0, 1)],
        "cluster string, group_id string, member_id string, topic string, start int, count int",
    )
    return Fleet(topics, spark.createDataFrame(list(members), MEMBERS), current)


WITHOUT_KEYS = [
    ("c", "g", "a", ["t"]),
    ("c", "g", "b", ["t", "gone"]),
    ("c", "g", None, ["t"]),
    (None, "g", "a", ["t"]),
]


def with_invalid(spark: SparkSession) -> Fleet:
    """Return a fleet of a valid group and two invalid ones, which are left out."""
    members = [("c", "g", "a", ["t"]), *2 * [("c", "twice", "a", ["t"])], ("c", "topic", "a", ["t", "bad"])]
    return small(spark, members, *2 * [("c", "bad", 1)]).leave_out_invalid()


def with_other_types(spark: SparkSession) -> Fleet:
    """Return the group `g` of a fleet whose columns have other types than the schemas, next to a group `G`."""
    fleet = small(spark, [("c", "g", "a", ["t"]), ("c", "G", "a", ["t"]), ("c", "g", "b", ["t"])])
    tables = {
        fleet.topics: {"partitions": "bigint"},
        fleet.members: {"group_id": "string collate UTF8_LCASE", "topics": "array<string collate UNICODE_CI>"},
        fleet.current: {"start": "smallint", "group_id": "string collate UTF8_LCASE"},
    }
    cast = (
        frame.withColumns({name: F.col(name).cast(kind) for name, kind in kinds.items()})
        for frame, kinds in tables.items()
        if frame is not None
    )
    return Fleet(*cast).where(F.col("group_id") == "g")


def explained(fleet: Fleet) -> dict[str, str]:
    """Return the plans of the result of each method as `explain` prints them."""
    spark, texts = fleet.members.sparkSession, {}
    offsets = [
        spark.createDataFrame([], schema)
        for schema in (schemas.COMMITTED, schemas.END_OFFSETS, schemas.TIMED_COMMITTED, schemas.TIMED_END_OFFSETS)
    ]
    answers = {
        **{name: getattr(fleet, name)() for name in ("resolve", "assign", "balance", "moves", "scale", "problems")},
        "what_if": fleet.what_if(SCENARIOS),
        "migrate": fleet.migrate(),
        "lag": fleet.lag(*offsets[:2]),
        "lag_in_time": fleet.lag_in_time(*offsets[2:]),
    }
    for name, frame in answers.items():
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            frame.explain(extended=True)
        texts[name] = printed.getvalue()
    return texts


def answers_in_sql(spark: SparkSession) -> list[list[Any]]:
    """Return what a view of a fleet and the table function say of the same group."""
    small(spark, [("c", "g", "a", ["t"]), ("c", "g", "b", ["t"])]).create_views("connect_")
    register_sql(spark)
    rows = (
        "SELECT cluster, group_id, member_id, topic, partitions "
        "FROM (SELECT *, explode(topics) AS topic FROM connect_members) JOIN connect_topics USING (cluster, topic)"
    )
    queries = ("SELECT * FROM connect_assign", f"SELECT * FROM assignor_assign(TABLE({rows}))")
    return [[list(row) for row in spark.sql(f"{query} ORDER BY start").collect()] for query in queries]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _progress(spark: SparkSession) -> str:
    def slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        time.sleep(0.7)
        return batches

    terminal = _Terminal()
    spark.conf.set("spark.connect.progress.reportInterval", "100ms")
    with progress(spark, "sleeping", stream=terminal):
        spark.range(4, numPartitions=4).mapInArrow(slowly, "id long").toArrow()
    return terminal.getvalue()


def _rejected(spark: SparkSession) -> dict[str, Any]:
    """Return the error for a column of another type, and the number of operations that the server ran for it."""
    operations: list[str] = []

    def remember(*_: Any, operation_id: str, **__: Any) -> None:
        operations.append(operation_id)

    handler: Any = remember

    topics = spark.range(3).selectExpr("'c' cluster", "string(id) topic", "double(id) partitions")
    spark.registerProgressHandler(handler)
    try:
        Fleet(topics, spark.createDataFrame([], MEMBERS))
    except WrongTypeError as error:
        return {"message": str(error), "operations": len(operations)}
    finally:
        spark.removeProgressHandler(handler)
    return {}


def _failed(spark: SparkSession) -> str:
    try:
        small(spark, [("c", "g", "a", ["t"]), ("c", "g", "a", ["t"])]).assign().toArrow()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main(recording: str, answers: str) -> None:
    """Call all methods, and write the results."""
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    fleet = Fleet.from_recording(recording, spark=spark)
    assert fleet.current is not None
    tables = [frame.toArrow() for frame in (fleet.topics, fleet.members, fleet.current)]
    found = {
        "session": type(spark).__module__,
        "tables": [in_order(table.to_pylist()) for table in tables],
        "without keys": answers_of(small(spark, WITHOUT_KEYS)),
        "with invalid": answers_of(with_invalid(spark)),
        "with other types": answers_of(with_other_types(spark)),
        "explained": explained(fleet),
        "sql": answers_in_sql(spark),
        "progress": _progress(spark),
        "rejected": _rejected(spark),
        "failed": _failed(spark),
    }
    Path(answers).write_text(json.dumps(found), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
