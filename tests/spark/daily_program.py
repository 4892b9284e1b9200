"""Program that runs the daily job for two days, the second one twice, and copies its tables to Parquet for the tests.

It also has the recording of two days that the tests read.

spark-submit daily_program.py RECORDING TABLES FORMAT COPIES
"""

from __future__ import annotations

import datetime
import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyspark
from pyspark.sql import SparkSession

from assignor import _core

ROOT = Path(__file__).parents[2]
JOB = ROOT / "examples" / "daily_job.py"
RECORDING = ROOT / "data" / "fleet_webshop"
DAYS = ("2026-11-20", "2026-11-21")
MIDNIGHT = int(datetime.datetime.fromisoformat(f"{DAYS[1]}T00:00Z").timestamp() * 1_000)
NAMES = ("events", "groups", "findings", "changes")

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
ICEBERG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": "warehouse",
}
FORMATS = {"parquet": ("", {}), "delta": ("io.delta:delta-spark_{}_2.13:4.4.0", DELTA)}
FORMATS["iceberg"] = ("org.apache.iceberg:iceberg-spark-runtime-{}_2.13:1.12.0", ICEBERG)
"""Package and settings of each format."""

SPARK = ".".join(pyspark.__version__.split(".")[:2])
PUBLISHED = {"4.1": ["parquet", "delta", "iceberg"], "4.2": ["parquet", "delta"]}.get(SPARK, ["parquet"])
"""Formats with a package for this version of Spark."""


def write_recording(folder: Path, groups: list[str]) -> Path:
    """Write some groups of the bundled recording, moved in time so that a day begins 140 s after its first record.

    The storm of inventory-sync begins 6 s before midnight. Its records end 10 s after it.
    """
    folder.mkdir()
    records = pq.read_table(RECORDING / "records.parquet").combine_chunks()
    topics = pq.read_table(RECORDING / "topics.parquet")
    midnight = pc.min(records["timestamp"]).as_py() + 140_000
    found = pa.array(_core.record_groups(records["key"].chunk(0)))
    is_late = pc.and_(pc.equal(found, "inventory-sync"), pc.greater(records["timestamp"], midnight + 10_000))
    records = records.filter(pc.and_(pc.is_in(found, pa.array(groups)), pc.invert(is_late)))
    for name, table, column in (("records", records, "timestamp"), ("topics", topics, "t")):
        moved = pc.add(table[column], MIDNIGHT - midnight)
        pq.write_table(
            table.set_column(table.schema.get_field_index(column), column, moved), folder / f"{name}.parquet"
        )
    shutil.copy(RECORDING / "aborted.json", folder)
    return folder


def load_job() -> Any:
    """Return the module of the example."""
    spec = importlib.util.spec_from_file_location("daily_job", JOB)
    assert spec
    assert spec.loader
    job = importlib.util.module_from_spec(spec)
    sys.modules["daily_job"] = job  # its dataclasses look their module up
    spec.loader.exec_module(job)
    return job


def main(recording: str, tables: str, kind: str, copies: str) -> None:
    """Run the job, and copy the tables."""
    job = load_job()
    for day in (*DAYS, DAYS[-1]):
        options = ["--cluster", "eu", "--recording", recording, "--tables", tables, "--format", kind]
        assert job.main(["--day", day, "--partial", *options]) is None
    spark = SparkSession.builder.getOrCreate()
    for name in NAMES:
        table = f"{tables}.{name}" if kind == "iceberg" else f"{kind}.`{tables}/{name}`"
        spark.table(table).write.parquet(f"{copies}/{name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
