"""A program that asks fleets over Spark Connect; its answers, as JSON, are what the tests compare.

python connect_program.py RECORDING ANSWERS
"""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from assignor.errors import WrongTypeError
from assignor.spark import Fleet, Scenario, synthetic_fleet
from assignor.spark.progress import progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

SCENARIOS = [
    Scenario("two more").add_members(2),
    Scenario("larger").multiply_partitions(2),
    Scenario("restart").rolling_restart(),
]
TOPICS = "cluster string, topic string, partitions int"
MEMBERS = "cluster string, group_id string, member_id string, topics array<string>"


def in_order(frame: DataFrame) -> list[str]:
    """The rows, to be compared."""
    return sorted(map(repr, frame.toArrow().to_pylist()))


def tables(fleet: Fleet) -> list[DataFrame]:
    """The DataFrames that a fleet is made of."""
    assert fleet.current is not None
    return [fleet.topics, fleet.members, fleet.current]


def asked(fleet: Fleet) -> dict[str, list[str]]:
    """What each method answers."""
    answers = {
        "resolve": fleet.resolve(),
        "assign": fleet.assign(),
        "balance": fleet.balance(),
        "moves": fleet.moves(),
        "what_if": fleet.what_if(SCENARIOS),
        "problems": fleet.problems(),
    }
    return {name: in_order(frame) for name, frame in answers.items()}


def made_up(spark: SparkSession) -> Fleet:
    """A fleet of 200 groups."""
    return Fleet(*synthetic_fleet(spark, 200, racks=3, seed=3))


def small(spark: SparkSession, members: Sequence[tuple[Any, ...]]) -> Fleet:
    """One topic and these members, without the columns that may be missing."""
    topics = spark.createDataFrame([("c", "t", 3)], TOPICS)
    current = spark.createDataFrame(
        [("c", "g", "a", "t", 0, 3), ("c", "g", None, "t", 0, 1)],
        "cluster string, group_id string, member_id string, topic string, start int, count int",
    )
    return Fleet(topics, spark.createDataFrame(list(members), MEMBERS), current)


LACKING = [("c", "g", "a", ["t"]), ("c", "g", "b", ["t", "gone"]), ("c", "g", None, ["t"]), (None, "g", "a", ["t"])]


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


def _refused(spark: SparkSession) -> dict[str, Any]:
    """The error of a column of another type, and what the server was asked to run for it."""
    told: list[str] = []

    def note(*_: Any, operation_id: str, **__: Any) -> None:
        told.append(operation_id)

    handler: Any = note

    topics = spark.range(3).selectExpr("'c' cluster", "string(id) topic", "id partitions")
    spark.registerProgressHandler(handler)
    try:
        Fleet(topics, spark.createDataFrame([], MEMBERS))
    except WrongTypeError as error:
        return {"message": str(error), "operations": len(told)}
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
    """Ask everything, and write the answers."""
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    recorded = [frame.toArrow() for frame in tables(Fleet.from_recording(recording, spark=spark))]
    found = {
        "session": type(spark).__module__,
        "tables": [sorted(map(repr, table.to_pylist())) for table in recorded],
        "recorded": asked(Fleet(*map(spark.createDataFrame, recorded))),
        "made up": asked(made_up(spark)),
        "lacking": asked(small(spark, LACKING)),
        "progress": _progress(spark),
        "refused": _refused(spark),
        "failed": _failed(spark),
    }
    Path(answers).write_text(json.dumps(found), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
