"""Program that runs the daily job for two days, the second one twice, and copies its tables to Parquet for the tests.

spark-submit daily_program.py RECORDING TABLES FORMAT COPIES
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

JOB = Path(__file__).parents[2] / "examples" / "daily_job.py"
DAYS = ("2026-11-20", "2026-11-21")
NAMES = ("events", "groups", "findings", "changes")


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
        assert job.main(["--day", day, *options]) is None
    spark = SparkSession.builder.getOrCreate()
    for name in NAMES:
        table = f"{tables}.{name}" if kind == "iceberg" else f"{kind}.`{tables}/{name}`"
        spark.table(table).write.parquet(f"{copies}/{name}")


if __name__ == "__main__":
    main(*sys.argv[1:])
