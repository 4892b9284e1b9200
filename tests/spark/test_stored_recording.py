"""Recordings that are named by a URI, which Spark reads."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from assignor.errors import IllegalArgumentError, WrongTypeError
from tests.spark.fleet_rows import rows
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


def in_order(frame: DataFrame | None) -> list[str]:
    assert frame is not None
    return sorted(map(repr, rows(frame)))


def test_a_uri_has_the_fleet_of_the_folder(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.spark import Fleet

    folder = tmp_path / "two words [1] a%20b"
    shutil.copytree(RECORDING, folder)

    found = Fleet.from_recording(f"file://{folder}/", cluster="north", spark=spark)
    expected = Fleet.from_recording(folder, cluster="north", spark=spark)

    for name in ("topics", "members", "current"):
        assert in_order(getattr(expected, name)) == in_order(getattr(found, name)), name
    assert ["north"] == [row["cluster"] for row in found.topics.select("cluster").distinct().collect()]


def test_a_uri_has_the_records_of_the_folder(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.spark.sources import recording_records

    first = pq.read_table(RECORDING / "records.parquet").slice(0, 20)
    folder = tmp_path / "parts"
    (folder / "records.parquet").mkdir(parents=True)  # as `assignor record` writes them
    pq.write_table(first.slice(0, 5), folder / "records.parquet" / "0.parquet")
    pq.write_table(first.slice(5), folder / "records.parquet" / "1.parquet")
    places = [[first[name][3].as_py() for name in ("partition", "offset")]]
    (folder / "aborted.json").write_text(json.dumps(places))

    found = recording_records(spark, f"file:{folder}", cluster="north")

    assert 19 == found.count()
    assert in_order(recording_records(spark, folder, cluster="north")) == in_order(found)
    every = recording_records(spark, f"file:{folder}", isolation="read_uncommitted")
    assert 20 == every.count()


def test_a_missing_or_invalid_file_is_an_error_that_names_it(spark: SparkSession, tmp_path: Path) -> None:
    from assignor.spark import Fleet
    from assignor.spark.sources import recording_records

    uri = f"file://{tmp_path}"
    with pytest.raises(IllegalArgumentError, match=rf"^{uri}/none/records\.parquet does not exist; a recording is a "):
        recording_records(spark, f"{uri}/none")
    with pytest.raises(IllegalArgumentError, match=r"^nofs://x/records\.parquet cannot be read: .*\"?nofs") as raised:
        recording_records(spark, "nofs://x")
    assert "\n" not in str(raised.value)
    table = pq.read_table(RECORDING / "records.parquet").slice(0, 1)
    pq.write_table(table, tmp_path / "records.parquet")
    with pytest.raises(IllegalArgumentError, match=rf"^{uri} has no topics\.parquet, whose topics the fleet needs$"):
        Fleet.from_recording(uri, spark=spark)
    pq.write_table(table, tmp_path / "topics.parquet")
    with pytest.raises(WrongTypeError, match=rf"^{uri}/topics\.parquet has no column t of type bigint; its columns "):
        Fleet.from_recording(uri, spark=spark)
    (tmp_path / "topics.parquet").write_text("not Parquet")
    with pytest.raises(IllegalArgumentError, match=rf"^{uri}/topics\.parquet cannot be read: "):
        recording_records(spark, uri)
    (tmp_path / "topics.parquet").unlink()
    (tmp_path / "aborted.json").write_text("{")
    with pytest.raises(
        IllegalArgumentError, match=rf"^{uri}/aborted\.json must be a JSON list of \[partition, offset\] "
    ):
        recording_records(spark, uri)


def test_an_error_without_a_message_is_named_by_its_class(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql import DataFrameReader

    from assignor.spark.sources import recording_records

    def load(*_: object) -> None:
        raise PySparkException("")

    monkeypatch.setattr(DataFrameReader, "load", load)

    with pytest.raises(IllegalArgumentError, match=r"^file:/a/records\.parquet cannot be read: PySparkException$"):
        recording_records(spark, "file:/a")
