"""Records in the log segments of brokers, read by Spark: a row per record, and a row per file.

Each task reads whole files. A segment of `__consumer_offsets` has at most 100 MB by default, and Spark reads no file
above 2 GB.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from assignor import _core
from assignor.cluster.log import TOPIC
from assignor.cluster.records import SCHEMA
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.spark.executors import on_executors
from assignor.spark.schemas import CLUSTER_RECORDS
from assignor.validation import check_name, shown

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.errors import PySparkException
    from pyspark.sql import Window
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

_PATH = rf"/{TOPIC}-(\d+)/\d{{20}}\.log(?:\.swap)?$"
"""Path of a segment, with the partition. A `.swap` file is complete: it replaces segments after a crash."""

_DEEPEST = 5
"""Largest number of folders between the path and the folders of partitions."""

_PIECE_BYTES = 8 << 20
_NO_EPOCH = -1
_ABORT, _COMMIT = 0, 1
"""Types of the control records that end a transaction."""

_ROWS = pa.schema(
    [
        *SCHEMA,
        ("leader_epoch", pa.int32()),
        ("producer_id", pa.int64()),
        ("is_transactional", pa.bool_()),
        ("control", pa.int16()),
    ]
)

FILES = pa.schema(
    [
        ("path", pa.string()),
        ("partition", pa.int32()),
        ("bytes", pa.int64()),
        ("records", pa.int64()),
        ("end_offset", pa.int64()),
        ("damage", pa.list_(pa.string())),
    ]
)
"""Columns of a file: the offset after its last readable batch, and what cannot be read."""


def read_segments(spark: SparkSession, path: str, *, cluster: str, is_committed: bool) -> DataFrame:
    """Return the records of all segments below a path; see `sources.segments`."""
    files = _files(spark, path)
    rows = files.mapInArrow(on_executors(spark, _read_records), from_arrow_schema(_ROWS))
    # Replicas of a partition have the same records. If their logs diverged, the later leader is right, also for the
    # records that follow: the other replica would have truncated its log.
    log = Window.partitionBy("partition").orderBy("offset", F.desc("leader_epoch"))
    previous, epoch = F.lag("offset", 1, -1).over(log), F.col("leader_epoch")
    highest = F.max("leader_epoch").over(log.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    is_kept = (previous != F.col("offset")) & ((epoch == _NO_EPOCH) | (epoch == highest))
    rows = rows.withColumn("is_kept", is_kept).where("is_kept").drop("is_kept")
    if is_committed:
        # The next marker of a producer decides its records. Without one, their transaction has no end.
        later = Window.partitionBy("partition", "producer_id").orderBy("offset")
        later = later.rowsBetween(Window.currentRow, Window.unboundedFollowing)
        marker = F.when(F.col("control").isin(_ABORT, _COMMIT), F.col("control"))
        is_open = F.col("is_transactional")
        decided = rows.where(is_open).withColumn("marker", F.first(marker, ignorenulls=True).over(later))
        rows = rows.where(~is_open).unionByName(decided.where(F.col("marker") == _COMMIT).drop("marker"))
    records = rows.where(F.col("control").isNull()).withColumn("cluster", F.lit(cluster))
    return records.select(*CLUSTER_RECORDS.fieldNames())


def list_segments(spark: SparkSession, path: str) -> DataFrame:
    """Return a row for each segment below a path, with the columns of `FILES`; see `sources.segment_files`."""
    files = _files(spark, path)
    return files.mapInArrow(on_executors(spark, _read_ends), from_arrow_schema(FILES))


def _files(spark: SparkSession, path: str) -> DataFrame:
    """Return path, partition and content of the segments of `__consumer_offsets` below a path.

    Spark lists no folder whose name begins with an underscore, but it reads one that is named or matches a glob.
    """
    if not check_name(path, "path").strip() or "\0" in path:
        raise IllegalArgumentError(f"path must name a folder, not {shown(path)}")
    root = path.rstrip("/")
    folders = [f"{root}/{'*/' * depth}{TOPIC}-*" for depth in range(_DEEPEST + 1)]
    if root.rpartition("/")[2].startswith(f"{TOPIC}-"):
        folders.append(root)
    reader = spark.read.format("binaryFile").option("pathGlobFilter", "*.log*")
    found = [files for folder in folders if (files := _existing(functools.partial(reader.load, folder))) is not None]
    if not found:
        raise IllegalArgumentError(
            f"{path} has no folder {TOPIC}-N with log segments, down to {_DEEPEST} folders below it; give the data "
            "directory of a broker, or a folder of such directories"
        )
    files = functools.reduce(lambda left, right: left.union(right), found)
    files = files.select("path", F.regexp_extract("path", _PATH, 1).alias("partition"), "content")
    return files.where(F.col("partition") != "").withColumn("partition", F.col("partition").cast("int"))


def _existing(files: Callable[[], DataFrame]) -> DataFrame | None:
    """Return the files of a folder; None if the folder does not exist."""
    try:
        found = files()
        found.schema  # noqa: B018  # Spark Connect looks for the folder now
    except PySparkException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise IllegalArgumentError(f"path cannot be read: {str(error).splitlines()[0]}") from error
        return None
    return found


def _read_records(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _, partition, reader, content in _readers(batches):
        for start in range(0, len(content), _PIECE_BYTES):
            found = pa.record_batch(reader.push(content[start : start + _PIECE_BYTES]))
            found = found.append_column("partition", pa.repeat(pa.scalar(partition, pa.int32()), found.num_rows))
            yield pa.record_batch([found[field.name].cast(field.type) for field in _ROWS], schema=_ROWS)


def _read_ends(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for path, partition, reader, content in _readers(batches):
        records = 0
        for start in range(0, len(content), _PIECE_BYTES):
            controls = pa.record_batch(reader.push(content[start : start + _PIECE_BYTES]))["control"]
            records += pc.sum(pc.is_null(controls)).as_py() or 0
        end = reader.finish()
        damage = [f"{reason} at position {position}" for position, reason in end.damage]
        if end.tail == "torn":
            damage.append(f"the last {end.tail_bytes} bytes are not a whole batch")
        row = dict(zip(FILES.names, (path, partition, len(content), records, end.end_offset, damage), strict=True))
        yield pa.RecordBatch.from_pylist([row], FILES)


def _readers(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, int, _core.SegmentReader, memoryview]]:
    """Yield path, partition, a new reader and the content of each file."""
    for batch in batches:
        for number in range(batch.num_rows):
            path, partition, content = (batch[name][number] for name in ("path", "partition", "content"))
            yield path.as_py(), partition.as_py(), _core.SegmentReader(), memoryview(content.as_buffer())
