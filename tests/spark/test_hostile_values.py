"""Every public callable of `assignor.spark` refuses hostile values with an error of the package, before a job."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

import pytest

from assignor.errors import AssignorError
from tests.hostile.calls import Call
from tests.hostile.spark_calls import NAMES, spark_calls
from tests.hostile.values import HOSTILE, UserError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES = (
    *("None", "True", "-1", "2**31", "2**63", "10**5000", "nan", "empty text", "lone surrogate", "NUL", "bytes"),
    *("empty list", "empty dict", "dict", "deep list", "object", "failing text", "failing iteration", "failing index"),
    *("failing attributes", "huge length", "negative length", "odd mapping", "int subclass", "TopicPartition"),
    *("numpy scalar array", "numpy matrix", "Arrow table"),
)
"""Values that broke one of the calls, or a call of the package. A call of Spark takes long."""

CONNECTS = {("assignor.spark.Fleet.from_admin", "admin", "empty dict")}
"""A configuration of a client that would connect to a broker."""


@pytest.fixture(scope="module")
def calls(spark: SparkSession) -> dict[str, Call]:
    return {call.name.removeprefix("assignor.spark."): call for call in spark_calls(spark)}


@pytest.mark.parametrize("name", NAMES)
def test_hostile_values_raise_errors_of_the_package(
    name: str, calls: dict[str, Call], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some values are the names of files
    call = calls[name]
    wrong = []
    values = VALUES[::3] if name == "synthetic_fleet" else VALUES  # it plans three queries in each call
    for parameter in call.parameters():
        for value in values:
            if (call.name, parameter, value) in CONNECTS:
                continue
            try:
                call.run({parameter: HOSTILE[value]()})
            except (AssignorError, UserError) as error:
                str(error)  # the message can be formed
            except Exception as error:  # any other class is the finding
                wrong.append(f"{parameter} = {value}: {type(error).__name__}: {error}")
    assert [] == wrong[:20]


def test_valid_arguments_raise_nothing(calls: dict[str, Call]) -> None:
    refused = {"Fleet.from_admin", "sources.segments", "sources.segment_files", "sources.kafka_connector"}
    assert set(NAMES) == calls.keys()
    for name, call in calls.items():
        if name in refused:
            with pytest.raises(AssignorError):
                call.run({})
        else:
            call.run({})
