"""Recordings on any file system that Spark reads, such as `s3a://backup/webshop`: Spark reads all of their files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assignor.cluster import Recording
from assignor.cluster.folder import COLUMNS, check_topics, parse_aborted
from assignor.cluster.metadata import topic_schema
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.spark.column_types import read_columns
from assignor.spark.schemas import TOPIC_METADATA
from assignor.validation import check_name

with dependency("pyspark"):
    from pyspark.errors import PySparkException

if TYPE_CHECKING:
    import os

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""Start of a URI. A single letter before the colon is a drive."""


@dataclass(frozen=True, slots=True)
class StoredRecording:
    """Recording folder on a file system of Spark, with the attributes of `Recording` that reading its records needs.

    The files are not checked for the id of their cluster, which Spark does not read.

    Attributes:
        folder: URI of the folder.
        aborted: (partition, offset) of each record of an aborted transaction.
        metadata: The topic metadata, None without the file.
    """

    folder: str
    aborted: tuple[tuple[int, int], ...]
    metadata: pa.Table | None
    groups: None = None
    until: None = None

    @property
    def records(self) -> str:
        """URI of `records.parquet`."""
        return f"{self.folder}/records.parquet"

    @property
    def has_topics(self) -> bool:
        """True if the folder has a `topics.parquet`."""
        return self.metadata is not None

    def topics(self) -> pa.Table:
        """Return the topic metadata; a table without rows if there is no `topics.parquet`."""
        return topic_schema().empty_table() if self.metadata is None else self.metadata


def open_recording(spark: SparkSession, folder: str | os.PathLike[str]) -> Recording | StoredRecording:
    """Check the files of a recording, and read its topics and aborted transactions. A URI is read by Spark.

    Raises:
        IllegalArgumentError: The folder or a file is missing or cannot be read.
        WrongTypeError: A column of the topic metadata is missing or of another type.
    """
    if not isinstance(folder, str) or not _URI.match(folder):
        return Recording.open(folder)
    uri = check_name(folder, "the folder").rstrip("/")
    if _read(spark, f"{uri}/records.parquet", "parquet") is None:
        raise IllegalArgumentError(
            f"{uri}/records.parquet does not exist; a recording is a folder with {' and '.join(COLUMNS)}"
        )
    aborted, topics = f"{uri}/aborted.json", f"{uri}/topics.parquet"
    found = _read(spark, aborted, "binaryFile")
    [content] = [b"[]"] if found is None else [bytes(row["content"]) for row in found.collect()]
    return StoredRecording(uri, parse_aborted(content, aborted), _topics(_read(spark, topics, "parquet"), topics))


def escaped(uri: str) -> str:
    """Return a URI as Spark takes it: without percent-encoding, and with escapes of the characters of globs."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", uri)


def _topics(found: DataFrame | None, path: str) -> pa.Table | None:
    if found is None:
        return None
    table = read_columns(found, TOPIC_METADATA, path).select(*TOPIC_METADATA.fieldNames()).toArrow()
    check_topics(table, path)
    return table


def _read(spark: SparkSession, path: str, kind: str) -> DataFrame | None:
    """Return the rows of a file or folder without reading them; None if it does not exist."""
    try:
        found = spark.read.format(kind).option("recursiveFileLookup", "true").load(escaped(path))
        found.schema  # noqa: B018  # Spark Connect looks for the file now
    except Exception as error:
        if isinstance(error, PySparkException) and error.getCondition() == "PATH_NOT_FOUND":
            return None
        # Named by its module, because PySpark's package for Spark Connect has no Py4J.
        if not isinstance(error, PySparkException) and type(error).__module__ != "py4j.protocol":
            raise
        # The first line of an error of Py4J names an object of Java, the second one the cause.
        lines = (line for line in str(error).splitlines() if not line.startswith("An error occurred"))
        cause = next(lines, type(error).__name__)
        raise IllegalArgumentError(f"{path} cannot be read: {cause.removeprefix(': ')}") from error
    return found
