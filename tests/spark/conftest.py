"""Results that several files of tests read, and that take seconds to compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest

from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.connect_program import Answers


class RecordedTables(NamedTuple):
    """Tables of the bundled fleet at the end of its recording."""

    topics: pa.Table
    members: pa.Table
    current: pa.Table


@pytest.fixture(scope="session")
def recorded_tables(spark: SparkSession) -> RecordedTables:
    """Decode and replay the bundled recording once in classic Spark."""
    from assignor.spark import Fleet

    fleet = Fleet.from_recording(RECORDING, spark=spark)
    assert fleet.current is not None
    return RecordedTables(*(frame.toArrow() for frame in (fleet.topics, fleet.members, fleet.current)))


@pytest.fixture(scope="session")
def recorded_answers(spark: SparkSession, recorded_tables: RecordedTables) -> Answers:
    """Return the results of classic Spark for the recorded cluster."""
    from assignor.spark import Fleet
    from tests.spark.connect_program import answers_of

    return answers_of(Fleet(*map(spark.createDataFrame, recorded_tables)))
