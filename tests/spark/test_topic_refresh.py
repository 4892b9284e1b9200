"""A stream of events whose topic metadata is read again: topics that are created after its start have names."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from assignor.cluster.metadata import topic_batch
from assignor.errors import WrongTypeError
from tests.replay.logs import commit, log, metadata
from tests.replay.test_unnamed_topics import BOTH, HOUR, owners
from tests.spark.event_runs import stream

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

KNOWN = {"t": 2}


def read_topics(folder: Path) -> pa.Table:
    """Return topic metadata, which has the topic u after the first micro-batch of a stream."""
    has_both = any((folder / "checkpoint" / "commits").glob("[0-9]*"))
    return pa.Table.from_batches([topic_batch(metadata({0: KNOWN, 1: BOTH} if has_both else {0: KNOWN}))])


def records() -> pa.Table:
    """Return records of a group that owns the topics t and u, and commits of topic v, which it does not own."""
    given = [*owners(), commit("t", 0), commit("v", 0), commit("v", 1)]
    # The time of the last record fires the deadlines.
    rows = log([*(each.at(0) for each in given), commit("t", 0).at(HOUR)])
    return pa.table(
        {
            "cluster": ["c"] * len(rows),
            "partition": pa.array([0] * len(rows), pa.int32()),
            "offset": [row.offset for row in rows],
            "timestamp": [row.timestamp for row in rows],
            "key": pa.array([row.key for row in rows], pa.binary()),
            "value": pa.array([row.value for row in rows], pa.binary()),
        }
    )


def problems(events: DataFrame) -> list[tuple[str, list[tuple[str, int]]]]:
    """Return problem and partitions of the events of offsets, sorted."""
    rows = events.where("event = 'offsets'").collect()
    return sorted((row.problem, [tuple(each) for each in row.topic_partitions]) for row in rows)


@pytest.mark.parametrize("stops", [[2], [1, 2]], ids=["running", "restarted"])
def test_a_stream_names_topics_that_are_created_after_its_start(
    spark: SparkSession, tmp_path: Path, stops: Sequence[int]
) -> None:
    given = records()
    parts = [given.slice(0, given.num_rows - 2), given.slice(given.num_rows - 2)]
    functions: dict[str, Any] = {
        "read again": partial(read_topics, tmp_path / "read again"),
        "read once": read_topics(tmp_path),
    }
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    try:
        found = {
            name: problems(stream(spark, tmp_path / name, parts, stops, topics=topics, idle_ms=None)[0])
            for name, topics in functions.items()
        }
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "4")

    unnamed = [("never_committed", [("t", 1)])]
    named = [("never_committed", [("t", 1), ("u", 0), ("u", 1)]), ("not_owned", [("v", 1)])]
    assert {"read again": named, "read once": unnamed} == found


def test_a_function_is_called_before_any_job_and_its_result_is_checked(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.spark import events

    frame = spark.createDataFrame(records())

    def wrong() -> pa.Table:
        return pa.table({"topic": ["t"]})

    with pytest.raises(WrongTypeError, match=r"^topic metadata has no column t;"):
        events(frame, wrong)
    once = problems(events(frame, read_topics(tmp_path)))
    assert once
    assert once == problems(events(frame, partial(read_topics, tmp_path)))
