"""Options of Spark in tests: Java reads its classes from an archive, and does not compile queries.

Compiling each of many small queries costs more than running it. The archive saves a third of the processor time of a
program. Java checks it when it starts, and ignores an archive of another Java version or of other jars.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ARCHIVE = Path(__file__).parents[2] / "target" / "spark.jsa"

WORKERS = Path(__file__).with_name("workers")

PRELOADED = "-Dspark.python.daemon.module=preloaded_daemon"
"""Option for workers that are forked with their imports; needs `WORKERS` on the path."""

INTERPRETED = "-Dspark.sql.codegen.wholeStage=false -Dspark.sql.codegen.factoryMode=NO_CODEGEN"

PROGRAM = """
import sys
import pyarrow as pa
from assignor.spark import session as session_module

session_module._STOP_SECONDS = 300  # Java writes the archive when it stops

def same(batches):
    yield from batches

with session_module.session(cores=2, memory="1g") as spark:
    frame = spark.createDataFrame(pa.table({"number": range(100)})).selectExpr("number % 7 as key", "number as value")
    frame.write.parquet(sys.argv[1])
    read = spark.read.parquet(sys.argv[1]).mapInArrow(same, "key long, value long")
    read.join(frame, "key").groupBy("key").count().orderBy("key").toArrow()
"""


def java_options(configuration: str | None = None) -> dict[str, str]:
    """Return the environment variable with the options; write the archive unless it exists or is being written.

    Args:
        configuration: Folder that SPARK_CONF_DIR names. Spark puts this folder before its jars in the class path, but
            Java ignores an archive if the class path starts with a folder that has files. So the returned options have
            a class path in which the same jars come first.
    """
    return {"SPARK_SUBMIT_OPTS": " ".join([*archive_options(configuration), INTERPRETED])}


def worker_options(configuration: str | None = None) -> dict[str, str]:
    """Return the environment variables with the options, and the option for workers and their path."""
    path = [str(WORKERS), *filter(None, [os.environ.get("PYTHONPATH")])]
    options = java_options(configuration)["SPARK_SUBMIT_OPTS"]
    return {"SPARK_SUBMIT_OPTS": f"{options} {PRELOADED}", "PYTHONPATH": os.pathsep.join(path)}


def archive_options(configuration: str | None = None) -> list[str]:
    """Return the options that make Java read the archive; none if there is no archive."""
    _make_archive()
    if not ARCHIVE.exists():
        return []
    path = ["-cp", os.pathsep.join([*_jars(), configuration])] if configuration else []
    return [f"-XX:SharedArchiveFile={ARCHIVE}", "-Xlog:disable", *path]


def _jars() -> list[str]:
    """Return the start of the class path, as Spark's launcher writes it."""
    spec = find_spec("pyspark")
    assert spec
    assert spec.origin
    jars = Path(spec.origin).parent / "jars"
    return [*map(str, jars.glob("slf4j-api-*")), str(jars / "*")]


def _make_archive() -> None:
    """Run a small program whose Java writes the archive. Without a working Spark, write nothing."""
    if _is_made():
        return
    ARCHIVE.parent.mkdir(exist_ok=True)
    made = ARCHIVE.with_suffix(".new")
    with ARCHIVE.with_suffix(".lock").open("w") as lock, tempfile.TemporaryDirectory() as folder:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if _is_made():
            return
        options = f"-XX:ArchiveClassesAtExit={made} -Xlog:disable {INTERPRETED}"
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(Path(folder, "rows"))],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "SPARK_SUBMIT_OPTS": options},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if not done.returncode and made.exists():
            made.rename(ARCHIVE)


def _is_made() -> bool:
    """Return True if the archive is newer than PySpark, or if there is no PySpark."""
    pyspark = find_spec("pyspark")
    if pyspark is None or pyspark.origin is None:
        return True
    return ARCHIVE.exists() and ARCHIVE.stat().st_mtime > Path(pyspark.origin).stat().st_mtime
