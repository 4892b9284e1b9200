"""Choice of the engine that reads a recording: this process, or Spark for large recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    import contextlib

    from pyspark.sql import SparkSession

    from assignor.cluster import Recording

ENGINES = ("auto", "local", "spark")
"""Values of `--engine`."""

LOCAL_RECORDS = 2_000_000
"""Highest number of records that `auto` reads without Spark."""

LOCAL_MEGABYTES = 256
"""Highest size of the records before compression, in MB, that `auto` reads without Spark. Records of this size need
about 1 GB of memory."""


def add_engine(command: argparse.ArgumentParser) -> None:
    """Add the option `--engine` to a command."""
    command.add_argument(
        "--engine",
        choices=ENGINES,
        default="auto",
        help="local: read the recording in this process, without Spark and Java; spark: start Spark; auto (default): "
        f"local up to {LOCAL_RECORDS:,} records and {LOCAL_MEGABYTES} MB before compression, else spark. The output "
        "is the same",
    )


def modules_of(engine: str) -> tuple[str, ...]:
    """Return the optional modules that a value of `--engine` needs."""
    return ("pyarrow", "pyspark", "pandas") if engine == "spark" else ("pyarrow",)


def start_spark(stack: contextlib.ExitStack, app: str) -> SparkSession:
    """Start Spark until the end of the stack, and show that it starts."""
    from assignor.spark.progress import progress
    from assignor.spark.session import session

    with progress(None, "starting Spark", quiet=False):
        return stack.enter_context(session(app=app))


def uses_spark(engine: str, recording: Recording) -> bool:
    """Return True if a recording is read with Spark.

    Args:
        engine: A value of `ENGINES`.
        recording: The recording, whose size decides for `auto`.
    """
    if engine != "auto":
        return engine == "spark"
    from assignor.cluster.records import size_of

    size = size_of(recording)
    return size.records > LOCAL_RECORDS or size.bytes > LOCAL_MEGABYTES * 10**6
